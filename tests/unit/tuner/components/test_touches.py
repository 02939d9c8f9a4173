# SPDX-License-Identifier: Apache-2.0
"""Test a component's key `touches`, which lists the entries of profiles (such as mpi.io) that the component affects."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reprise.config import Config
from reprise.tuner.definition import component_registry
from reprise.tuner.errors import TunerError
from reprise.tuner.model.touched_names import LEAVES, is_known, touches
from reprise.tuner.openmpi.catalogue import CATALOGUE, NAMES
from tests.unit.component_values import SHIPPED, component, definition, shipped

ALL = sorted(path.stem for path in SHIPPED.glob("*.yaml"))


# `mpich-collectives` touches nothing on purpose: a profile does not say which MPI the program uses, so the component
# would also be proposed for programs with Open MPI. Nor does it distinguish MVAPICH from Intel MPI. `landscape` and
# `together` are never proposed.
NEVER_PROPOSED = ("landscape", "mpich-collectives", "mvapich2", "mvapich3", "together")


@pytest.mark.parametrize("name", [name for name in ALL if name not in NEVER_PROPOSED])
def test_every_shipped_component_says_what_it_touches(name: str) -> None:
    names = shipped(name)["touches"]
    assert names and all(is_known(one) for one in names)


def test_a_name_matches_itself_and_names_that_continue_it_after_a_dot() -> None:
    assert touches("mpi.io", "mpi.io.read") and touches("threads", "threads")
    assert not touches("io", "mpi.io.read") and not touches("mpi.collective.allgather", "mpi.collective.allgatherv")
    assert not touches("mpi.p2p.offnode", "mpi.p2p.onnode")


@pytest.mark.parametrize("name", ["mpi", "mpi.collective", "mpi.collective.ialltoall", "io.read", "memory", "compute"])
def test_names_in_profiles_and_their_prefixes_are_valid(name: str) -> None:
    assert is_known(name)


@pytest.mark.parametrize("name", ["", "mp", "mpi.", "mpi.collective.broadcast", "io.read.huge", "Threads", 1, None])
def test_names_that_no_profile_shows_are_invalid(name: object) -> None:
    assert not is_known(name)


def test_every_collective_of_open_mpi_has_a_name_and_so_has_its_nonblocking_form() -> None:
    assert {f"mpi.collective.{call}{name}" for call in ("", "i") for name in NAMES} <= set(LEAVES)


def test_rules_touch_the_collectives_that_campaigns_for_applications_try() -> None:
    """All algorithms of gather and scatter are unsafe, and an application's barriers are not tried."""
    untried = {"barrier", "gather", "scatter"}
    assert shipped("openmpi-collectives")["touches"] == [
        f"mpi.collective.{name}" for name in CATALOGUE if name not in untried
    ]


def test_an_unknown_name_is_refused_in_one_line() -> None:
    content = definition({"SRO_A": {"default": 1, "values": [1, 2]}}, touches=["mpi.collective.broadcast"])
    with pytest.raises(TunerError) as refused:
        component(content)
    said = str(refused.value)
    assert (
        said.startswith("component small: setting 'touches': ") and "'mpi.collective.broadcast' does not occur" in said
    )
    assert "mpi.collective.KIND, mpi.p2p.offnode" in said and "\n" not in said


@pytest.mark.parametrize(("given", "said"), [("mpi", "must be a list"), (["networks"], "'networks' does not occur")])
def test_invalid_touches_are_refused_in_components_of_another_kind(tmp_path: Path, given: object, said: str) -> None:
    content = {**shipped("openmpi-collectives"), "touches": given}
    (tmp_path / "openmpi-collectives.yaml").write_text(yaml.safe_dump(content))
    config = Config.model_validate({"tuner": {"components": str(tmp_path)}})
    with pytest.raises(TunerError, match=f"openmpi-collectives.yaml: touches: {said}"):
        component_registry.read("openmpi-collectives", config)
