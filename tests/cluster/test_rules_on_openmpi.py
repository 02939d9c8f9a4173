# SPDX-License-Identifier: Apache-2.0
"""Test that the installed Open MPI treats rules files on several nodes as Reprise's reader and checks expect.

`make test-matrix` tests each release with all unusual files. These tests use a real `mpirun` on four nodes, and
settings in addition to the file.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reprise.config import Config
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.openmpi.catalogue import CATALOGUE, compared_bytes
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, describe
from reprise.tuner.openmpi.rules.releases import family_of, read
from reprise.tuner.openmpi.rules.rules_model import decide
from tests.cluster.machine import VirtualCluster, unique_name
from tests.unit.collectives_values import comparison
from tests.unit.rules_corpus import BCAST, CALLS, CASES

pytestmark = pytest.mark.cluster

PROBE = "/usr/local/libexec/reprise/reprise-rulesprobe"
ALLOCATE = ["salloc", "-Q", "-N4", "--ntasks-per-node=1"]
IN_EFFECT, NOT_IN_EFFECT = 13, 0


@dataclass(frozen=True)
class Setting:
    """Settings in addition to a file with a rule for bcast, and whether the rule is in effect with these settings."""

    environment: Mapping[str, str] = field(default_factory=dict)
    in_effect: bool = False


SETTINGS = {
    "the switch": Setting(in_effect=True),
    "no switch": Setting({"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}),
    "a forced algorithm": Setting({"OMPI_MCA_coll_tuned_bcast_algorithm": "1"}, in_effect=True),
    "a component with a higher priority": Setting({"OMPI_MCA_coll_basic_priority": "90"}),
    "the parameter of builds with a level of nodes": Setting(
        {"OMPI_MCA_coll_tuned_dynamic_rules_fileformat": "1"}, in_effect=True
    ),
}
# The rules files of the corpus that are tested on real nodes.
FILES = ("a rule", "a guard", "each communicator size doubled", "units", "the first size is not 0", "a header", "empty")


def exports(environment: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())


def results(text: str) -> dict[str, int]:
    told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {f"{one['collective']}:{one['size']}:{one['ranks']}": one["rc"] for one in told}


@pytest.fixture(scope="module")
def build() -> OpenMPIBuild:
    found = describe("ompi_info")
    if found.release[:2] != (4, 1):
        pytest.skip(f"the tests expect the behavior of Open MPI 4.1; installed is {found.version}")
    return found


Launch = tuple[bytes, Sequence[str], Mapping[str, str]]


@pytest.fixture(scope="module")
def answers(cluster: VirtualCluster, build: OpenMPIBuild) -> dict[str, dict[str, int]]:
    """Run calls with each setting and each file, all in one allocation, and return the calls' return codes."""
    launches: dict[str, Launch] = {name: (BCAST, CALLS, setting.environment) for name, setting in SETTINGS.items()}
    launches |= {name: (CASES[name].data, CASES[name].calls, {}) for name in FILES}
    directory = f"/home/alice/{unique_name('rules')}"
    lines = ["set -e"]
    for number, (data, calls, changes) in enumerate(launches.values()):
        path = f"{directory}/{number}.conf"
        cluster.write(path, data.decode(), user="alice")
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
            **changes,
        }
        lines.append(f"{exports(environment)} mpirun {PROBE} {' '.join(calls)} > {directory}/{number}.out")
    cluster.write(f"{directory}/all.sh", "\n".join(lines), user="alice")
    cluster.run([*ALLOCATE, "sh", f"{directory}/all.sh"], user="alice")
    return {name: results(cluster.path(f"{directory}/{i}.out").read_text()) for i, name in enumerate(launches)}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_rule_is_in_effect_with(name: str, answers: dict[str, dict[str, int]]) -> None:
    expected = IN_EFFECT if SETTINGS[name].in_effect else NOT_IN_EFFECT
    assert answers[name] == {call: expected if call.startswith("bcast") else NOT_IN_EFFECT for call in CALLS}


@pytest.mark.parametrize("name", FILES)
def test_our_reader_decides_as_open_mpi(name: str, answers: dict[str, dict[str, int]], build: OpenMPIBuild) -> None:
    rules = read(CASES[name].data, family_of(build.version)).rules
    for call, code in answers[name].items():
        collective, size, ranks = call.split(":")
        compared = compared_bytes(collective, int(size), int(ranks))
        choice = decide(rules, collective, int(ranks), int(ranks), compared)
        assert code == (NOT_IN_EFFECT if choice.algorithm in build.algorithms[collective] else IN_EFFECT), call


class Launches:
    """A Runner that runs every plan with `mpirun` in a new allocation, with paths converted to cluster paths."""

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


ALL_COLLECTIVES = tuple(CATALOGUE)


def component(build: OpenMPIBuild, collectives: Sequence[str]) -> CollectivesComponent:
    settings = read_settings({}, {"collectives": collectives, "sizes": [1024, 65536], "nodes": 4})
    return CollectivesComponent("openmpi-collectives", "1", settings, build, Config())


@pytest.fixture
def directory(cluster: VirtualCluster) -> Path:
    """Create a directory that exists on all nodes, and return its path on the host."""
    path = cluster.path(f"/home/{unique_name('artifacts')}")
    path.mkdir(mode=0o755)
    return path


def test_a_file_is_proved_and_published_though_its_algorithms_call_other_collectives(
    cluster: VirtualCluster, build: OpenMPIBuild, directory: Path
) -> None:
    tuned = component(build, ["allgather", "bcast"])
    found = [comparison(problem.key, 1, 0.5, 0.4, 0.6) for problem in tuned.problems()]
    assert (
        build.algorithms["allgather"][1] == "linear"
    )  # `linear` calls gather and bcast, so it depends on the rule for bcast
    launches = Launches(cluster)
    (published,) = tuned.publish(found, launches, directory)
    assert published.artifact
    assert launches.count == 3  # one launch for the row of each collective, then one for the whole file
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


def test_the_benchmark_deals_its_calls_out_over_passes(cluster: VirtualCluster) -> None:
    """25 calls are enough for five passes, but three are not. Each pass ends with a report about all calls so far."""
    bench = "mpirun /usr/local/libexec/reprise/reprise-collbench --passes 5"
    wanted = "bcast:4096 bcast:65536:1e-9 reduce:256"
    commands = [f"{bench} --warmup 7 --repetitions {number} {wanted}" for number in (25, 3)]
    done = cluster.run([*ALLOCATE, "sh", "-ec", "\n".join(commands)], user="alice")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["begins"] for one in told if "begins" in one] == [2, 3, 4, 5] * 2
    told = [one for one in told if "begins" not in one]
    given_up = [one for one in told if "above_s" in one]
    assert [one["size"] for one in given_up] == [65536, 65536]  # the call is given up once in each of the two runs
    of_bcast = [one for one in told if one["size"] == 4096]
    assert [(one["pass"], one["warmup"], one["repetitions"], len(one["batches_s"])) for one in of_bcast] == [
        *[(1, 2, 5, 2), (2, 3, 10, 4), (3, 5, 15, 6), (4, 6, 20, 8), (5, 7, 25, 10)],
        *[(1, 2, 1, 1), (2, 3, 2, 2), (3, 5, 2, 2), (4, 6, 3, 3)],
    ]
    for one in told:
        if one["size"] != 65536:
            assert one["min_s"] <= one["avg_s"] <= one["max_s"]
    whole = of_bcast[4]
    sizes = [3, 2, 3, 2, 3, 2, 3, 2, 3, 2]  # numbers of calls in the batches into which the 25 calls are divided
    mean = sum(size * value for size, value in zip(sizes, whole["batches_s"], strict=True)) / 25
    assert mean > whole["max_s"] - 1e-8  # the slowest rank may differ from batch to batch, which only raises the mean
    assert [one["collective"] for one in told[:4]] == ["bcast", "bcast", "reduce", "bcast"]


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
    assert given_up.keys() == {"collective", "size", "ranks", "calls", "above_s"}
    assert given_up["calls"] == 3  # not given up after the first call, which may include the time to connect
    assert given_up["above_s"] > 1e-9
    assert measured["max_s"] > 0


def test_a_setting_that_is_too_slow_by_far_is_given_up_at_once(cluster: VirtualCluster) -> None:
    bench = "mpirun /usr/local/libexec/reprise/reprise-collbench"
    done = cluster.run([*ALLOCATE, "sh", "-ec", f"{bench} bcast:268435456:1e-6"], user="alice")
    given_up = json.loads(done.stdout)
    assert given_up["calls"] == 1
    assert given_up["above_s"] > 0.1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["bcats"], "bcats: not a known collective: use one of allgather"),
        (["reduce:6"], "multiple of 4"),
        (["bcast:-1"], "bcast:-1: bytes must be from 0"),
        (["bcast:1k"], "bcast:1k: bytes must be from 0"),
        (["bcast:8:0"], "bcast:8:0: bytes must be from 0 to 1073741824, and seconds above 0"),
        (["bcast:8:1:1"], "bcast:8:1:1: bytes"),
        (["--max-seconds", "0", "bcast"], "--max-seconds takes"),
        (["--passes", "0", "bcast"], "--passes takes a number from 1 to 1000"),
        (["--warmup", "1"], "no collective given"),
        (["--colective", "bcast"], "usage: reprise-collbench"),
    ],
)
def test_the_benchmark_refuses_wrong_options_in_one_line(options: list[str], why: str, cluster: VirtualCluster) -> None:
    done = cluster.run(["/usr/local/libexec/reprise/reprise-collbench", *options], user="alice", check=False)
    assert done.returncode == 2
    assert why in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
