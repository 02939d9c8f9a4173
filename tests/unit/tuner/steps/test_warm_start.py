# SPDX-License-Identifier: Apache-2.0
"""Test warm starts: campaigns that begin with the best settings of the most similar tuned jobs."""

from __future__ import annotations

import dataclasses
import signal
from typing import Any

import pytest
import yaml

from reprise.database.entities import Measurement, Record, RecordStatus, Scope
from reprise.database.facade import Database
from reprise.tuner.definition.campaign_definition import CampaignError, check
from reprise.tuner.model.component import Problem
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.steps import warm_start
from tests.unit.tuner_site import Command, Site

WARM = {"method": "random", "budget": 2, "warm_start": "records"}
SHORT = {"default_runs": 1, "final_pairs": 2}


def tuned(site: Site) -> int:
    """Store a record of a campaign on the same application, with the best point (4, c), and return the record's id."""
    number = site.begin(settings={"problems": ["p/1"]})
    measured = Measurement(1.0, 0.9, 1.1, 3)
    winner = {"size": 4, "kind": "c"}
    best = {"winner": winner, "gain": 0.5, "gain_low": 0.4, "gain_high": 0.6}
    metadata, context = site.campaign(number).spec["metadata"], {"cluster": "testing"}
    given = winner, {"SRO_SIZE": "4"}, (), measured, measured, 0.5, 0.4, 0.6
    record = Record("fake", "1", Scope.APPLICATION, 2e6, context, metadata, *given)
    summary = {"problems": [{"problem": "p/1", "comparison": best}]}
    with Database.open(site.config.database.path) as database:
        return database.publish(record, None, campaign_id=number, summary=summary)


def change(site: Site, record: int, **changes: Any) -> None:
    """Replace a record with a copy that has these changes."""
    with Database.open(site.config.database.path) as database:
        old = database.record(record)
        database.set_record_status(record, RecordStatus.RETIRED, at=1.0)
        database.add_record(dataclasses.replace(old, **changes))


def searched(site: Site, campaign: int) -> list[dict[str, Any]]:
    return [dict(trial.parametrization) for trial in site.trials(campaign) if trial.role == "search"]


def sources(site: Site, campaign: int) -> Any:
    return site.campaign(campaign).spec["warm_start"]


def test_a_campaign_tries_first_what_was_best_for_the_same_application(site: Site) -> None:
    record = tuned(site)
    campaign = site.begin(search=WARM, settings={"problems": ["p/1"]}, repetitions=SHORT)
    (source,) = sources(site, campaign)
    assert source["record"] == record and source["score"] > 0.99 and source["model"].startswith("site/")
    site.run(campaign)
    assert searched(site, campaign)[0] == {"size": 4, "kind": "c"}


def test_a_campaign_has_no_warm_start_by_default(site: Site) -> None:
    tuned(site)
    campaign = site.begin(settings={"problems": ["p/1"]})
    assert sources(site, campaign) == []


@pytest.mark.slow
def test_the_starting_points_of_a_campaign_are_chosen_once(site: Site) -> None:
    """A resumed campaign starts from the same points as before, even if the records have changed."""
    record = tuned(site)
    campaign = site.begin(search=WARM, settings={"problems": ["p/1"], "before": "[ $n != 2 ] || kill -9 $PPID"})
    with Database.open(site.config.database.path) as database:
        database.set_record_status(record, RecordStatus.RETIRED, at=1.0)
    assert site.killed(campaign) == -signal.SIGKILL
    site.run(campaign)
    assert searched(site, campaign)[0] == {"size": 4, "kind": "c"}


def test_the_settings_of_a_dissimilar_application_are_not_used(site: Site) -> None:
    tuned(site)
    (site.directory / "other.sh").write_text(
        "#!/bin/bash\n#SBATCH -J weather -N 64\nsrun /opt/ifs/bin/ifsMASTER -t 9\n"
    )
    application = {"script": str(site.directory / "other.sh"), "user": "bob"}
    assert sources(site, site.begin(application=application, search=WARM)) == []
    anything = {**WARM, "warm_start_score": 0.0}
    (source,) = sources(site, site.begin(application=application, search=anything, settings={"problems": ["p/1"]}))
    assert source["score"] < 0.9


@pytest.mark.parametrize(
    "changes",
    [{"component_version": "2"}, {"component": "sro"}, {"status": RecordStatus.QUARANTINED}, {"campaign_id": None}],
)
def test_records_that_do_not_fit_are_not_used(site: Site, changes: dict[str, Any]) -> None:
    change(site, tuned(site), **changes)
    assert sources(site, site.begin(search=WARM)) == []


def test_a_plan_shows_where_the_campaign_starts(site: Site) -> None:
    record = tuned(site)
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(search=WARM, settings={"problems": ["p/1"]})))
    done = Command(site)("tune", "plan", str(file), "--trials", "2")
    assert done.exit_code == 0, done.output
    assert "# p/1, search: size=4 kind=c" in done.stdout
    assert f"starts from the best settings of the nearest tuned jobs: record {record} (score 1.00)" in done.stdout


def test_a_warm_start_is_refused_for_a_campaign_without_an_application(site: Site) -> None:
    with pytest.raises(CampaignError, match="but there is none: leave it out"):
        check(site.definition(application=None, scope="cluster", search=WARM), "test")


def test_yamls_false_off_is_read_as_the_word_off(site: Site) -> None:
    definition = check(site.definition(search=yaml.safe_load("warm_start: off")), "test")
    assert definition.search.warm_start == "off"


GRID = Space(
    (Parameter("size", (0, 1, 4, 16, 64), "log"), Parameter("n", (1, 2, 3)), Parameter("kind", ("a", "b"), "category"))
)
DEFAULT: Parametrization = {"size": 0, "n": 2, "kind": "a"}


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ({"size": 4, "n": 3, "kind": "b"}, {"size": 4, "n": 3, "kind": "b"}),
        # of the grid's sizes, 16 is nearest to 30 by ratio
        ({"size": 30, "n": 9, "kind": "b"}, {"size": 16, "n": 3, "kind": "b"}),
        ({"size": 4, "kind": "b", "gone": 7}, {"size": 4, "n": 2, "kind": "b"}),
        ({"size": 4, "n": 1, "kind": "c"}, None),
        ({"size": "large", "n": 1, "kind": "a"}, None),
        ({"size": -3, "n": 1, "kind": "a"}, {"size": 0, "n": 1, "kind": "a"}),
    ],
)
def test_a_point_of_another_grid_is_mapped_to_the_nearest_one(point: dict[str, Any], expected: object) -> None:
    assert warm_start.nearest_point(GRID, point, DEFAULT) == expected


def test_at_most_three_records_are_taken_and_none_twice() -> None:
    problem = Problem("one", GRID, DEFAULT)
    values = [1, 1, 4, 5, 16, 64]
    winners: dict[int, dict[str, Parametrization]] = {
        number: {"solve.sh": {"size": size, "n": 1, "kind": "a"}} for number, size in enumerate(values)
    }
    near = [(number, 1 - number / 10) for number in winners]
    chosen = warm_start.choose([problem], near, winners)
    assert [one["record"] for one in chosen] == [0, 2, 4]
    assert [one["points"]["one"]["size"] for one in chosen] == [1, 4, 16]


def test_with_several_problems_each_starts_from_its_own() -> None:
    problems = [Problem("p/1", GRID, DEFAULT), Problem("p/2", GRID, DEFAULT)]
    winners: dict[int, dict[str, Parametrization]] = {
        7: {"p/2": {"size": 4, "n": 1, "kind": "a"}, "p/9": {"size": 1, "n": 1, "kind": "b"}}
    }
    chosen = warm_start.choose(problems, [(7, 0.95)], winners)
    first = {problem.key: list(problem.first) for problem in warm_start.opened(problems, {"warm_start": chosen})}
    assert first == {"p/1": [], "p/2": [{"size": 4, "n": 1, "kind": "a"}]}
