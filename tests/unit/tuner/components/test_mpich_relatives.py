# SPDX-License-Identifier: Apache-2.0
"""Test the components for Intel MPI, Cray MPICH and MVAPICH: their variables, and their row in the documentation."""

from __future__ import annotations

import re

import pytest

from reprise.allowlist import is_allowed, is_reported
from reprise.matcher.submission.mpi_families import SETTINGS
from tests.places import ROOT
from tests.unit.component_values import component, shipped

FAMILIES = {"intel-mpi": "Intel MPI", "cray-mpich": "Cray MPICH", "mvapich2": "MVAPICH", "mvapich3": "MVAPICH"}
UNTESTED = ("cray-mpich", "mvapich2", "mvapich3")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_plugin_may_set_every_variable_and_only_its_family_reads_it(name: str) -> None:
    for parameter in component(shipped(name)).description.parameters:
        assert is_allowed(parameter.name), parameter.name
        readers = {family for prefix, family in SETTINGS.items() if parameter.name.startswith(prefix)}
        assert readers == {FAMILIES[name]}, parameter.name
        assert parameter.values[0] == parameter.unset == parameter.default == "built-in"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_plugin_reports_the_variables_with_which_users_choose(name: str) -> None:
    assert all(is_reported(pattern.replace("*", "X")) for pattern in shipped(name)["conflicts"])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_component_without_a_build_to_test_it_with_is_called_untested(name: str) -> None:
    is_untested = name in UNTESTED
    assert ("(untested)" in shipped(name)["description"]) is is_untested
    page = (ROOT / "docs/reference/mpich-collectives.md").read_text()
    row = re.search(rf"^\| `{name}` .*$", page, re.MULTILINE)
    assert row and ("untested" in row[0]) is is_untested
