# SPDX-License-Identifier: Apache-2.0
"""Test the variables that select algorithms in MPICH's relatives, such as Intel MPI and Cray MPICH."""

from __future__ import annotations

import pytest

from reprise.allowlist import is_allowed
from reprise.tuner.errors import TunerError
from reprise.tuner.mpich.relatives import RELATIVES, value_of
from reprise.tuner.mpich.selection_file import Rule
from tests.places import ROOT

INTEL, CRAY = RELATIVES["intel-mpi"], RELATIVES["cray-mpich"]


def test_intel_mpi_gets_a_number_for_each_range_of_sizes_on_these_ranks() -> None:
    rules = [Rule(0, "binomial"), Rule(1024, ""), Rule(65536, "ring")]
    assert value_of(INTEL, "I_MPI_ADJUST_BCAST", rules, 4) == "1:0-1023@4-4;3:65536-2147483647@4-4"


def test_cray_mpich_gets_the_name_of_one_algorithm() -> None:
    assert value_of(CRAY, "MPICH_ALLTOALL_INTRA_ALGORITHM", [Rule(0, "pairwise")], 4) == "pairwise"
    with pytest.raises(TunerError, match="one algorithm for all sizes"):
        value_of(CRAY, "MPICH_ALLTOALL_INTRA_ALGORITHM", [Rule(0, "pairwise"), Rule(8, "brucks")], 4)


@pytest.mark.parametrize(
    ("variable", "rules", "why"),
    [
        ("I_MPI_ADJUST_BCAST", [Rule(0, "binomail")], "no algorithm 'binomail'"),
        ("I_MPI_ADJUST_NOTHING", [Rule(0, "ring")], "use one of another variable"),
        ("I_MPI_ADJUST_BCAST", [Rule(0, "")], "no rule has an algorithm"),
    ],
)
def test_what_a_library_does_not_know_is_refused(variable: str, rules: list[Rule], why: str) -> None:
    with pytest.raises(TunerError, match=why):
        value_of(INTEL, variable, rules, 4)


def test_the_plugin_may_set_every_variable_and_the_page_says_that_none_was_tested() -> None:
    page = (ROOT / "docs/reference/mpich-collectives.md").read_text().split("## MPICH's relatives")[1]
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")}
    for key, relative in RELATIVES.items():
        assert all(is_allowed(name) for name in relative.variables)
        title = {"mvapich2": "MVAPICH2", "mvapich3": "MVAPICH 3"}.get(key, relative.name)
        assert not relative.tested and "untested" in rows[title]
