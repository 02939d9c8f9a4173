# SPDX-License-Identifier: Apache-2.0
"""Test the command line of `reprise-skeleton`, which needs no LLVM: its use of arguments, and its errors."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from tests.places import ROOT

DRIVER = ROOT / "tuner/programs/skeleton/reprise-skeleton"


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    """Import the command as a module, without writing a cache file next to it."""
    loader = SourceFileLoader("reprise_skeleton", str(DRIVER))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader) or pytest.fail())
    sys.modules[loader.name] = module
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = kept
    return module


def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(DRIVER), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **environment},
    )


def test_words_go_to_the_compiler_or_to_the_linker(driver: ModuleType) -> None:
    words = "-I include -DN=3 -std=c11 main.c -o made -Lfolder -lm -Wl,-z,now solver.cpp -pthread plain.so"
    request = driver.read_request(words.split())
    assert request.sources == ["main.c", "solver.cpp"]
    assert request.compile_words == ["-I", "include", "-DN=3", "-std=c11", "-pthread"]
    assert request.link_words == ["-Lfolder", "-lm", "-Wl,-z,now", "-pthread", "plain.so"]
    assert request.output == "made"
    assert request.is_cpp


def test_optimization_and_debugging_options_are_left_out(driver: ModuleType) -> None:
    request = driver.read_request(["-O3", "-g3", "-march=native", "main.c"])
    assert request.compile_words == ["-march=native"]
    assert request.output == "a.out"
    assert not request.is_cpp


def test_options_of_reprise_skeleton_go_to_the_pass(driver: ModuleType) -> None:
    request = driver.read_request(["--globals", "--rounds", "7", "--verbose", "main.c"])
    assert request.options == ["globals", "rounds=7", "verbose"]
    assert request.shown
    assert driver.read_request(["--rounds=7", "--follow", "main.c"]).options == ["rounds=7", "follow"]


def test_threads_of_openmp_are_left_out_with_a_line(driver: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert driver.read_request(["-fopenmp", "main.c"]).compile_words == []
    assert capsys.readouterr().err == "reprise-skeleton: -fopenmp is left out: threads only compute\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "no source files: give all C and C++ files of the program"),
        ("-lm", "no source files: give all C and C++ files of the program"),
        ("-c main.c", "-c does not make a program: give all sources of the program at once, without -c"),
        ("main.c -o", "-o needs a word after it"),
        ("main.c -I", "-I needs a word after it"),
        ("main.c --rounds", "--rounds needs a word after it"),
        ("main.c --rounds few", "--rounds takes a number of rounds from 1, not few"),
        ("main.c --rounds=0", "--rounds takes a number of rounds from 1, not 0"),
        ("solver.f90", "solver.f90: Fortran is not supported: record a trace and replay it instead"),
        ("SOLVER.F", "SOLVER.F: Fortran is not supported: record a trace and replay it instead"),
        (
            "main.c solver.o",
            "solver.o: already compiled, so that its communication cannot be seen: give its sources",
        ),
        (
            "main.c libsolver.a",
            "libsolver.a: already compiled, so that its communication cannot be seen: give its sources",
        ),
        ("notes.txt", "notes.txt: not C or C++ by its suffix: give C and C++ files only"),
    ],
)
def test_a_command_line_is_refused_with_one_line(words: str, line: str, driver: ModuleType) -> None:
    with pytest.raises(driver.Refusal) as refused:
        driver.read_request(words.split())
    assert str(refused.value) == line


def test_a_refusal_is_printed_and_is_status_2() -> None:
    done = call("-o", "made", "solver.f90")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "reprise-skeleton: solver.f90: Fortran is not supported: record a trace and replay it instead\n"
    )


def test_the_help_names_each_option_of_the_page(driver: ModuleType) -> None:
    done = call("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{driver.USAGE}\n"
    rows = (ROOT / "docs/reference/skeleton.md").read_text().partition("| option | meaning |")[2].partition("\n\n")[0]
    options = [row.split("`")[1] for row in rows.splitlines() if "`" in row]
    assert len(options) == 5
    assert [option for option in options if f"  {option} " not in done.stdout] == []


def test_a_pass_that_is_not_built_is_named_with_what_builds_it(
    driver: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "HERE", tmp_path)
    monkeypatch.delenv("REPRISE_SKELETON_LLVM", raising=False)
    with pytest.raises(driver.Refusal, match=r"^the pass is not built: `make skeleton` in Reprise's sources"):
        driver.find_llvm()
    monkeypatch.setenv("REPRISE_SKELETON_LLVM", "14")
    with pytest.raises(driver.Refusal, match=r"no pass is built for this LLVM: `make skeleton LLVM=14`$"):
        driver.find_llvm()


def test_the_newest_llvm_that_is_complete_is_taken(
    driver: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "HERE", tmp_path)
    monkeypatch.setattr(driver, "LLVM", tmp_path / "lib")
    monkeypatch.delenv("REPRISE_SKELETON_LLVM", raising=False)
    for version in ("14", "19"):
        (tmp_path / f"llvm-{version}").mkdir()
        driver.plugin(version).touch()
        (tmp_path / f"lib/llvm-{version}/bin").mkdir(parents=True)
    with pytest.raises(driver.Refusal, match=r"for LLVM 19, whose programs are missing: apt-get install clang-19 llvm"):
        driver.find_llvm()
    for name in driver.PROGRAMS:
        (tmp_path / "lib/llvm-14/bin" / name).touch()
    assert driver.find_llvm() == ("14", tmp_path / "lib/llvm-14/bin")
    for name in driver.PROGRAMS:
        (tmp_path / "lib/llvm-19/bin" / name).touch()
    assert driver.find_llvm() == ("19", tmp_path / "lib/llvm-19/bin")
    monkeypatch.setenv("REPRISE_SKELETON_LLVM", "14")
    assert driver.find_llvm() == ("14", tmp_path / "lib/llvm-14/bin")


def test_a_library_that_calls_mpi_is_refused(driver: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "exchange.c"
    source.write_text("int MPI_Barrier(long); void exchange(long all) { MPI_Barrier(all); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / "libexchange.so"], check=True, timeout=60)
    request = driver.read_request(["main.c", f"-L{tmp_path}", "-lexchange", "-lm"])
    with pytest.raises(driver.Refusal) as refused:
        driver.refuse_communicating_libraries(request)
    assert str(refused.value) == (
        f"-lexchange: {tmp_path}/libexchange.so calls MPI, which cannot be seen: give its sources instead"
    )


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("13", "skeleton: LLVM 13 is not supported: name one of 14 to 19, such as LLVM=19\n"),
        ("twelve", "skeleton: LLVM twelve is not supported: name one of 14 to 19, such as LLVM=19\n"),
    ],
)
def test_make_refuses_an_llvm_that_the_pass_is_not_for(version: str, line: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "-s", "-C", str(DRIVER.parent), f"LLVM={version}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=env,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(line)
