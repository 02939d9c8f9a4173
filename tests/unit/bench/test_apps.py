# SPDX-License-Identifier: Apache-2.0
"""Test the mini-applications of `make bench-apps` on this machine, and the numbers computed from their run times."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from bench.apps.__main__ import Pair, Published, told
from bench.apps.jobs import CG, FT, App, Run
from tests.places import ROOT, UNIT

APPS = ROOT / "bench/apps"
SMALL = {"cg": ("--size", "256", "--iterations", "2"), "ft": ("--size", "8", "--iterations", "6")}
LINE = {
    "cg": "cg: 256 unknowns on {ranks} ranks: 0 of 2 solutions wrong: residual ",
    "ft": "ft: 8^3 points on {ranks} ranks: 0 of 6 checksums wrong: error of the field ",
}


@pytest.fixture(autouse=True)
def as_whoever_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_mpi_yield_when_idle"):
        monkeypatch.setenv(name, "1")


def launch(app: str, ranks: int, *arguments: str, wrapper: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    argv = ["mpirun", "--oversubscribe", "-np", str(ranks), *wrapper, str(APPS / app), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("app", SMALL)
def test_results_are_right(app: str, ranks: int) -> None:
    done = launch(app, ranks, *SMALL[app])
    assert done.returncode == 0 and done.stdout.startswith(LINE[app].format(ranks=ranks)), done.stdout + done.stderr


@pytest.fixture(scope="module")
def wrong_collectives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("wrong") / "wrong.so"
    source = UNIT / "wrong_collectives.c"
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.mark.slow
@pytest.mark.parametrize(("app", "wrong"), [("cg", "allgather"), ("ft", "alltoall")])
def test_one_lost_element_in_one_call_is_found(app: str, wrong: str, wrong_collectives: Path) -> None:
    done = launch(app, 2, *SMALL[app], wrapper=("env", f"LD_PRELOAD={wrong_collectives}", f"WRONG={wrong}"))
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith(f"{app}: ") and " wrong: " in done.stdout and " 0 of" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("app", "arguments", "line"),
    [
        ("cg", ("--size", "65"), "cg: 65 unknowns do not divide among 2 ranks: give another --size"),
        ("ft", ("--size", "48"), "ft: --size takes a power of 2"),
        ("ft", ("--class", "B"), "ft: --class takes S, W or A"),
        ("cg", ("--iterations", "0"), "cg: --iterations takes a number from 1 to 1000000"),
    ],
)
def test_an_invalid_argument_is_refused_in_one_line(app: str, arguments: tuple[str, ...], line: str) -> None:
    done = launch(app, 2, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert [text for text in done.stderr.splitlines() if text.startswith(f"{app}: ")] == [line]


FILE = Published("/rules.conf", frozenset([("allgather", 65536), ("allgather", 262144)]))
WITHOUT, GIVEN = Run(True, 2.0, ""), Run(True, 1.0, FILE.path)
PAIRS: dict[App, list[Pair]] = {
    CG: [(WITHOUT, GIVEN)] * 3,
    FT: [(WITHOUT, dataclasses.replace(GIVEN, seconds=2.5))] * 3,
}


def test_a_gain_is_reported_even_if_it_is_a_loss_or_there_is_no_rule() -> None:
    assert told(PAIRS, FILE, True) == {
        **{"cg_gain": 0.5, "cg_low": 0.5, "cg_high": 0.5, "cg_rules": 1},
        **{"ft_gain": -0.25, "ft_low": -0.25, "ft_high": -0.25, "ft_rules": 0},
        **{"in_effect": True, "wrong_results": 0, "pairs": 3},
    }


@pytest.mark.parametrize(
    ("pair", "path", "can_read"),
    [
        ((WITHOUT, GIVEN), FILE.path, False),
        ((WITHOUT, GIVEN), "/other.conf", True),
        ((GIVEN, GIVEN), FILE.path, True),
        ((WITHOUT, WITHOUT), "", True),
    ],
    ids=["nobody can read it", "another file", "a job that was to have none", "no file"],
)
def test_a_file_that_is_not_in_effect_is_reported(pair: Pair, path: str, can_read: bool) -> None:
    assert told({CG: [pair] * 2}, dataclasses.replace(FILE, path=path), can_read)["in_effect"] is False


def test_wrong_results_are_counted() -> None:
    wrong = dataclasses.replace(GIVEN, right=False)
    assert told({CG: [(WITHOUT, wrong), (WITHOUT, GIVEN)]}, FILE, True)["wrong_results"] == 1
