# SPDX-License-Identifier: Apache-2.0
"""Test that the replay of a program recorded with the witness sends the program's messages (installed Open MPI)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from reprise.tuner.profile.process_report import LIBRARY
from reprise.tuner.proxy import mix_file
from reprise.tuner.proxy.monitoring_matrix import MonitoringMatrix, differences, monitoring_arguments, read_matrix
from reprise.tuner.proxy.recorded_run import VARIABLE
from reprise.tuner.proxy.trace_mix import mix_of
from tests.places import ROOT
from tests.unit.tuner.proxy.test_replay_program import ENVIRONMENT, program  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "every_call.c"
WITNESS = ROOT / "tuner/programs/witness" / LIBRARY
RANKS = 4


def mpirun(*words: str | Path, env: Mapping[str, str] | None = None) -> None:
    argv = ["mpirun", "--oversubscribe", "-np", str(RANKS), *map(str, words)]
    done = subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT, **(env or {})}, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr


def monitored(directory: Path, name: str, *words: str | Path) -> MonitoringMatrix:
    mpirun(*monitoring_arguments(directory / name), *words)
    return read_matrix(directory / name, RANKS)


def test_a_replay_sends_what_the_program_sent(program: Path, tmp_path: Path) -> None:  # noqa: F811
    made = tmp_path / "every_call"
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Werror", "-o", made, SOURCE], check=True)
    (tmp_path / "traces").mkdir()
    mpirun("-x", f"LD_PRELOAD={WITNESS}", "-x", f"{VARIABLE}={tmp_path}/traces", made)
    mix = mix_of(tmp_path / "traces")
    assert not mix.left_out
    mix_file.write(mix, tmp_path / "every.mix")
    application = monitored(tmp_path, "application", made)
    proxy = monitored(tmp_path, "proxy", program, "--bare", "--compute", "none", tmp_path / "every.mix")
    assert list(differences(application, proxy)) == []
    assert any(kind == "E" and traffic.messages for (kind, _, _), traffic in application.pairs.items())
