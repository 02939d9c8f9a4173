# SPDX-License-Identifier: Apache-2.0
"""Test verdicts on placement and binding, whose effect depends on how many ranks share a node."""

from __future__ import annotations

import pytest

from reprise.tuner.model.touched_names import is_known
from reprise.tuner.profile.profile_values import Profile
from reprise.tuner.profile.verdicts import Touches, verdicts
from tests.unit.component_values import shipped
from tests.unit.profile_values import profile

SHARES = {"mpi.collective.alltoall": 0.4, "mpi.p2p.offnode": 0.2, "compute": 0.3, "threads": 0.1}
PLACED = {name: Touches(shipped(name)["touches"]) for name in ("srun-placement", "mpirun-binding")}


def of(ranks: int, nodes: int = 4) -> Profile:
    return profile(SHARES, 0.0).model_copy(update={"ranks": ranks, "nodes": nodes})


@pytest.mark.parametrize(
    ("ranks", "placement", "binding"),
    [(4, 0.0, 0.1), (8, 0.9, 1.0), (5, 0.9, 1.0), (0, 0.9, 1.0)],
    ids=["one a node", "two a node", "two on one", "no MPI"],
)
def test_binding_affects_ranks_with_a_node_each_only_by_their_threads(
    ranks: int, placement: float, binding: float
) -> None:
    found = {one.component: one for one in verdicts(of(ranks), PLACED)}
    assert found["srun-placement"].share == pytest.approx(placement)
    assert found["mpirun-binding"].share == pytest.approx(binding)
    assert all(one.known for one in found.values())
    assert found["srun-placement"].worth == (placement > 0)


@pytest.mark.parametrize(("ranks", "share"), [(4, 0.0), (8, 0.4)], ids=["one a node", "two a node"])
def test_shared_memory_is_tried_only_where_ranks_can_use_it(ranks: int, share: float) -> None:
    (found,) = verdicts(of(ranks), {"sm": Touches(shipped("openmpi-shared-memory")["touches"])})
    assert found.share == pytest.approx(share)
    assert found.worth == (share > 0)


def test_a_component_that_can_change_nothing_says_why() -> None:
    (found,) = verdicts(of(4), {"srun-placement": PLACED["srun-placement"]})
    assert found.words == "has no effect if each task has a node to itself"


@pytest.mark.parametrize(("tasks", "worth"), [(0, False), (4, False), (8, True), (None, True)])
def test_without_mpi_placement_depends_on_the_tasks_of_the_step(tasks: int | None, worth: bool) -> None:
    placed = {"srun-placement": PLACED["srun-placement"]}
    (found,) = verdicts(of(0).model_copy(update={"tasks": tasks}), placed)
    assert found.worth == worth


def test_only_known_names_may_have_the_condition() -> None:
    assert is_known("mpi.p2p where ranks share nodes") and is_known("compute where ranks share nodes")
    assert not is_known("networks where ranks share nodes") and not is_known(" where ranks share nodes")
    assert not is_known("mpi.p2p where ranks share a node")
