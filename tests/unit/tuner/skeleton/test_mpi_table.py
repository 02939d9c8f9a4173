# SPDX-License-Identifier: Apache-2.0
"""Test the table of MPI's routines against the header of the installed MPI."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

import pytest

from tests.places import ROOT

ROW = re.compile(r'\{"(\w+)", [\w:]+, "([a-z]*)"\}')
TABLE = dict(ROW.findall((ROOT / "tuner/programs/skeleton/mpi_calls.cpp").read_text()))
# Routines that MPI 3.0 removed and that Open MPI still declares, with a warning.
REMOVED = {
    "Address",
    "Errhandler_set",
    "Type_extent",
    "Type_hindexed",
    "Type_hvector",
    "Type_lb",
    "Type_struct",
    "Type_ub",
}
POINTERS = set("aosrbhf")


@pytest.fixture(scope="module")
def prototypes() -> Mapping[str, list[str]]:
    """Return the parameters of each routine in the preprocessed header."""
    text = subprocess.run(
        ["mpicc", "-E", "-x", "c", "-"],
        input="#include <mpi.h>\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text, flags=re.DOTALL)
    found = re.findall(r"\b(?:int|double)\s+MPI_(\w+)\s*\(([^;]*?)\)\s*;", text, re.DOTALL)
    return {name: [] if words.strip() == "void" else words.split(",") for name, words in found}


def test_the_table_is_read() -> None:
    assert len(TABLE) > 150
    assert TABLE["Send"] == "svdvtv"


@pytest.mark.parametrize("name", sorted(set(TABLE) - REMOVED))
def test_each_routine_has_the_parameters_of_the_header(name: str, prototypes: Mapping[str, list[str]]) -> None:
    parameters = prototypes[name]
    assert len(parameters) == len(TABLE[name]), parameters
    for words, letter in zip(parameters, TABLE[name], strict=True):
        if letter in POINTERS - {"f"}:
            assert "*" in words or "[" in words, words
