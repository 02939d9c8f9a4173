# SPDX-License-Identifier: Apache-2.0
"""Test that the replay of a program recorded with the witness sends the program's messages (installed Open MPI)."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
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

HERE = Path(__file__).parent
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


def recorded(directory: Path, source: str) -> Path:
    """Compile a program, record a run of it, and return the program's path."""
    made = directory / Path(source).stem
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Werror", "-o", made, HERE / source], check=True)
    (directory / "traces").mkdir()
    mpirun("-x", f"LD_PRELOAD={WITNESS}", "-x", f"{VARIABLE}={directory}/traces", made)
    mix = mix_of(directory / "traces")
    assert not mix.left_out
    mix_file.write(mix, directory / "recorded.mix")
    return made


def replayed(directory: Path, program: Path) -> MonitoringMatrix:  # noqa: F811
    return monitored(directory, "proxy", program, "--bare", "--compute", "none", directory / "recorded.mix")


def test_a_replay_sends_what_the_program_sent(program: Path, tmp_path: Path) -> None:  # noqa: F811
    made = recorded(tmp_path, "every_call.c")
    application = monitored(tmp_path, "application", made)
    assert list(differences(application, replayed(tmp_path, program))) == []
    assert any(kind == "E" and traffic.messages for (kind, _, _), traffic in application.pairs.items())


def test_a_replay_sends_the_messages_of_neighborhood_collectives(program: Path, tmp_path: Path) -> None:  # noqa: F811
    """Test with computed numbers, because Open MPI 4.1's monitoring crashes in neighborhood collectives on a graph."""
    recorded(tmp_path, "neighborhoods.c")
    found = replayed(tmp_path, program).pairs
    sent = {pair[1:]: (one.messages, one.bytes) for pair, one in found.items() if pair[0] == "E" and one.messages}
    assert sent == exchanged()


def exchanged() -> Mapping[tuple[int, int], tuple[int, int]]:
    """Return the messages and bytes that neighborhoods.c sends, by sender and receiver."""
    sizes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for rank in range(RANKS):
        for other in (rank ^ 2, rank ^ 2, rank ^ 1):
            sizes[rank, other] += [24] * 5 + [8]
        for other in ((rank + 1) % RANKS, (rank - 1) % RANKS):
            sizes[rank, other] += [8 * (rank + 1), 40]
    for rank in range(RANKS - 1):
        for other, count, last in (((rank + 1) % 3, rank + 1, 8), ((rank + 2) % 3, rank + 9, 4)):
            sizes[rank, other] += [8 * count, 4 * count] * 5 + [last * count]
    return {pair: (len(each), sum(each)) for pair, each in sizes.items()}
