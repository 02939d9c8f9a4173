# SPDX-License-Identifier: Apache-2.0
"""Test programs that `reprise-skeleton` refuses with one line that contains the place, the reason and the remedy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.skeleton.skeletons import (
    AS_ROOT,
    BUILT,
    FIXTURES,
    compared,
    compile_application,
    needs_skeleton,
    refusal,
    skeleton,
)

pytestmark = [pytest.mark.slow, needs_skeleton]

PROGRAM = """
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
%s
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    %s
    MPI_Finalize();
    return 0;
}
"""


def test_a_global_variable_that_changes_is_named(tmp_path: Path) -> None:
    line = refusal(tmp_path, (FIXTURES / "global.c").read_text())
    assert "refused.c:16: global variables are not supported: 'global' may change" in line
    assert "--globals" in line


def test_a_global_variable_is_followed_if_asked(tmp_path: Path) -> None:
    application = compile_application(tmp_path / "application", [FIXTURES / "global.c"])
    made = tmp_path / "made"
    assert skeleton(made, [FIXTURES / "global.c"], "--globals").returncode == 0
    (found,) = compared([str(application)], [str(made)], [3])
    assert found.identical, found.differences


@pytest.mark.parametrize("llvm", BUILT)
def test_global_variables_without_pointers_are_followed(llvm: str, tmp_path: Path) -> None:
    application = compile_application(tmp_path / "application", [FIXTURES / "globals.c"])
    made = tmp_path / "made"
    assert skeleton(made, [FIXTURES / "globals.c"], "--globals", llvm=llvm).returncode == 0
    for arguments in ([], ["30", "a"]):
        (found,) = compared([str(application), *arguments], [str(made), *arguments], [2])
        assert found.identical, found.differences


def test_a_program_that_exits_after_mpi_finalize_does_so_in_the_skeleton(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert skeleton(made, [FIXTURES / "globals.c"], "--globals").returncode == 0
    assert subprocess.run([str(made), "2000"], check=False, timeout=120, env=os.environ | AS_ROOT).returncode == 3


def test_a_global_variable_that_never_changes_is_accepted(tmp_path: Path) -> None:
    source = tmp_path / "constant.c"
    source.write_text(PROGRAM % ("int size = 12;", "MPI_Bcast(MPI_BOTTOM, size - 12, MPI_INT, 0, MPI_COMM_WORLD);"))
    done = skeleton(tmp_path / "made", [source])
    assert done.returncode == 0, done.stderr


def test_recursion_that_communicates(tmp_path: Path) -> None:
    text = """
__attribute__((noinline)) static void halve(int n, int rank)
{
    if (n < 2)
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    halve(n / 2, rank);
    halve(n / 3, rank);
}"""
    assert "recursion is not supported in functions that communicate: 'halve' calls itself" in refusal(
        tmp_path, PROGRAM % (text, "halve(10 + argc, rank);")
    )


def test_recursion_that_only_computes_is_removed_or_kept_whole(tmp_path: Path) -> None:
    text = "static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }"
    body = """int *b = calloc(10000, sizeof *b);
    b[0] = fib(20 + argc);
    MPI_Bcast(b, fib(10 + argc), MPI_INT, 0, MPI_COMM_WORLD);
    free(b);"""
    source = tmp_path / "fib.c"
    source.write_text(PROGRAM % (text, body))
    application = compile_application(tmp_path / "application", [source])
    done = skeleton(tmp_path / "made", [source])
    assert done.returncode == 0, done.stderr
    (found,) = compared([str(application)], [str(tmp_path / "made")], [2])
    assert found.identical, found.differences


def test_a_variable_number_of_arguments(tmp_path: Path) -> None:
    text = """
__attribute__((noinline)) static void send(int n, ...)
{
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        int count = va_arg(list, int);
        MPI_Bcast(MPI_BOTTOM, count * 0, MPI_INT, 0, MPI_COMM_WORLD);
    }
    va_end(list);
}"""
    line = refusal(tmp_path, PROGRAM % (text, "send(2, rank, argc);"))
    assert "send() takes a variable number of arguments" in line


def test_a_function_that_is_found_at_run_time(tmp_path: Path) -> None:
    text = "#include <dlfcn.h>\ntypedef void (*function)(int);"
    body = "function found = (function)dlsym(NULL, argv[1]); found(rank);"
    assert "functions found by dlsym() are not supported" in refusal(tmp_path, PROGRAM % (text, body), "-D_GNU_SOURCE")


def test_a_loop_that_only_received_numbers_end(tmp_path: Path) -> None:
    body = """double own = rank + 1, all = 1;
    do {
        own *= 0.5;
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } while (all > 1e-6);"""
    line = refusal(tmp_path, PROGRAM % ("", body))
    assert "received data ends this loop, and nothing else bounds it: give --rounds N" in line
    source = tmp_path / "refused.c"
    application = compile_application(tmp_path / "application", [source])
    assert skeleton(tmp_path / "followed", [source], "--follow").returncode == 0
    (found,) = compared([str(application)], [str(tmp_path / "followed")], [2])
    assert found.identical, found.differences


def test_a_request_from_before_the_loop_counts_as_received_in_the_loop(tmp_path: Path) -> None:
    body = """double own = rank + 1, all = 1;
    MPI_Request request;
    MPI_Recv_init(&all, 1, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, &request);
    do {
        own *= 0.5;
        MPI_Start(&request);
        MPI_Send(&own, 1, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } while (all > 1e-6);"""
    assert "received data ends this loop" in refusal(tmp_path, PROGRAM % ("", body))


def test_a_copied_handle_does_not_count_as_a_received_number(tmp_path: Path) -> None:
    text = "struct state { MPI_Request request; double limit; };"
    body = """struct state s[2] = {{MPI_REQUEST_NULL, argc * 3.0}, {MPI_REQUEST_NULL, 0}};
    for (int i = 0; i < s[i % 2].limit; i++) {
        MPI_Ibarrier(MPI_COMM_WORLD, &s[i % 2].request);
        MPI_Wait(&s[i % 2].request, MPI_STATUS_IGNORE);
        s[(i + 1) % 2] = s[i % 2];
    }"""
    source = tmp_path / "copied.c"
    source.write_text(PROGRAM % (text, body))
    application = compile_application(tmp_path / "application", [source])
    done = skeleton(tmp_path / "made", [source])
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = compared([str(application)], [str(tmp_path / "made")], [2])
    assert found.identical, found.differences


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "MPI_Win w; MPI_Win_create(argv, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);",
            "MPI_Win_create() is not supported",
        ),
        (
            "extern int setjmp(void *); char b[400]; if (!setjmp(b)) MPI_Barrier(MPI_COMM_WORLD);",
            "setjmp() and longjmp()",
        ),
    ],
)
def test_constructs_that_the_skeleton_cannot_follow_are_named(body: str, said: str, tmp_path: Path) -> None:
    line = refusal(tmp_path, PROGRAM % ("", body))
    assert said in line
    assert line.endswith(": leave it out, or record a trace of the application and replay that (docs/how-to/proxy.md)")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("solver.f90", "solver.f90: Fortran is not supported"),
        ("solver.o", "solver.o: already compiled"),
        ("notes.txt", "notes.txt: not C or C++ by its suffix"),
    ],
)
def test_files_without_a_known_source_are_refused(name: str, said: str, tmp_path: Path) -> None:
    done = skeleton(tmp_path / "made", [Path(name)])
    assert done.returncode == 2
    assert said in done.stderr


def test_a_program_without_main_is_refused(tmp_path: Path) -> None:
    assert "there is no main() in these files" in refusal(tmp_path, "int work(void) { return 0; }\n")
