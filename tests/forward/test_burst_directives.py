# SPDX-License-Identifier: Apache-2.0
"""Test that Slurm's script for burst buffers accepts what a forwarder accepts, and refuses the rest at submission."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT

SCRIPT = ROOT / "accelerators/forward/slurm/burst_buffer.lua"
FORWARDERS = 3
NUMBERS = ("workers", "ram-destagers", "flash-destagers", "ram-threshold", "flash-threshold", "destage-after")
LIMITS = re.compile(r"use a number from (\d+) to (\d+)")
CALLS = """
slurm = {SUCCESS = 0, ERROR = -1, log_error = function() end}
dofile(arg[1])
local code, text = slurm_bb_job_process(arg[2])
if code == 0 then
  code, text = slurm_bb_paths(7, arg[2], arg[3])
end
if code == 0 then
  code, text = slurm_bb_pools()
end
print(code, text)
"""
SUBMIT_ONLY = """
slurm = {SUCCESS = 0, ERROR = -1, log_error = function() end}
dofile(arg[1])
print(slurm_bb_job_process(arg[2]))
"""
INTERPRETERS = [name for name in ("lua5.1", "lua5.3", "lua5.4", "lua") if shutil.which(name)]
NO_LUA = pytest.param("", marks=pytest.mark.skip(reason="Lua is not installed"))


@dataclass(frozen=True)
class Slurm:
    """The script, called as Slurm does, with a pool of forwarders."""

    directory: Path
    lua: str

    def asked(self, words: str, calls: str = CALLS) -> str:
        """Submit a batch script with these words. Return the pools, or the line about an error."""
        (self.directory / "job.sh").write_text(f"#!/bin/sh\n#BB_LUA {words}\n")
        (self.directory / "calls.lua").write_text(calls)
        files = [self.directory / name for name in ("calls.lua", "burst_buffer.lua", "job.sh", "variables")]
        done = subprocess.run([self.lua, *files], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def variables(self) -> dict[str, str]:
        """Return the variables of the job that was submitted last."""
        return dict(line.split("=", 1) for line in (self.directory / "variables").read_text().splitlines())


@pytest.fixture(params=[*INTERPRETERS, *([] if INTERPRETERS else [NO_LUA])])
def slurm(tmp_path: Path, request: pytest.FixtureRequest) -> Slurm:
    (tmp_path / "map").write_text("reprise-forwarders 1\n" + "10.0.0.1:564\n" * FORWARDERS)
    (tmp_path / "bursts.env").write_text(f"REPRISE_FORWARD_MAP={tmp_path}/map\n")
    text = SCRIPT.read_text().replace("/var/lib/reprise/forwarders", str(tmp_path)).replace("flash = 0", "flash = 2^30")
    (tmp_path / "burst_buffer.lua").write_text(text)
    return Slurm(tmp_path, request.param)


def limits(line: str) -> tuple[int, int]:
    """Return the limits that a line about an invalid number names."""
    found = LIMITS.search(line)
    assert found, line
    return int(found[1]), int(found[2])


def forwarders_limits(program: Path, option: str) -> tuple[int, int]:
    done = subprocess.run([program, f"--{option}=x"], capture_output=True, text=True, check=False)
    return limits(done.stderr)


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_have_the_limits_of_the_forwarder(slurm: Slurm, program: Path, option: str) -> None:
    least, most = forwarders_limits(program, option)
    for value in ("x", "", "-1", "1e3", str(most + 1), "9" * 400, *([str(least - 1)] if least else [])):
        line = slurm.asked(f"pool=ram capacity=4G {option}={value}")
        assert line.startswith(f"-1\t{option}={value} is invalid") and limits(line) == (least, most)
    for number in (least, most):
        assert slurm.asked(f"pool=ram capacity=4G {option}={number}").startswith("0\t")
        assert slurm.variables()[f"REPRISE_FORWARD_BURST_{option.upper().replace('-', '_')}"] == str(number)


@pytest.mark.parametrize("pool", ["ram", "flash"])
def test_a_small_capacity_is_one_that_forwarders_accept(slurm: Slurm, program: Path, pool: str) -> None:
    least = forwarders_limits(program, f"{pool}-bytes")[0]
    pools = slurm.asked(f"pool={pool} capacity=1")
    each = int(slurm.variables()[f"REPRISE_FORWARD_BURST_{pool.upper()}_BYTES"])
    assert max(least, 2**20) == each and f'"granularity": {each * FORWARDERS}' in pools


def test_a_large_capacity_is_shared_out(slurm: Slurm) -> None:
    slurm.asked("pool=ram capacity=6G")
    assert slurm.variables()["REPRISE_FORWARD_BURST_RAM_BYTES"] == str(2 * 2**30)


def test_a_capacity_that_no_forwarder_accepts_is_refused_at_submission(slurm: Slurm, program: Path) -> None:
    most = forwarders_limits(program, "ram-bytes")[1]
    assert most == forwarders_limits(program, "flash-bytes")[1] == 1024 * 2**40
    for size in ("1025T", "2P", "9" * 400):
        assert slurm.asked(f"pool=ram capacity={size}") == f"-1\tcapacity={size} is too large: use at most 1024T"
    assert slurm.asked("pool=ram capacity=1P").startswith("0\t")
    assert slurm.variables()["REPRISE_FORWARD_BURST_RAM_BYTES"] == str(most // FORWARDERS)


def test_a_number_is_refused_before_the_job_runs(slurm: Slurm) -> None:
    for words in ("pool=ram capacity=0", "pool=ram capacity=4G workers=0", "pool=ram capacity=9999P"):
        assert slurm.asked(words, SUBMIT_ONLY).startswith("-1\t"), words
    assert slurm.asked("pool=ram capacity=4G workers=1", SUBMIT_ONLY) == "0"
