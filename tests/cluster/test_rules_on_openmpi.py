# SPDX-License-Identifier: Apache-2.0
"""What the installed Open MPI does with rules files, and that our reader, our compiler and our proof agree with it.

Reader and proof follow Open MPI 4.1; what is true of it is asked of a real `mpirun` across four nodes here.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reprise.config import Config
from tests.cluster.machine import VirtualCluster, unique_name
from tests.unit.collectives_values import comparison
from tuner.collectives.build import OpenMPIBuild, describe
from tuner.collectives.catalogue import CATALOGUE, compared_bytes
from tuner.collectives.component import CollectivesComponent
from tuner.collectives.rules import decide, read
from tuner.collectives.settings import read as read_settings
from tuner.component import TrialOutput, TrialPlan
from tuner.errors import TunerError

pytestmark = pytest.mark.cluster

PROBE = "/usr/local/libexec/reprise/reprise-rulesprobe"
ALLOCATE = ["salloc", "-Q", "-N4", "--ntasks-per-node=1"]
IN_EFFECT, NOT_IN_EFFECT = 13, 0


@dataclass(frozen=True)
class Case:
    """A rules file, calls, and for each whether the rule with the algorithm that does not exist was in effect."""

    text: str
    calls: Mapping[str, int]
    environment: Mapping[str, str] = field(default_factory=dict)
    drops: bool = False


BCAST_99 = "1 7 1 0 1 0 99 0 0"
ALL_RANKS = {"bcast:8:4": IN_EFFECT, "allreduce:8:4": NOT_IN_EFFECT}
NOTHING = {"bcast:8:4": NOT_IN_EFFECT, "bcast:4096:4": NOT_IN_EFFECT, "bcast:8:2": NOT_IN_EFFECT}

CASES = {
    "a rule": Case(BCAST_99, ALL_RANKS),
    "comments": Case("# of a test\n1 # one\n7 1 0 1 0 99 0 0", ALL_RANKS),
    "octal and hexadecimal": Case("1 07 0x1 0 01 0 0x63 0 0", ALL_RANKS),
    "junk between numbers": Case("a 1 b 7 1 0 1 0 99 0 0 and more", ALL_RANKS),
    "inclusive threshold": Case(
        "1 7 1 0 2 0 1 0 0 1024 99 0 0", {"bcast:1023:4": NOT_IN_EFFECT, "bcast:1024:4": IN_EFFECT}
    ),
    "sizes out of order": Case(
        "1 7 1 0 3 0 1 0 0 1024 1 0 0 512 99 0 0", {"bcast:600:4": NOT_IN_EFFECT, "bcast:2048:4": IN_EFFECT}
    ),
    "a size counts all ranks": Case(
        "2 9 1 0 2 0 1 0 0 4096 99 0 0 3 1 0 2 0 1 0 0 4096 99 0 0",
        {
            "gather:1023:4": NOT_IN_EFFECT,
            "gather:1024:4": IN_EFFECT,
            "alltoall:1023:4": NOT_IN_EFFECT,
            "alltoall:1024:4": IN_EFFECT,
        },
    ),
    "the same collective twice": Case("2 7 1 0 1 0 99 0 0 7 1 0 1 0 1 0 0", NOTHING),
    "no guard": Case("1 7 1 4 1 0 99 0 0", {"bcast:8:4": IN_EFFECT, "bcast:8:2": IN_EFFECT}),
    "guard": Case("1 7 2 1 1 0 0 0 0 4 1 0 99 0 0", {"bcast:8:4": IN_EFFECT, "bcast:8:2": NOT_IN_EFFECT}),
    "guard above": Case("1 7 2 1 1 0 99 0 0 3 1 0 0 0 0", {"bcast:8:4": NOT_IN_EFFECT, "bcast:8:2": IN_EFFECT}),
    "first size is not 0": Case("2 7 1 0 1 0 99 0 0 2 1 0 1 64 1 0 0", NOTHING, drops=True),
    "negative number": Case("1 7 1 0 1 0 99 0 -1", NOTHING, drops=True),
    "truncated": Case("2 7 1 0 1 0 99 0 0 2 1 0 1 0 1 0", NOTHING, drops=True),
    "unknown collective": Case("2 7 1 0 1 0 99 0 0 22 1 0 1 0 1 0 0", NOTHING, drops=True),
    "too many collectives": Case("23 7 1 0 1 0 99 0 0", NOTHING, drops=True),
    "header of later releases": Case(f"rule-file-version-2\n{BCAST_99}", NOTHING, drops=True),
    "node level": Case(
        "1 7 1 2 1 4 2 0 99 0 0 1024 99 0 0", NOTHING, {"OMPI_MCA_coll_tuned_dynamic_rules_fileformat": "1"}, drops=True
    ),
    "empty": Case("", NOTHING, drops=True),
    "switched off": Case(BCAST_99, NOTHING, {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}),
    "the file wins over a forced algorithm": Case(BCAST_99, ALL_RANKS, {"OMPI_MCA_coll_tuned_bcast_algorithm": "1"}),
    "the higher priority wins over the file": Case(BCAST_99, NOTHING, {"OMPI_MCA_coll_basic_priority": "90"}),
}


def exports(environment: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())


def results(text: str) -> dict[str, int]:
    told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {f"{one['collective']}:{one['size']}:{one['ranks']}": one["rc"] for one in told}


@pytest.fixture(scope="module")
def build() -> OpenMPIBuild:
    found = describe("ompi_info")
    if found.release[:2] != (4, 1):
        pytest.skip(f"these are the behaviours of Open MPI 4.1; installed is {found.version}")
    return found


@pytest.fixture(scope="module")
def answers(cluster: VirtualCluster, build: OpenMPIBuild) -> dict[str, dict[str, int]]:
    """Each case by name, with what Open MPI returned; all cases in one allocation."""
    directory = f"/home/alice/{unique_name('rules')}"
    lines = ["set -e"]
    for number, case in enumerate(CASES.values()):
        path = f"{directory}/{number}.conf"
        cluster.write(path, case.text, user="alice")
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
            **case.environment,
        }
        lines.append(f"{exports(environment)} mpirun {PROBE} {' '.join(case.calls)} > {directory}/{number}.out")
    cluster.write(f"{directory}/all.sh", "\n".join(lines), user="alice")
    cluster.run([*ALLOCATE, "sh", f"{directory}/all.sh"], user="alice")
    return {name: results(cluster.path(f"{directory}/{i}.out").read_text()) for i, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_open_mpi_does_with_a_file(name: str, answers: dict[str, dict[str, int]]) -> None:
    assert answers[name] == CASES[name].calls


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.environment or case.drops])
def test_our_reader_decides_as_open_mpi(name: str, answers: dict[str, dict[str, int]], build: OpenMPIBuild) -> None:
    rules = read(CASES[name].text)
    assert (rules == {}) is CASES[name].drops
    for call, code in answers[name].items():
        collective, size, ranks = call.split(":")
        compared = compared_bytes(collective, int(size), int(ranks))
        row = decide(rules, CATALOGUE[collective].id, int(ranks), compared)
        wrong = row is not None and row.algorithm not in build.algorithms[collective]
        assert code == (IN_EFFECT if wrong else NOT_IN_EFFECT), call


class Launches:
    """A Runner: every plan is an `mpirun` in an allocation of its own. Paths of the host become the cluster's."""

    def __init__(self, cluster: VirtualCluster, **changes: str) -> None:
        self.cluster = cluster
        self.changes = changes
        self.count = 0

    def __call__(self, plan: TrialPlan) -> TrialOutput:
        self.count += 1
        root = str(self.cluster.path("/")).rstrip("/")
        given = {name: value.removeprefix(root) for name, value in plan.environment.items()}
        argv = [*ALLOCATE, "mpirun", *plan.argv]
        done = self.cluster.run(argv, user="alice", env={**given, **self.changes}, check=False)
        return TrialOutput(done.returncode, done.stdout, done.stderr, 0.0)


ALL_COLLECTIVES = (
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
)


def component(build: OpenMPIBuild, collectives: Sequence[str]) -> CollectivesComponent:
    settings = read_settings({}, {"collectives": collectives, "sizes": [1024, 65536], "nodes": 4})
    return CollectivesComponent("openmpi-collectives", "1", settings, build, Config())


@pytest.fixture
def directory(cluster: VirtualCluster) -> Path:
    """A directory that all nodes see."""
    path = cluster.path(f"/home/{unique_name('artifacts')}")
    path.mkdir(mode=0o755)
    return path


def test_a_file_is_proved_and_published_though_its_algorithms_call_other_collectives(
    cluster: VirtualCluster, build: OpenMPIBuild, directory: Path
) -> None:
    tuned = component(build, ["allgather", "bcast"])
    found = [comparison(problem.key, 1, 0.5, 0.4, 0.6) for problem in tuned.problems()]
    assert build.algorithms["allgather"][1] == "linear"  # which is a gather and a bcast
    launches = Launches(cluster)
    published = tuned.publish(found, launches, directory)
    assert published and published.artifact
    assert launches.count == 7
    assert [path.name for path in directory.iterdir()] == [Path(published.artifact.path).name]


@pytest.mark.parametrize(
    "changes",
    [
        {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"},
        {"OMPI_MCA_coll_tuned_dynamic_rules_filename": "/tmp/none.conf"},
        {"OMPI_MCA_coll_basic_priority": "90"},
    ],
    ids=["the switch is off", "the nodes do not see the file", "another component outranks tuned"],
)
def test_nothing_is_published_where_open_mpi_does_not_use_the_file(
    changes: dict[str, str], cluster: VirtualCluster, build: OpenMPIBuild, directory: Path
) -> None:
    with pytest.raises(TunerError, match="not in effect as written"):
        component(build, ["bcast"]).publish(
            [comparison("bcast/1024", 6, 0.5, 0.4, 0.6)], Launches(cluster, **changes), directory
        )
    assert not list(directory.iterdir())


def test_the_benchmark_checks_data_and_measures_every_collective(cluster: VirtualCluster) -> None:
    bench = "/usr/local/libexec/reprise/reprise-collbench"
    wanted = " ".join(f"{name}:2052" for name in ALL_COLLECTIVES)
    done = cluster.run(
        [*ALLOCATE, "sh", "-ec", f"mpirun {bench} --warmup 1 --repetitions 5 --check {wanted}"], user="alice"
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["collective"] for one in told] == list(ALL_COLLECTIVES)
    assert all(one["checked"] and one["avg_s"] > 0 and len(one["batches_s"]) == 5 for one in told)


def test_a_benchmark_that_would_take_too_long_repeats_less(cluster: VirtualCluster) -> None:
    bench = "mpirun /usr/local/libexec/reprise/reprise-collbench"
    commands = [
        f"{bench} --warmup 1 --repetitions 5 --max-seconds 60 bcast:4096",
        f"{bench} --repetitions 9999999 --max-seconds 1 bcast:4096",
    ]
    done = cluster.run([*ALLOCATE, "sh", "-ec", "\n".join(commands)], user="alice")
    short, long = [json.loads(line) for line in done.stdout.splitlines()]
    assert (short["warmup"], short["repetitions"]) == (1, 5)
    assert 1 <= long["repetitions"] < 9999999


def test_a_setting_that_is_too_slow_is_given_up(cluster: VirtualCluster) -> None:
    bench = "mpirun /usr/local/libexec/reprise/reprise-collbench --warmup 1 --repetitions 5"
    done = cluster.run([*ALLOCATE, "sh", "-ec", f"{bench} bcast:65536:1e-9 bcast:65536:86400"], user="alice")
    given_up, measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert given_up.keys() == {"collective", "size", "ranks", "above_s"}
    assert given_up["above_s"] > 1e-9
    assert measured["avg_s"] > 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["bcats"], "bcats: is no collective that can be called: use one of allgather"),
        (["reduce:6"], "multiple of 4"),
        (["bcast:-1"], "bcast:-1: bytes are from 0"),
        (["bcast:1k"], "bcast:1k: bytes are from 0"),
        (["bcast:8:0"], "bcast:8:0: bytes are from 0 to 1073741824, and seconds above 0"),
        (["bcast:8:1:1"], "bcast:8:1:1: bytes"),
        (["--max-seconds", "0", "bcast"], "--max-seconds takes"),
        (["--warmup", "1"], "no collective is named"),
        (["--colective", "bcast"], "usage: reprise-collbench"),
    ],
)
def test_the_benchmark_refuses_wrong_options_in_one_line(options: list[str], why: str, cluster: VirtualCluster) -> None:
    done = cluster.run(["/usr/local/libexec/reprise/reprise-collbench", *options], user="alice", check=False)
    assert done.returncode == 2
    assert why in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
