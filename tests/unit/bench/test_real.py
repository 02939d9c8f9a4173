# SPDX-License-Identifier: Apache-2.0
"""Test the catalog of real programs, and how gains are computed."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from bench.real.catalogue import PROGRAMS, Program, programs, read
from bench.real.comparing import gains
from bench.real.parts import rounded, settings_for
from bench.real.printed_rows import gain_row, row, spread
from bench.real.running import TIMED, ProgramError, directory, run_program
from tests.cluster.machine import JobEnd
from tests.debian import LIST, packages
from tests.waiting import NotSeenError

NAMES = [program.name for program in programs()]
RNG = random.Random(1)  # noqa: S311 - not used for security
PROGRAM = Program(name="one", script="time ./one\n", title="One", packages=(), kind="mpi", right="sum 7")
SETTINGS = {"mpi-only": {"kinds": ["mpi"], "environment": {"A": "1"}}, "io-only": {"kinds": ["io"], "environment": {}}}


class Cluster:
    """A fake cluster on which every job ends with the given output and state."""

    def __init__(self, output: str, state: str = "COMPLETED") -> None:
        self.end = JobEnd(7, state, 0, output)
        self.cancelled = False
        self.submitted: list[Mapping[str, str]] = []

    def submit(self, script: str, *, user: str, cwd: str, env: Mapping[str, str]) -> int:
        assert (script, user, cwd) == ("job.sh", "alice", directory(PROGRAM))
        self.submitted.append(env)
        return 7

    def wait_job(self, job: int, timeout_s: float = 120) -> JobEnd:
        if self.end.state == "RUNNING" and not self.cancelled:
            raise NotSeenError("the end of job 7")
        return self.end

    def run(self, argv: list[str]) -> None:
        assert argv == ["scancel", "7"]
        self.cancelled = True


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_described_in_full(name: str) -> None:
    (program,) = programs(name)
    assert re.match(r"#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n#SBATCH ", program.script)
    assert f"#SBATCH --job-name={name}\n" in program.script and re.search(r"^time ", program.script, re.MULTILINE)
    assert program.nodes == (8 if program.kind == "mpi" or "mpirun" in program.script else 1)
    assert re.compile(program.right)
    assert set(program.packages) <= set(packages(LIST.read_text(), ["bench-real"]))
    subprocess.run(["bash", "-n"], input=program.script + program.make + program.data, text=True, check=True)


def test_there_are_programs_of_each_kind_and_no_script_without_one() -> None:
    assert {program.kind for program in programs()} == {"mpi", "threads", "io"} and len(NAMES) >= 10
    assert {file.stem for file in PROGRAMS.iterdir()} == set(NAMES)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ValueError, match=r"bench/real/programs has no lamps: use some of .*lammps"):
        programs("pw,lamps")


def test_an_unknown_key_in_a_programs_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.sh").write_text("time ./one\n")
    (tmp_path / "one.toml").write_text("title = 'One'\npackages = []\nkind = 'mpi'\nright = ''\nnode = 4\n")
    with pytest.raises(ValidationError, match="node\n  Extra inputs"):
        read(tmp_path / "one.toml")


def test_the_time_of_a_run_is_what_its_script_measures_with_the_settings_in_its_environment() -> None:
    cluster = Cluster("sum 7\n\nreal\t0m1.250s\nuser\t0m9.000s\nreal\t2m0.500s\n")
    assert run_program(cluster, PROGRAM, {"OMP_NUM_THREADS": "1"}) == pytest.approx(121.75)  # type: ignore[arg-type]
    assert cluster.submitted == [{"DATA": "/opt/reprise/source/build/real/one", "OMP_NUM_THREADS": "1"}]


@pytest.mark.parametrize(
    ("output", "state"),
    [("sum 8\nreal\t0m1.0s\n", "COMPLETED"), ("sum 7\n", "COMPLETED"), ("sum 7\nreal\t0m1.0s\n", "FAILED")],
    ids=["another result", "no time", "failed"],
)
def test_a_run_without_a_right_result_has_no_time(output: str, state: str) -> None:
    with pytest.raises(ProgramError, match=f"one: job 7 is {state} without a right result"):
        run_program(Cluster(output, state), PROGRAM, {})  # type: ignore[arg-type]


def test_a_run_that_does_not_end_is_cancelled() -> None:
    cluster = Cluster("", "RUNNING")
    with pytest.raises(ProgramError, match="one: job 7 had not ended after 180 s"):
        run_program(cluster, PROGRAM, {})  # type: ignore[arg-type]
    assert cluster.cancelled


def test_the_shell_prints_times_as_they_are_read() -> None:
    told = subprocess.run(["bash", "-c", "time sleep 0.05"], capture_output=True, text=True, check=True).stderr
    ((minutes, seconds),) = TIMED.findall(told)
    assert minutes == "0" and 0.05 <= float(seconds) < 5


def test_gains_refer_to_the_default_of_the_same_round() -> None:
    """On a machine that slows down, gains do not change, because every variant runs once per round."""
    ran: list[str] = []

    def run(environment: Mapping[str, str]) -> float:
        ran.append(environment.get("NAME", "default"))
        return (1 + (len(ran) - 1) // 3) * {"default": 2.0, "fast": 1.0, "slow": 3.0}[ran[-1]]

    found = gains(run, {"fast": {"NAME": "fast"}, "slow": {"NAME": "slow"}}, 4, RNG)
    assert all(sorted(ran[first : first + 3]) == ["default", "fast", "slow"] for first in range(0, 12, 3))
    assert len({tuple(ran[first : first + 3]) for first in range(0, 12, 3)}) > 1
    assert {name: gain.gain for name, gain in found.items()} == pytest.approx({"fast": 0.5, "slow": -0.5})
    assert found["fast"].low == pytest.approx(0.5) and found["fast"].defaults == [2.0, 4.0, 6.0, 8.0]


def test_only_settings_for_the_kind_of_program_are_tried() -> None:
    assert settings_for(PROGRAM, SETTINGS) == {"mpi-only": {"A": "1"}}
    assert settings_for(PROGRAM, SETTINGS, "mpi-only,io-only") == {"mpi-only": {"A": "1"}}
    assert settings_for(PROGRAM, SETTINGS, "io-only") == {}
    with pytest.raises(ValueError, match=r"settings.toml has no x: use some of mpi-only, io-only"):
        settings_for(PROGRAM, SETTINGS, "x")


def test_rows_show_the_median_the_spread_and_gains_beyond_noise() -> None:
    assert spread([2.0, 2.5, 1.5]) == 0.5
    assert row(PROGRAM, [2.0, 2.5, 1.5]) == "one                   2.00 s   spread  50.0%   One"
    noise = gains(lambda _: 2.0, {"x": {"A": "1"}}, 2, RNG)["x"]
    assert gain_row(PROGRAM, "x", rounded(noise)).endswith("x                          0.0% (0.0% to 0.0%)")
    fast = gains(lambda given: 1.0 if given else 2.0, {"x": {"A": "1"}}, 2, RNG)["x"]
    assert gain_row(PROGRAM, "x", rounded(fast)).endswith(" 50.0% (50.0% to 50.0%)   beyond noise")
