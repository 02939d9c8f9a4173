# SPDX-License-Identifier: Apache-2.0
"""Test the final JSON object of `make bench-releases`, its stored parts, and the campaigns and jobs that it plans."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench.releases.campaign_to_job import definition, seconds_of
from bench.releases.mpi_families import FAMILIES, NODES
from bench.releases.released_line import best, line
from bench.releases.site_of_release import configured
from bench.releases.stored_parts import Part, store, stored
from reprise.tuner.definition.campaign_definition import check
from tests.places import ROOT

NAMES = ("scripts", *FAMILIES, "matrix", "packages")


def result(software: str, passed: int, checks: int) -> dict[str, Any]:
    return {"software": software, "system": "Debian", "passed": passed, "checks": checks}


def family(release: str, gain: list[float], matched: bool = True) -> Part:
    return Part("c", {"release": release, "gains": {"bcast:8192": gain}, "matched": matched})


def test_without_results_nothing_is_claimed() -> None:
    told = line(dict.fromkeys(NAMES))
    assert told.pop("missing") == list(NAMES)
    assert {key: value for key, value in told.items() if value not in (None, [], {})} == {}


def test_results_of_all_parts_make_the_line() -> None:
    checks = [
        result("Slurm 22.05.8", 20, 20),
        result("Slurm 26.05.5 with `auth/slurm`, without munge", 8, 8),
        result("Python 3.13.5", 1, 1),
    ]
    parts = {
        "scripts": Part("c", {"wrong_mpi": 0, "wrong_mpi_scripts": 62}),
        "mpich-4.0": family("4.0.2", [0.4, 0.3, 0.5]),
        "mpich-5": family("5.0.2", [0.35, 0.32, 0.4]),
        "openmpi-6.0": family("6.0.0rc2", [0.47, 0.44, 0.5]),
        "matrix": Part("c", {"date": "2026-11-28", "results": checks}),
        "packages": Part("c", {"install_commands": 10}),
    }
    told = line(dict.fromkeys(NAMES) | parts)
    assert told["mpich_gain"] == [0.35, 0.32, 0.4]
    assert told["ompi6_gain"] == [0.47, 0.44, 0.5]
    assert (told["failures"], told["failed"], told["nomunge_ok"]) == (0, [], True)
    assert (told["wrong_mpi"], told["wrong_mpi_scripts"], told["install_commands"]) == (0, 62, 10)
    assert told["missing"] == ["openmpi-4.1", "openmpi-5.0"]
    assert told["releases"] == [
        *("MPICH 4.0.2", "MPICH 5.0.2", "Open MPI 6.0.0rc2", "Slurm 22.05.8"),
        "Slurm 26.05.5 with `auth/slurm`, without munge",
    ]


def test_every_failure_is_counted_and_named() -> None:
    checks = [result("Slurm 20.11.4", 21, 22), result("Slurm 24.11.5 with `auth/slurm`, without munge", 5, 8)]
    parts = {
        "mpich-4.0": Part("c", {}, "ClusterError: no"),
        "openmpi-4.1": family("4.1.4", [0.0, -0.1, 0.1], matched=False),
        "matrix": Part("c", {"results": checks}),
    }
    told = line(dict.fromkeys(NAMES) | parts)
    assert (told["failures"], told["nomunge_ok"]) == (1 + 3 + 2, False)
    assert len(told["failed"]) == 4


def test_the_best_gain_has_the_largest_lower_bound() -> None:
    gains = {"mpich-5": {"a": [0.5, -0.1, 0.9], "b": [0.2, 0.1, 0.3]}, "openmpi-6.0": {"a": [0.9, 0.8, 1.0]}}
    assert best(gains, "mpich") == [0.2, 0.1, 0.3]
    assert best({}, "mpich") is None


def test_parts_are_stored_and_read(place: Path) -> None:
    assert stored("mpich-5", place) is None
    store("mpich-5", Part("c", {"matched": True}), place)
    assert stored("mpich-5", place) == Part("c", {"matched": True})
    (place / "mpich-5.json").write_text("[]")
    with pytest.raises(ValueError, match="remove it"):
        stored("mpich-5", place)


@pytest.mark.parametrize("name", FAMILIES)
def test_campaigns_are_valid_and_for_the_whole_cluster(name: str) -> None:
    checked = check(definition(FAMILIES[name]), name)
    assert (checked.scope.value, checked.settings["nodes"]) == ("cluster", NODES)


def test_the_configuration_declares_the_release_of_the_jobs_mpi() -> None:
    text = configured((ROOT / "etc/reprise.toml").read_text(), "venus", FAMILIES["mpich-5"], "5.0.2")
    assert re.search(r'^\[mpich\]\n(#.*\n)*releases = \["5\.0\.2"\]$', text, re.MULTILINE)
    assert re.search(r"^\[openmpi\]\n(#.*\n)*releases = \[\]$", text, re.MULTILINE)
    assert 'cluster = "venus"' in text and "\nholdout = 0\n" in text


def test_the_time_of_a_call_is_that_of_the_slowest_rank() -> None:
    told = ["file=", '{"collective": "bcast", "size": 8, "avg_s": 1.0, "max_s": 2.0}', "bye"]
    assert seconds_of(told) == {"bcast:8": 2.0}
