# SPDX-License-Identifier: Apache-2.0
"""The components romio and ompio on the installed Open MPI: what a trial sets is in effect when a file is open."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.component_values import component, run_locally, shipped
from tuner.components.application import ApplicationComponent, Workload
from tuner.executors.base import TrialResult

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).with_name("mpiio.c")
RANKS = 4


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mpiio") / "mpiio"
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Werror", "-o", path, SOURCE], check=True)
    return path


@pytest.fixture(autouse=True)
def as_whoever_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    for name in [name for name in os.environ if name.startswith(("OMPI_MCA_io", "ROMIO_", "OMPI_MCA_fcoll"))]:
        monkeypatch.delenv(name)


def made(name: str, program: Path) -> ApplicationComponent:
    run = f"ROMIO_PRINT_HINTS=1 mpirun --oversubscribe -np {RANKS} {program} data"
    script = f"#!/bin/bash\n#SBATCH --ntasks={RANKS}\nrm -f data\n{run}\n"
    return component(shipped(name), {}, Workload("/a/run.sh", script, str(program.parent)))


def run(name: str, program: Path, directory: Path, **point: Any) -> tuple[TrialResult, Mapping[str, Mapping[str, str]]]:
    """The trial, and what the program says is in effect: hints and settings by name."""
    one = made(name, program)
    (problem,) = one.problems()
    plan = one.plan(problem.key, {**problem.default, **point})
    result = run_locally(plan, directory)
    said: dict[str, dict[str, str]] = {"hint": {}, "setting": {}}
    for line in result.output.stdout.splitlines():
        if found := re.match(r"(setting |key = )(\S+)(?: +value =)? +(\S*)", line):
            said["hint" if found[1] == "key = " else "setting"][found[2]] = found[3]
    return result, said


HINTS = {"romio_cb_write": "enable", "romio_ds_read": "disable", "cb_buffer_size": 4194304, "cb_nodes": 1}


def test_hints_are_in_effect(program: Path, tmp_path: Path) -> None:
    result, said = run("romio", program, tmp_path, io="^ompio", **HINTS)
    assert result.output.exit_status == 0, result
    assert {name: said["hint"].get(name) for name in HINTS} == {name: str(value) for name, value in HINTS.items()}
    assert made("romio", program).read("run.sh", result.output).value > 0


def test_without_its_parameters_romio_has_its_own_hints_and_the_job_is_as_it_was(program: Path, tmp_path: Path) -> None:
    _, said = run("romio", program, tmp_path / "on", io="^ompio")
    assert said["hint"]["romio_cb_write"] == "automatic"
    assert said["hint"]["cb_buffer_size"] == "16777216"  # the default of the component is that of the library
    result, said = run("romio", program, tmp_path / "off")
    assert result.output.exit_status == 0 and "romio_cb_write" not in said["hint"]


SETTINGS = {"grouping": 7, "num_aggregators": 2, "bytes_per_agg": 1048576, "cycle_buffer_size": 4194304}


@pytest.mark.parametrize("collective", ["vulcan", "dynamic", "dynamic_gen2", "two_phase", "individual"])
def test_settings_of_ompio_are_in_effect(program: Path, tmp_path: Path, collective: str) -> None:
    result, said = run("ompio", program, tmp_path, collective=collective, **SETTINGS)
    assert result.output.exit_status == 0, result
    found = said["setting"]
    assert found["fcoll"] == collective
    assert found["io_ompio_grouping_option"] == "7"
    names = ("num_aggregators", "bytes_per_agg", "cycle_buffer_size")
    assert [found[f"io_ompio_{name}"] for name in names] == ["2", "1048576", "4194304"]


def test_the_defaults_of_ompio_are_the_librarys_own(program: Path, tmp_path: Path) -> None:
    _, said = run("ompio", program, tmp_path)
    (problem,) = made("ompio", program).problems()
    names = ("num_aggregators", "bytes_per_agg", "cycle_buffer_size")
    assert [said["setting"][f"io_ompio_{name}"] for name in names] == [str(problem.default[name]) for name in names]
    assert said["setting"]["io_ompio_grouping_option"] == str(problem.default["grouping"])
