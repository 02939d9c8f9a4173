# SPDX-License-Identifier: Apache-2.0
"""Test that the replay of a program recorded with EZTrace sends the program's messages, with the installed Open MPI."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy import mix_file, otf2_mix
from reprise.tuner.proxy.mix import Mix, expand
from reprise.tuner.proxy.monitoring_matrix import differences
from reprise.tuner.proxy.recorded_run import VARIABLE
from reprise.tuner.proxy.trace_mix import mix_of
from tests.places import ROOT
from tests.unit.tuner.proxy.test_recorded_program import WITNESS, monitored, mpirun
from tests.unit.tuner.proxy.test_replay_program import program  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("eztrace"), reason="EZTrace is not installed: `make deps-traces`"),
]

SOURCES = Path(__file__).parent
APPS = ROOT / "bench/apps"


def made(directory: Path, name: str) -> Path:
    subprocess.run(["mpicc", "-std=c11", "-o", directory / name, SOURCES / f"{name}.c"], check=True)
    return directory / name


def traced(directory: Path, *words: str | Path) -> Path:
    """Run a program under EZTrace, and return the anchor file of its archive."""
    mpirun("eztrace", "-t", "openmpi", "-o", directory / "eztrace", *words)
    (archive,) = directory.glob("eztrace/*/eztrace_log.otf2")
    return archive


def witnessed(directory: Path, *words: str | Path) -> Mix:
    (directory / "traces").mkdir()
    mpirun("-x", f"LD_PRELOAD={WITNESS}", "-x", f"{VARIABLE}={directory}/traces", *words)
    return mix_of(directory / "traces")


def bare(mix: Mix) -> list[list[str]]:
    """Return each rank's calls without element sizes, computation, and the making of communicators."""

    def calls(rank: int) -> Iterator[str]:
        for one in expand(mix.programs[rank]):
            if not one.text.startswith(("comm_", "compute")):
                yield re.sub(" e=[0-9]+", "", one.text)

    return [list(calls(rank)) for rank in range(mix.ranks)]


@pytest.mark.parametrize(
    "words",
    [
        ("blocking_calls",),
        ("blocking_calls", "one communicator"),
        (str(APPS / "cg"), "--class", "S", "--iterations", "2"),
        (str(APPS / "ft"), "--class", "S"),
    ],
    ids=["communicators", "calls", "cg", "ft"],
)
def test_an_eztrace_archive_and_the_witnesss_trace_give_the_same_calls(
    program: Path,  # noqa: F811
    tmp_path: Path,
    words: tuple[str, ...],
) -> None:
    command = words if words[0].startswith("/") else (str(made(tmp_path, words[0])), *words[1:])
    if words[0].startswith("/"):
        subprocess.run(["make", "--silent", "-C", APPS, "all"], check=True)
    said: list[str] = []
    mix = otf2_mix.mix_of(traced(tmp_path, *command), said.append)
    other = witnessed(tmp_path, *command)
    assert bare(mix) == bare(other) and list(mix.comms) == list(other.comms)
    assert not mix.left_out and said == []
    if len(mix.comms) == 1:
        mix_file.write(mix, tmp_path / "traced.mix")
        application = monitored(tmp_path, "application", *command)
        proxy = monitored(tmp_path, "proxy", program, "--bare", "--compute", "none", tmp_path / "traced.mix")
        assert list(differences(application, proxy)) == []


def test_a_program_with_calls_that_eztrace_leaves_out_is_refused(tmp_path: Path) -> None:
    archive = traced(tmp_path, made(tmp_path, "every_call"))
    with pytest.raises(ProxyError, match=r"rank 0 of the trace: no completion of MPI_\w+ \(EZTrace 2\.0"):
        otf2_mix.mix_of(archive, print)
