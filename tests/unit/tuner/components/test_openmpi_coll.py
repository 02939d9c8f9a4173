# SPDX-License-Identifier: Apache-2.0
"""Test the component openmpi-coll: only components of the installed Open MPI are tried, and the choice is proved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.tuner.components import openmpi_build
from reprise.tuner.components.openmpi_build import objection, preferred, with_known
from reprise.tuner.components.touched_operations import operations
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.model.touched_names import that_hold
from tests.unit.component_values import component, shipped
from tests.unit.tuner.components.test_publication import published

LINE = "[n1:77] coll:base:comm_select: selecting  {:>10}, priority  {}, Enabled\n"
DESCRIPTION = component(shipped("openmpi-coll")).description


def build(*names: str) -> str:
    lines = [f"mca:coll:{name}:param:coll_{name}_priority:value:0\n" for name in names]
    return "".join(["ompi:version:full:6.0.0\n", *lines])


def known(monkeypatch: pytest.MonkeyPatch, *names: str) -> Sequence[str]:
    monkeypatch.setattr(openmpi_build, "ask", lambda _: build(*names))
    return [one.key for one in with_known(DESCRIPTION, "ompi_info").parameters]


def test_only_components_of_the_installed_build_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known(monkeypatch, "tuned", "xhc", "ucc", "acoll", "adapt") == ["xhc", "acoll", "ucc", "adapt"]
    assert known(monkeypatch, "tuned", "sm", "adapt", "han") == ["sm", "adapt"]
    with pytest.raises(TunerError, match=r"has none of OMPI_MCA_coll_xhc_priority, .*: set openmpi\.ompi_info"):
        known(monkeypatch, "tuned", "basic")


def test_other_components_do_not_ask_for_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmpi_build, "ask", lambda _: pytest.fail("asked"))
    other = component(shipped("ucx")).description
    assert with_known(other, "ompi_info") is other


def test_a_parameter_whose_condition_is_left_out_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmpi_build, "ask", lambda _: build("adapt"))
    (only,) = with_known(DESCRIPTION, "ompi_info").parameters
    assert only.key == "adapt" and not only.counts_when


def test_a_component_that_open_mpi_does_not_select_is_objected_to() -> None:
    said = LINE.format("xhc", 90) + LINE.format("tuned", 30)
    assert preferred({"OMPI_MCA_coll_xhc_priority": "90", "OMPI_MCA_coll_ucc_enable": "90", "A": "1"}) == ["xhc"]
    assert objection(["xhc"], said) == ""
    assert objection(["acoll"], said).startswith("Open MPI selects tuned, xhc, but not acoll")
    assert "does not say" in objection(["xhc"], "xhc\n")


@pytest.mark.parametrize("selected", ["xhc", "tuned"])
def test_a_winner_is_published_only_if_open_mpi_selects_it(selected: str, place: Path) -> None:
    asked: list[TrialPlan] = []

    def run(plan: TrialPlan) -> TrialOutput:
        asked.append(plan)
        return TrialOutput(0, "", LINE.format(selected, 90), 1.0, place)

    made = component(shipped("openmpi-coll"))
    if selected == "xhc":
        found = published(made, place, proof=run, xhc="90")
        assert found and found.environment == {"OMPI_MCA_coll_xhc_priority": "90"}
    else:
        with pytest.raises(CampaignFailedError, match="but not xhc"):
            published(made, place, proof=run, xhc="90")
    assert len(asked) == 1 and asked[0].environment["OMPI_MCA_coll_base_verbose"] == "10"


def test_ucc_is_enabled_together_with_its_priority() -> None:
    made = component(shipped("openmpi-coll"))
    (problem,) = made.problems()
    given = made.plan(problem.key, {**problem.default, "ucc": "90"}).environment
    assert given == {"OMPI_MCA_coll_ucc_priority": "90", "OMPI_MCA_coll_ucc_enable": "90"}
    assert dataclasses.asdict(DESCRIPTION)["known_to"] == "openmpi"


def affected(monkeypatch: pytest.MonkeyPatch, *names: str, ranks_share_nodes: bool = False) -> set[str]:
    """Return the operations that the component can affect if Open MPI has the components `names`."""
    monkeypatch.setattr(openmpi_build, "ask", lambda _: build(*names))
    touched = operations(shipped("openmpi-coll"), "ompi_info")
    held = that_hold(touched, ranks_share_nodes=ranks_share_nodes)
    return {name.removeprefix("mpi.collective.") for name in held}


def test_a_profile_judges_the_component_by_what_the_build_has_and_the_ranks_can_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, memory = {"bcast", "reduce"}, {"allreduce", "barrier", "bcast", "reduce"}
    assert affected(monkeypatch, "tuned", "sm", "adapt") == both
    assert affected(monkeypatch, "tuned", "sm", "adapt", ranks_share_nodes=True) == memory
    assert affected(monkeypatch, "xhc") == set() and affected(monkeypatch, "xhc", ranks_share_nodes=True) == memory
    whole = {name.removeprefix("mpi.collective.") for name in shipped("openmpi-coll")["touches"]}
    assert affected(monkeypatch, "sm", "ucc") == whole == affected(monkeypatch, "tuned")


def test_a_build_that_cannot_be_asked_may_have_all_components(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> str:
        raise TunerError("ompi_info: not found")

    monkeypatch.setattr(openmpi_build, "ask", fail)
    assert operations(shipped("openmpi-coll"), "ompi_info") == shipped("openmpi-coll")["touches"]
    assert operations(shipped("openmpi-collectives"), "ompi_info") == shipped("openmpi-collectives")["touches"]
    assert operations(shipped("romio"), "ompi_info") == shipped("romio")["touches"]
