# SPDX-License-Identifier: Apache-2.0
"""Test the component nccl-collectives with a stub of nccl-tests and the tests' tuner plugin; no GPU is involved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.allowlist import is_allowed, is_reported
from reprise.config import Config
from reprise.database.entities import Measurement, Scope
from reprise.database.facade import Database
from reprise.matcher.decision.known_records import readable
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Comparison, TrialOutput
from reprise.tuner.nccl.nccl_component import CONFLICTS, DEFAULT, NcclComponent, build
from reprise.tuner.nccl.tuner_check import mistakes
from reprise.tuner.nccl.tuner_lines import Line, read
from tests.places import ROOT
from tests.unit.tuner.nccl.built_plugin import built
from tests.unit.tuner_site import Site

HEADER = """# nccl-tests version 2.17.1 nccl-headers=22907 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 4096 maxBytes 4096 step: 2(factor) warmup iters: 10 iters: 50 agg iters: 1 validation: 1
#
# Using devices
"""
RANK = "#  Rank  {0} Group  0 Pid  4711 on      node1 device  {0} [0000:01:00] NVIDIA H100 80GB HBM3\n"
TABLE = """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        4096          1024     float     sum      -1    20.50    0.20    0.37       0    21.25    0.19    0.36       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.365
#
# Collective test concluded: all_reduce_perf
#
"""
# Prints 20 us with a tuner file that chooses the tree, and 40 us without.
STUB = """#!/bin/bash
t=40.0; grep -q tree "$NCCL_TUNER_CONFIG_FILE" 2>/dev/null && t=20.0
echo "#  Rank  0 Group  0 Pid 1 on a device 0 [00] GPU"
echo "#  Rank  1 Group  0 Pid 2 on a device 1 [00] GPU"
echo "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
echo "$2 1 float sum -1 $t 1.0 1.0 0 $t 1.0 1.0 0"
"""


@pytest.fixture
def gpus(place: Path) -> Path:
    """Return a directory with the stub of nccl-tests and a tuner plugin, in which jobs can read artifacts."""
    for name in ("all_reduce_perf", "all_gather_perf_mpi", "broadcast_perf"):
        (place / name).write_text(STUB)
        (place / name).chmod(0o755)
    built(place)
    return place


def settings(gpus: Path, **changes: Any) -> dict[str, Any]:
    base = {"collectives": ["allreduce"], "sizes": [65536, 4096], "nodes": 2, "tasks_per_node": 4}
    paths = {"tuner_plugin": str(gpus / "libnccl-tuner-test.so"), "benchmark_path": str(gpus)}
    return {**base, **paths, **changes}


def make(gpus: Path, **changes: Any) -> NcclComponent:
    definition = yaml.safe_load((ROOT / "etc/components/nccl-collectives.yaml").read_text())
    made = build(definition, settings(gpus, **changes), Config.model_validate({"site": {"cluster": "far"}}))
    assert isinstance(made, NcclComponent)
    return made


def printed(text: str) -> TrialOutput:
    return TrialOutput(0, text, "", 1.0)


def ranks(number: int) -> str:
    return HEADER + "".join(RANK.format(rank) for rank in range(number))


def test_the_default_runs_without_the_plugin_and_a_choice_with_it(gpus: Path) -> None:
    made = make(gpus)
    default = made.plan("2x4/allreduce/4096", DEFAULT)
    assert not default.environment and not default.files
    words = ["-b", "4096", "-e", "4096", "-f", "2", "-g", "1", "-n", "50", "-w", "10", "-c", "1", "-a", "3"]
    assert default.argv == [str(gpus / "all_reduce_perf"), *words]
    assert (default.nodes, default.tasks_per_node, default.options) == (2, 4, ["--gpus-per-node=4"])
    plan = made.plan("2x4/allreduce/4096", {"method": "tree/ll", "channels": 8})
    assert plan.environment == {
        "NCCL_TUNER_PLUGIN": "test",
        "NCCL_TUNER_CONFIG_FILE": "{directory}/tuner.conf",
    }
    assert read(plan.files["tuner.conf"].encode()) == [
        Line("allreduce", 0, 2**63 - 1, "tree", "ll", 8, 2, 8),
    ]
    assert not mistakes(plan.files["tuner.conf"].encode())


def test_a_space_has_only_combinations_of_nccl(gpus: Path) -> None:
    every = ["tree", "ring", "nvls", "collnet_chain", "pat"]
    made = make(gpus, collectives=["allreduce", "allgather", "broadcast"], algorithms=every, channels=[8, 4])
    methods = {problem.key: problem.space.parameters[0].values for problem in made.problems()}
    sixteen = [f"{one}/{two}" for one in ("tree", "ring") for two in ("ll", "ll128", "simple")]
    assert methods["2x4/allreduce/4096"] == ("default", *sixteen, "nvls/simple", "collnet_chain/simple")
    assert methods["2x4/allgather/4096"] == ("default", *sixteen[3:], "nvls/simple", "pat/simple")
    assert methods["2x4/broadcast/65536"] == ("default", *sixteen[3:])
    points = made.problems()[0].space.points
    assert [one for one in points if one["method"] == "default"] == [DEFAULT]
    assert {one["channels"] for one in points} == {0, 4, 8}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"collectives": ["alltoall"]}, "collectives"),
        ({"sizes": [10]}, "sizes"),
        ({"nodes": 1, "tasks_per_node": 1}, "use 2 GPUs or more"),
        ({"library": "rccl", "algorithms": ["ring", "nvls"]}, "RCCL has no nvls"),
        ({"collectives": ["broadcast"], "algorithms": ["tree"]}, "none of these for broadcast"),
        ({"collectives": ["reduce"]}, "has no reduce_perf"),
        ({"tuner_plugin": "/nowhere/libnccl-tuner-x.so"}, "cannot be used as a tuner plugin"),
    ],
)
def test_unusable_settings_are_refused_with_one_line(gpus: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(TunerError, match=expected) as raised:
        make(gpus, **changes)
    assert "\n" not in str(raised.value)


def test_the_slower_of_the_two_times_counts(gpus: Path) -> None:
    assert make(gpus).read("2x4/allreduce/4096", printed(ranks(8) + TABLE)).value == pytest.approx(21.25e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ranks(1) + TABLE, "ran on 1 ranks instead of 8"),
        (ranks(8) + TABLE.replace("       0\n", "       7\n"), "wrong results"),
        (ranks(8) + TABLE + TABLE, "has 2 times"),
        (ranks(8) + TABLE.replace(" 4096 ", " 4080 "), "has no times"),
        (ranks(8) + TABLE[: TABLE.index("21.25") + 2], "has no times"),  # a truncated line
        (ranks(8) + TABLE.replace("#wrong", "error"), "use release 2.13 or later"),
        (ranks(8) + TABLE.replace("   redop", ""), "unknown table"),
        (ranks(8) + TABLE.replace("20.50", "nan"), "not valid times"),
        (ranks(8) + TABLE.replace("21.25", "nan"), "not valid times"),
        (ranks(8) + TABLE.replace("21.25", "0.00"), "not valid times"),
        (ranks(8) + TABLE.replace("20.50", "-"), "no time"),
    ],
)
def test_an_output_without_one_valid_time_is_refused(gpus: Path, text: str, expected: str) -> None:
    with pytest.raises(ObjectiveError, match=expected):
        make(gpus).read("2x4/allreduce/4096", printed(text))


def comparison(problem: str, method: str, gain_low: float) -> Comparison:
    return Comparison(
        problem,
        {"method": method, "channels": 0},
        Measurement(2.0, 1.9, 2.1, 5),
        Measurement(1.0, 0.9, 1.1, 5),
        0.5,
        gain_low,
        0.6,
    )


def no_run(plan: Any) -> TrialOutput:
    raise AssertionError("the proof needs no job")


def test_winners_are_published_in_one_file_for_all_layouts(gpus: Path) -> None:
    made = make(gpus, nodes=[2, 4], collectives=["allreduce", "allgather"])
    compared = [
        comparison("2x4/allreduce/4096", "tree/ll", 0.4),
        comparison("2x4/allreduce/65536", "ring/ll", -0.1),
        comparison("4x4/allreduce/65536", "ring/ll128", 0.4),
        comparison("4x4/allgather/4096", "default", 0.1),
    ]
    (one,) = made.publish(compared, no_run, gpus / "artifacts")
    assert one.artifact and one.environment == {
        "NCCL_TUNER_PLUGIN": "test",
        "NCCL_TUNER_CONFIG_FILE": one.artifact.path,
    }
    data = Path(one.artifact.path).read_bytes()
    assert read(data) == [
        Line("allreduce", 4096, 65535, "tree", "ll", 0, 2, 8),
        Line("allreduce", 65536, 131071, "ring", "ll128", 0, 4, 16),
    ]
    assert not mistakes(data) and one.conflicts == CONFLICTS
    assert [one.gain, one.gain_low] == pytest.approx([0.5, 0.4])
    assert not {"nodes", "tasks_per_node"} & {*made.context(), *one.context}
    assert all(is_allowed(name) for name in one.environment)
    assert all(is_reported(name.replace("*", "x")) for name in one.conflicts)


def test_nothing_is_published_without_a_gain(gpus: Path) -> None:
    made = make(gpus)
    compared = [comparison("2x4/allreduce/4096", "tree/ll", 0.0), comparison("2x4/allreduce/65536", "default", 0.1)]
    assert list(made.publish(compared, no_run, gpus / "artifacts")) == []
    assert not (gpus / "artifacts").exists()


def test_a_campaign_writes_a_record_that_the_matcher_reads(gpus: Path) -> None:
    site = Site(gpus)
    shutil.copy(ROOT / "etc/components/nccl-collectives.yaml", site.config.tuner.components)
    definition = {
        "name": "gpus",
        "component": "nccl-collectives",
        "scope": "cluster",
        "settings": settings(gpus, nodes=1, tasks_per_node=2, sizes=[4096, 8192], gpu_options=[]),
        "search": {"method": "gp-shared", "initial": 3, "budget": 7, "window": 0},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 2, "final_pairs": 3, "confirm_pairs": 0},
        "executor": {"kind": "local"},
    }
    with Database.open(site.config.database.path) as database:
        campaign = session.begin(database, check(definition, "test"), site.config, 1e6)
        (number,) = session.run(database, campaign, site.config, site.quiet())
        record = database.record(number)
        ((_, known),) = readable(database.record_texts())
    assert record.scope is Scope.CLUSTER and record.gain == pytest.approx(0.5)
    assert "tree" in Path(record.environment["NCCL_TUNER_CONFIG_FILE"]).read_text()
    assert known and known.environment == record.environment and known.terms.problem is None
    assert known.subject == "allreduce of 4 and 8 KiB in a benchmark" and known.terms.context.nodes is None
