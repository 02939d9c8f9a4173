# SPDX-License-Identifier: Apache-2.0
"""Measure jobs that are submitted in every way, for the table of docs/reference/submissions.md.

`python -m tests.cluster.ways_measured` measures on a virtual cluster and rewrites the page's table.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reprise.database import Database
from tests.cluster import slurm_services
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import PLUGSTACK, Daemon, install
from tests.cluster.ways import WAYS, Course, Tried
from tests.unit.database_values import record
from tests.waiting import NotSeenError

PAGE = Path(__file__).parents[2] / "docs/reference/submissions.md"
TABLE = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)
SETTINGS = {"SRO_SIZE": "two words", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
OURS = {*SETTINGS, "REPRISE_DECISION", "SLURM_SPANK_REPRISE"}
STORE = "/var/lib/reprise/reprise.db"
DECISIONS = """
SELECT id, point, verdict, coalesce(json_extract(metadata, '$.directory'), '') FROM decision ORDER BY at
"""
REPORTS = """
SELECT outcome.cluster, outcome.job_id, decision.id, decision.cluster
FROM outcome JOIN decision ON decision.id = decision_id WHERE ended_at IS NOT NULL
"""
HEAD = """\
| submitted as | decided in | settings in the script or shell | in tasks | `REPRISE_DECISION` | end reported |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Decided:
    """A decision in the database: its id, the point at which it was made, its verdict, and the job's directory."""

    name: str
    point: str
    verdict: str
    directory: str


class Reported(NamedTuple):
    """A job's report of its end, with the cluster under which the job's decision was stored."""

    cluster: str
    job: int
    decision: str
    decided_for: str


@dataclass(frozen=True)
class Row:
    """The measurements of a way, as a row of the page's table."""

    shown: str
    decided: str
    script: str
    tasks: str
    variable: str
    reported: str

    @property
    def text(self) -> str:
        return f"| {' | '.join(vars(self).values())} |"


@dataclass(frozen=True)
class Measured:
    """The results of every way with and without the plugin, by name, the table's rows, and the reports of all jobs."""

    with_plugin: dict[str, Tried]
    without: dict[str, Tried]
    rows: dict[str, Row]
    reports: list[Reported]


@contextlib.contextmanager
def site() -> Iterator[VirtualCluster]:
    """Start a cluster with all services that the ways need, Reprise, and a record that matches any job."""
    with VirtualCluster(nodes=2) as cluster:
        slurm_services.start_accounting(cluster)
        slurm_services.start_far_cluster(cluster)
        slurm_services.start_slurmrestd(cluster, "alice")
        slurm_services.install_scrontab(cluster)
        install(cluster)
        plugstack = cluster.path(PLUGSTACK)
        plugstack.write_text(plugstack.read_text().replace("default=on", "default=on deadline_ms=1000"))
        config = cluster.path("/etc/reprise/reprise.toml")
        config.write_text(config.read_text().replace("#threshold = 0.7", "threshold = 0"))
        with _copied(cluster) as file:
            with Database.open(file) as database:
                database.add_record(record(context={"cluster": "reprise"}, environment=SETTINGS, conflicts=()))
            cluster.path(STORE).write_bytes(file.read_bytes())
        yield cluster


@contextlib.contextmanager
def _copied(cluster: VirtualCluster) -> Iterator[Path]:
    """Copy the database (no daemon is using it), because SQLite cannot open a file in another mount namespace."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "reprise.db"
        copy.write_bytes(cluster.path(STORE).read_bytes())
        yield copy


def measure(cluster: VirtualCluster) -> Measured:
    """Try all ways with the plugin, then without the plugin."""
    course, bare = Course(cluster, "with"), Course(cluster, "without")
    with Daemon(cluster):
        # first the recurring way, which takes longest
        tried = course.try_all(sorted(WAYS, key=lambda way: not way.recurs))
    with _copied(cluster) as file, contextlib.closing(sqlite3.connect(file)) as connection:
        decisions = [Decided(*row) for row in connection.execute(DECISIONS)]
        reports = [Reported(*row) for row in connection.execute(REPORTS)]
    line = cluster.path(PLUGSTACK)
    line.rename(line.with_suffix(".off"))
    without = bare.try_all([way for way in WAYS if not way.recurs])
    reported = {one.decision for one in reports}
    return Measured(
        {one.way.name: one for one in tried},
        {one.way.name: one for one in without},
        {one.way.name: row(one, course.directory(one.way), decisions, reported) for one in tried},
        reports,
    )


def row(tried: Tried, directory: str, decisions: Sequence[Decided], reported: set[str]) -> Row:
    shells = [env for name, env in tried.environments.items() if name.startswith("batch")]
    tasks = [env for name, env in tried.environments.items() if name.startswith("task")]
    named = {env.get("REPRISE_DECISION") for env in shells + tasks}
    ours = [one for one in decisions if one.directory == directory or one.name in named]
    ids = {one.name for one in ours if one.verdict != "defer"}
    return Row(
        tried.way.shown,
        _decided([(one.point, one.verdict) for one in ours]),
        _all([SETTINGS.items() <= environment.items() for environment in shells]),
        _all([SETTINGS.items() <= environment.items() for environment in tasks]),
        _all([environment.get("REPRISE_DECISION") in ids for environment in shells + tasks]),
        _all([one in reported for one in ids & named or ids]) if tasks and ids else "-" if not tasks else "no",
    )


def _decided(points: Sequence[tuple[str, str]]) -> str:
    """Describe where decisions were made, for the page's table; add verdicts other than "apply" in parentheses."""
    starts = points[1:] if points[:1] == [("submit", "defer")] else points
    if len(set(starts)) == 1 and starts[0][0] == "start":
        step = "the batch step" if len(starts) == 1 else "each task's batch step"
        deferred = ["deferred by the command"] if starts != points else []
        return _noted(step, [*deferred, *_result(starts[0][1])])
    steps = ["the command" if point == "submit" else "the batch step" for point, _ in points]
    told = [_noted(step, _result(verdict)) for step, (_, verdict) in zip(steps, points, strict=True)]
    return ", then ".join(told) or "nowhere"


def _result(verdict: str) -> list[str]:
    return {"apply": [], "none": ["no settings"]}.get(verdict, [verdict])


def _noted(step: str, notes: Sequence[str]) -> str:
    return f"{step} ({', '.join(notes)})" if notes else step


def _all(truths: Sequence[bool]) -> str:
    return "-" if not truths else "yes" if all(truths) else "some" if any(truths) else "no"


def table(measured: Measured) -> str:
    return HEAD + "".join(f"{measured.rows[way.name].text}\n" for way in WAYS)


def main() -> None:
    try:
        with site() as cluster:
            text = table(measure(cluster))
    except (ClusterError, NotSeenError) as error:
        sys.exit(f"make docs-submissions: {error}")
    PAGE.write_text(TABLE.sub(lambda _: text, PAGE.read_text()))


if __name__ == "__main__":
    main()
