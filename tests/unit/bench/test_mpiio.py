# SPDX-License-Identifier: Apache-2.0
"""Test the plan of `make bench-mpiio`: its sizes suffice to fit and test a model, and its campaigns are valid."""

from __future__ import annotations

import math

import pytest

from bench.mpiio.plan import Size, all_sizes, campaign, kernels, script
from reprise.tuner.components.application import Workload
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.predict import accuracy_gate
from reprise.tuner.predict.training_rows import Row, configuration
from tests.unit.bench.test_mpiio_kernels import shown
from tests.unit.component_values import component, shipped

SIZES = list(all_sizes(list(kernels().values())))


def row(size: Size) -> Row:
    numbers = configuration({"features": size.features}, {"nodes": size.nodes, "tasks_per_node": size.tasks_per_node})
    return Row(numbers, {}, {"write": 1.0})


def test_names_are_unique() -> None:
    assert len({size.name for size in SIZES}) == len(SIZES)


@pytest.mark.parametrize("name", kernels())
def test_sizes_for_predictions_lie_between_the_measured_sizes_and_are_not_measured(name: str) -> None:
    kernel = kernels()[name]
    known = [row(size) for size in kernel.known]
    assert len({one.key for one in known}) >= accuracy_gate.CONFIGURATIONS_LEAST
    for size in kernel.unseen:
        assert accuracy_gate.outside(known, row(size).configuration) == ""
        assert row(size).key not in {one.key for one in known}


@pytest.mark.slow
@pytest.mark.parametrize("size", [kernel.known[0] for kernel in kernels().values()], ids=kernels())
def test_the_volume_equals_the_bytes_written(size: Size) -> None:
    runs = shown(size.nodes * size.tasks_per_node, "--kernel", size.kernel, *size.words)
    assert sum(length for _, _, length in runs) / 1e6 == pytest.approx(size.features["volume"], rel=1e-6)


def test_campaigns_of_the_bench_are_valid() -> None:
    for size in SIZES[:3]:
        described = campaign(size, f"/home/alice/{size.name}.sh", "alice", "family", {"initial": 5, "budget": 20})
        definition = check(described, "campaign")
        workload = Workload("/home/alice/x.sh", script(size, "/usr/bin/mpiio"), "/home/alice")
        (problem,) = component(shipped("romio"), definition.settings, workload).problems()
        assert problem.default["io"] == "as-it-is" and math.prod(len(p.values) for p in problem.space.parameters) > 100
