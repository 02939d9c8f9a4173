# SPDX-License-Identifier: Apache-2.0
"""Test that a skeleton communicates exactly like its program, and runs much faster if the program mostly computes."""

from __future__ import annotations

import resource
import statistics
import subprocess
from pathlib import Path

import pytest

from reprise.tuner.proxy.monitoring_matrix import monitoring_arguments, read_matrix
from tests.places import ROOT
from tests.skeleton.skeletons import BUILT, FIXTURES, MPIRUN, compared, compile_application, needs_skeleton, skeleton

pytestmark = [pytest.mark.slow, needs_skeleton]

APPS = ROOT / "bench/apps"
PROGRAMS: dict[str, tuple[list[Path], list[str], list[str]]] = {
    # by name: sources, compiler arguments for the application only, and arguments of the program
    "dgemm": ([FIXTURES / "dgemm.c"], [], []),
    "opaque": ([FIXTURES / "opaque.c"], [], []),
    "montecarlo": ([FIXTURES / "montecarlo.c"], ["-DFIXED_ROUNDS"], []),
    "pointers_to_functions": ([FIXTURES / "pointers_to_functions.c"], [], []),
    "bounds": ([FIXTURES / "bounds.c"], [], ["2.6"]),
    "sizes": ([FIXTURES / "sizes.c"], [], []),
    "halo": ([FIXTURES / "halo.c"], [], []),
    "queue": ([FIXTURES / "queue.c"], [], []),
    "vectors": ([FIXTURES / "vectors.cpp"], [], []),
    "parts": ([FIXTURES / "parts_main.c", FIXTURES / "parts_work.c"], [], ["9"]),
    "cg": ([APPS / name for name in ("cg.c", "application.c", "draw.c")], [], ["--class", "S"]),
    "ft": ([APPS / name for name in ("ft.c", "application.c", "draw.c")], [], ["--class", "S"]),
}
COMPUTING = {"cg": ["--class", "A"], "ft": ["--class", "W"]}
"""Programs that mostly compute if they are run with these arguments."""
RANKS = [2, 4]
# Numbers of ranks for programs that must not be compared with more ranks: the messages of `queue` then differ from run
# to run, because each worker takes the next task whenever it is free.
BY_CHANCE = {"queue": [2]}
SPEED_UP_MIN = 5


def both(tmp_path: Path, name: str, llvm: str = "") -> tuple[str, str]:
    sources, words, _ = PROGRAMS[name]
    application = compile_application(tmp_path / name, sources, *words)
    made = tmp_path / f"{name}-skeleton"
    done = skeleton(made, sources, llvm=llvm)
    assert done.returncode == 0, done.stderr
    return str(application), str(made)


@pytest.mark.parametrize("llvm", BUILT)
@pytest.mark.parametrize("name", PROGRAMS)
def test_matrices_are_identical(name: str, llvm: str, tmp_path: Path) -> None:
    application, made = both(tmp_path, name, llvm)
    arguments = PROGRAMS[name][2]
    for found in compared([application, *arguments], [made, *arguments], BY_CHANCE.get(name, RANKS)):
        assert found.differences == (), f"{found.ranks} ranks"


@pytest.mark.parametrize("llvm", BUILT)
def test_the_matrix_product_sends_what_its_text_says(llvm: str, tmp_path: Path) -> None:
    for program in both(tmp_path, "dgemm", llvm):
        prefix = Path(f"{program}-profile")
        subprocess.run([*MPIRUN, "-np", "5", *monitoring_arguments(prefix), program], check=True, timeout=120)
        matrix = read_matrix(prefix, 5)
        for worker in range(1, 5):
            sent, returned = matrix.point_to_point(0, worker), matrix.point_to_point(worker, 0)
            assert (sent.messages, sent.bytes) == (2, 51_200 + 12_800)
            assert (returned.messages, returned.bytes) == (1, 12_800)
        assert sum(traffic.messages for (kind, _, _), traffic in matrix.pairs.items() if kind == "E") == 12


@pytest.mark.parametrize("name", COMPUTING)
def test_a_computing_program_takes_at_most_a_fifth_of_its_processor_time(name: str, tmp_path: Path) -> None:
    # A single rank neither waits nor spins, so its processor time depends little on how busy the machine is.
    arguments = COMPUTING[name]
    application, made = (
        statistics.median(processor_seconds([command, *arguments]) for _ in range(3))
        for command in both(tmp_path, name)
    )
    assert application / made >= SPEED_UP_MIN, (application, made)


def processor_seconds(words: list[str]) -> float:
    """Run a single rank, and return its processor time in seconds, including the start of MPI."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, timeout=280, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_the_skeleton_makes_the_requested_number_of_rounds(tmp_path: Path) -> None:
    made = tmp_path / "made"
    done = skeleton(made, [FIXTURES / "montecarlo.c"], "--rounds", "7")
    assert done.returncode == 0
    assert "runs for at most 7 rounds" in done.stderr
    (found,) = compared([str(made)], [str(made)], [2])
    assert found.identical


def test_the_condition_that_ends_a_loop_can_be_kept(tmp_path: Path) -> None:
    sources = [FIXTURES / "montecarlo.c"]
    application = compile_application(tmp_path / "application", sources)
    made = tmp_path / "made"
    assert skeleton(made, sources, "--follow").returncode == 0
    for found in compared([str(application)], [str(made)], RANKS):
        assert found.identical, found.differences
