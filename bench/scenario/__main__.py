# SPDX-License-Identifier: Apache-2.0
"""Run the production scenario of Robert 2021, chapter 7, with real jobs: `make bench-scenario` (needs root).

    python -m bench.scenario [--scale small|thesis] [--seed 1] [--pairs 2] [--operations 15000] [--report PATH]

The applications of three users load the Small Read Optimizer. The applications are variations of four patterns of small
reads (`scenario_plan.py`). Campaigns tune some jobs on a virtual cluster with a real Slurm. Then all jobs are submitted
by plain `sbatch`, in pairs: with `--reprise=off`, so that the accelerator has its default settings, and without this
option, in random order. Each job begins with a file that is not in the page cache. Jobs that seem slower with Reprise
are run in more pairs. For each application and number of nodes, the whole grid of settings is also measured, to find
the gain of the best setting (the oracle). docs/reference/scenario.md describes the output. The last line of output is a
JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.emulators.sro import DEFAULT
from bench.scenario import scenario_cluster, scenario_page
from bench.scenario.oracle import oracle_gain
from bench.scenario.result_tables import Match, Result, is_slowed, summary
from bench.scenario.scenario_plan import SCALES, Application, Job, Plan, plan
from bench.small_reads import LIBRARY, ROOT, SmallReadsError, cold_run, machine, place_data
from reprise.database.entities import Decision, Record
from reprise.matcher.linkage import Engine, LinkableRecord, load
from reprise.matcher.submission.metadata import JobMetadata
from reprise.tuner.model.space import Parameter, Parametrization, Space
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import Daemon, install

NODES = 4
SPACE = Space(
    (
        Parameter("cluster_threshold", (2, 22)),
        Parameter("binsize", (262144, 1048576)),
        Parameter("prefetch_size", (1048576, 10485760)),
        Parameter("sequence_length", (150, 750)),
    )
)
MORE_PAIRS = 6
"""Number of pairs for a job that seems slower. If they show that it is slower, the same number of new pairs decides."""
REPORT = ROOT / "build/scenario.html"

Topology = tuple[Application, int]


@dataclass(frozen=True)
class Ran:
    """A job's runs: seconds with the default and with Reprise, in pairs, and the id of the last job with Reprise."""

    defaults: tuple[float, ...]
    given: tuple[float, ...]
    job_id: int


def campaigns(cluster: VirtualCluster, jobs: Sequence[Job]) -> dict[int, Job]:
    """Run a campaign for each of these jobs; return the jobs that got a record, by the record's id."""
    found = {}
    for number, job in enumerate(jobs, 1):
        told = scenario_cluster.tune(cluster, job)
        compared = told["problems"][0]["comparison"]
        gain = (
            "gain {gain:.0%} ({gain_low:.0%} to {gain_high:.0%})".format_map(compared)
            if compared
            else "no better point"
        )
        record = "a record" if told["record"] else f"no record {told['note']}".strip()
        _say(f"campaign {number} of {len(jobs)}: {job.application.label} on {job.nodes}: {gain}, {record}")
        if told["record"]:
            found[told["record"]] = job
    return found


def submitted(cluster: VirtualCluster, jobs: Sequence[Job], pairs: int, rng: random.Random) -> dict[int, Ran]:
    """Run the pairs of all jobs. Every job runs its first pair before any job runs its second."""
    times: dict[int, tuple[list[float], list[float]]] = {job.number: ([], []) for job in jobs}
    last: dict[int, int] = {}

    def pair(job: Job) -> None:
        for given in rng.sample((False, True), 2):
            ended = scenario_cluster.run(cluster, job, *(() if given else ("--reprise=off",)))
            times[job.number][given].append(ended.seconds)
            if given:
                last[job.number] = ended.job_id
        defaults, givens = times[job.number]
        _say(f"job {job.number} ({job.user}, {job.name}): {defaults[-1]:.3f} s default, {givens[-1]:.3f} s given")

    for _ in range(pairs):
        for job in jobs:
            pair(job)
    for job in jobs:
        assure(*times[job.number], partial(pair, job))
    return {number: Ran(tuple(a), tuple(b), last[number]) for number, (a, b) in times.items()}


def assure(defaults: list[float], givens: list[float], pair: Callable[[], None]) -> None:
    """Run more pairs of a job if its runs with Reprise seem slower than its default runs.

    If all pairs together show that the job is slower beyond noise, they are discarded and new pairs are run. Otherwise,
    one in 40 jobs without settings would count as slower by chance alone.
    """
    if statistics.fmean(givens) > statistics.fmean(defaults):
        while len(defaults) < MORE_PAIRS:
            pair()
    if is_slowed(defaults, givens):
        defaults.clear()
        givens.clear()
        for _ in range(MORE_PAIRS):
            pair()


def oracles(cluster: VirtualCluster, jobs: Sequence[Job], rng: random.Random) -> dict[Topology, float]:
    """Return the gain of the best setting for each application and number of nodes.

    The setting is chosen by runs on this host, which take less time than jobs. The setting's gain is measured by jobs.
    """
    first: dict[Topology, Job] = {}
    for job in jobs:
        first.setdefault((job.application, job.nodes), job)
    found = {}
    for number, (topology, job) in enumerate(first.items(), 1):

        def one(setting: Parametrization, of: Job = job) -> float:
            return cold_run(of.application.words, setting, of.nodes).seconds

        def paired(setting: Parametrization, of: Job = job) -> float:
            return scenario_cluster.run(cluster, of, "--reprise=off", scenario_cluster.exported(setting)).seconds

        found[topology] = oracle_gain(SPACE, DEFAULT, one, rng, paired)
        _say(f"oracle {number} of {len(first)}: {job.application.label} on {job.nodes}: {found[topology]:.1%}")
    return found


def matched(decision: Decision | None, of_record: Mapping[int, Job]) -> Match | None:
    """Return the match of a decision, or None if there is no decision or no similar record."""
    if decision is None or decision.score is None:
        return None
    job = of_record.get(decision.record_id or 0)
    applied = decision.verdict == "apply" and job is not None
    return Match(decision.score, job.application.label if job else "", job.nodes if job else 0, applied)


def without(own: int, decision: Decision, records: Sequence[Record], of_record: Mapping[int, Job]) -> Match | None:
    """Match a job's metadata again, leaving out the job's own record, and return the result."""
    linkable = [LinkableRecord(r.id, JobMetadata.from_json(dict(r.metadata)), r.created_at, r.gain) for r in records]
    model = load(decision.model.split("/")[0])
    engine = Engine(model, linkable, cluster_nodes=NODES, timezone="")
    others = [
        one
        for one in engine.ask(JobMetadata.from_json(dict(decision.metadata))).nearest(2).matches
        if one.record.id != own
    ]
    if not others:
        return None
    job = of_record[others[0].record.id]
    return Match(others[0].score, job.application.label, job.nodes, others[0].score >= decision.threshold)


def results(
    jobs: Sequence[Job],
    ran: Mapping[int, Ran],
    logged: tuple[Sequence[Record], Mapping[int, Decision]],
    of_record: Mapping[int, Job],
    best: Mapping[Topology, float],
) -> list[Result]:
    """Combine runs, decisions and oracle gains into the results of all jobs."""
    records, decisions = logged
    own_record = {job.number: record for record, job in of_record.items()}
    count: dict[str, int] = {}
    for job in of_record.values():
        count[job.application.label] = count.get(job.application.label, 0) + 1
    found = []
    for job in jobs:
        of = ran[job.number]
        decision = decisions.get(of.job_id)
        match = matched(decision, of_record)
        own = own_record.get(job.number)
        left = without(own, decision, records, of_record) if own and decision else match
        found.append(
            Result(
                user=job.user,
                application=job.application.label,
                nodes=job.nodes,
                records=count.get(job.application.label, 0),
                own=own is not None,
                match=match,
                without_own=left,
                defaults=of.defaults,
                given=of.given,
                oracle=best[job.application, job.nodes],
            )
        )
    return found


def measure(planned: Plan, pairs: int, seed: int) -> tuple[list[Result], list[Match | None]]:
    """Run the scenario; return the results of its jobs, and the matches of jobs with unknown applications."""
    rng = random.Random(seed)  # noqa: S311 - not used for security
    with VirtualCluster(nodes=NODES) as cluster:
        install(cluster)
        who = [(job.user, job.application) for job in (*planned.jobs, *planned.strangers)]
        scenario_cluster.place(cluster, who, scenario_cluster.component(SPACE, DEFAULT))
        of_record = campaigns(cluster, planned.tuned)
        with Daemon(cluster):
            ran = submitted(cluster, planned.jobs, pairs, rng)
            verdicts = scenario_cluster.ask_only(cluster, planned.strangers)
        logged = scenario_cluster.logged(cluster, [one.job_id for one in ran.values()])
        best = oracles(cluster, planned.jobs, rng)
    strangers = [Match(1.0, "", 0, True) if verdict == "apply" else None for verdict in verdicts]
    return results(planned.jobs, ran, logged, of_record, best), strangers


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.scenario", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=2, help="number of pairs for each job, 2 or more")
    parser.add_argument("--operations", type=int, default=15000, help="approximate number of reads of a job")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args()
    if given.pairs < 2 or given.operations < 1000:
        parser.error("--pairs must be 2 or more, --operations 1000 or more")
    begun = time.monotonic()
    planned = plan(SCALES[given.scale], given.seed, given.operations)
    try:
        if not LIBRARY.exists():
            raise SmallReadsError(f"{LIBRARY}: there is no such library: build it with `make build`")
        place_data()
        found, strangers = measure(planned, given.pairs, given.seed)
    except (ClusterError, SmallReadsError) as error:
        sys.exit(f"bench.scenario: {error}")
    told: dict[str, Any] = summary(found, strangers) | {
        "campaigns": len(planned.tuned),
        "scale": given.scale,
        "machine": machine(),
        "minutes": round((time.monotonic() - begun) / 60, 1),
    }
    given.report.parent.mkdir(parents=True, exist_ok=True)
    given.report.write_text(scenario_page.render(told, found))
    _say(f"report: {given.report}")
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
