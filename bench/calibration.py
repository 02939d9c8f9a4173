# SPDX-License-Identifier: Apache-2.0
"""Measure the benefit of calibration (`python -m bench.calibration`), for docs/explanation/calibration.md.

The benchmark takes about 6 minutes and prints one JSON object per line.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from reprise.matcher.calibration.calibrate import Site, calibrate, site_of
from reprise.matcher.evaluation.measurement import HEADLINE, Measures, answers, measure
from reprise.matcher.evaluation.scenario import Query, Scenario
from reprise.matcher.evaluation.scenario_catalogue import SCENARIOS
from reprise.matcher.linkage import LinkableRecord, Model, load
from reprise.matcher.submission.metadata import JobMetadata

SIZES = (1, 10, 40)
UNLABELLED = {"thesis": 1, "hard": 10}
"""Number of synthetic sites of each kind that are joined into one.

Sites of the kind `thesis` are not joined, because their users have the same names and directories."""
FIRST_SEED = 1200  # seeds from this one on are not used for fitting, held-out checks or evaluation of models
LATER_SEEDS = range(10)


def joined(name: str, seeds: Iterable[int]) -> Scenario:
    """Join several synthetic sites into one, in which applications of different sites remain distinct."""
    sites = [(seed, SCENARIOS[name](seed)) for seed in seeds]
    records: list[LinkableRecord] = []
    applications: list[str] = []
    queries: list[Query] = []
    for seed, site in sites:
        first = len(records)
        records += [dataclasses.replace(record, id=record.id + first) for record in site.records]
        applications += [f"{seed}/{application}" for application in site.applications]
        for query in site.queries:
            application = query.application and f"{seed}/{query.application}"
            own = None if query.own is None else query.own + first
            queries.append(dataclasses.replace(query, application=application, own=own))
    return Scenario(sites[0][1].cluster_nodes, tuple(records), tuple(applications), tuple(queries))


def of(site: Scenario) -> Site:
    """Convert a synthetic site into the input of calibration."""
    return site_of([record.metadata for record in site.records], cluster_nodes=site.cluster_nodes, timezone="UTC")


def as_sacct_knows_it(site: Scenario) -> Site:
    """Return the input of calibration with only the data that sacct reports, without data from batch scripts."""
    nothing: dict[str, Any] = {"program": "", "path": "", "options": {}, "modules": (), "script": "", "launcher": ""}
    jobs: list[JobMetadata] = [
        dataclasses.replace(record.metadata, tasks=None, tasks_per_node=None, **nothing) for record in site.records
    ]
    return site_of(jobs, cluster_nodes=site.cluster_nodes, timezone="UTC")


def share(site: Scenario) -> float:
    """Return the share (0 to 1) of pairs of records whose two records belong to the same application."""
    times = [site.applications.count(application) for application in set(site.applications)]
    records = len(site.applications)
    return sum(count * (count - 1) for count in times) / (records * (records - 1))


def percent(found: Measures) -> dict[str, float]:
    """Return those measures that `HEADLINE` lists, in percent."""
    return {name: round(100 * (getattr(found, name).value or 0), 1) for name in HEADLINE}


def tell(**what: Any) -> None:
    """Print the keyword arguments as a JSON object on one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def one_record_each(site: Scenario) -> Scenario:
    """Return the site with only the first record of each application, and without queries for recorded jobs."""
    first: dict[str, LinkableRecord] = {}
    for record, application in zip(site.records, site.applications, strict=True):
        first.setdefault(application, record)
    records = [dataclasses.replace(record, id=number) for number, record in enumerate(first.values())]
    queries = [query for query in site.queries if query.own is None]
    return Scenario(site.cluster_nodes, tuple(records), tuple(first), tuple(queries))


def growing(shipped: Model) -> None:
    """Compare the shipped model with calibrated models on sites of several sizes."""
    for size in SIZES:
        site = joined("hard", range(FIRST_SEED, FIRST_SEED + size))
        made = {"records": calibrate(of(site)), "sacct": calibrate(as_sacct_knows_it(site))}
        compare(site, {"shipped": shipped} | {name: one.model for name, one in made.items()})
        for name, one in made.items():
            tell(records=len(site.records), source=name, true_share=share(site), expected=str(one.expected))
        few = one_record_each(site)
        compare(few, {"shipped": shipped, "records": calibrate(of(few)).model})


def compare(site: Scenario, models: Mapping[str, Model]) -> None:
    """Print the measures of each model on a site."""
    for name, model in models.items():
        found = measure(answers(model, [site].__getitem__, [0]), model.threshold)
        tell(records=len(site.records), model=name, prior=model.prior, threshold=model.threshold, **percent(found))


def independent() -> None:
    """Estimate weights without labels (by ECM) from each kind of site, and measure each model on sites of all kinds."""
    for name, size in UNLABELLED.items():
        model = calibrate(of(joined(name, range(FIRST_SEED, FIRST_SEED + size))), weights="ecm").model
        for scenario in UNLABELLED:
            found = measure(answers(model, SCENARIOS[scenario], LATER_SEEDS), model.threshold)
            tell(weights="ecm", unlabelled=name, on=scenario, threshold=model.threshold, **percent(found))


if __name__ == "__main__":
    growing(load("site"))
    independent()
