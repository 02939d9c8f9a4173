# SPDX-License-Identifier: Apache-2.0
"""Test the program `reprise-replay` on the installed Open MPI."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.proxy import mix_file
from reprise.tuner.proxy.mix import Call, Loop, Mix
from tests.once import built_once
from tests.places import ROOT
from tests.unit.tuner.proxy.mixes import mix, ring

pytestmark = pytest.mark.slow

SOURCE = ROOT / "tuner/programs/replay"
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.fixture(scope="module")
def program() -> Path:
    def make(directory: Path) -> None:
        subprocess.run(["make", "--silent", "-C", SOURCE, f"BUILD={directory}"], check=True)

    return built_once("replay", "mpicc", SOURCE.glob("*.[ch]"), make) / "reprise-replay"


def run(program: Path, path: Path, *options: str, ranks: int = 3) -> subprocess.CompletedProcess[str]:
    argv = ["mpirun", "--oversubscribe", "-np", str(ranks), str(program), *options, str(path)]
    return subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, timeout=100, check=False
    )


def replay(program: Path, one: Mix, directory: Path, *options: str) -> dict[str, Any]:
    path = directory / "a.mix"
    mix_file.write(one, path)
    done = run(program, path, *options, ranks=one.ranks)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_all_calls_are_made_and_timed_by_kind(program: Path, tmp_path: Path) -> None:
    said = replay(program, ring(20), tmp_path)
    calls = {kind: one["calls"] for kind, one in said["kinds"].items() if kind != "compute"}
    assert calls == {"bcast": 1, "irecv": 20, "send": 20, "wait": 20, "allreduce": 20, "barrier": 2, "sendrecv": 20}
    assert said["ranks"] == 3 and said["slowest_s"] >= said["mean_s"] > 0


def test_computation_is_replaced_by_waiting_unless_disabled(program: Path, tmp_path: Path) -> None:
    slow = Mix([(0, 1)], [[Loop(10, [Call("barrier c=0", 20000.0)])] for _ in range(2)])
    assert replay(program, slow, tmp_path)["slowest_s"] >= 0.2
    runs = [replay(program, slow, tmp_path, "--compute", "0.5")["kinds"]["compute"]["seconds"] for _ in range(3)]
    assert min(runs) == pytest.approx(0.1, rel=0.2), "other processes only delay a run"
    assert "compute" not in replay(program, slow, tmp_path, "--compute", "none")["kinds"]


EVERY = """
barrier c=0
bcast c=0 p=1 n=40 e=4
reduce c=0 p=2 n=24 e=12
allreduce c=0 n=16 e=16
scan c=0 n=8 e=8
exscan c=0 n=8 e=2
gather c=0 p=0 n=7
scatter c=0 p=1 n=7
allgather c=0 n=7
alltoall c=0 n=8 e=8
reduce_scatter_block c=0 n=8 e=4
gatherv c=0 p=1 n=6 r=3*6
scatterv c=0 p=1 n=6 s=3*6
allgatherv c=0 n=6 r=3*6
alltoallv c=0 e=2 s=3*4 r=3*4
alltoallv c=0 s=3*4 r=3*4 i=1
reduce_scatter c=0 e=8 r=8,0,16
allreduce c=1 n=8 e=8
compute
"""
MAKING = """
comm_split c=0 m=2 o=0 k=0
comm_dup c=0 m=-1 o=0 k=0
cart_create c=2 m=3 o=0 k=0
barrier c=3
comm_create c=3 m=4 o=0 k=0
barrier c=4
comm_free c=2
comm_split c=0 m=2 o=0 k=0
allreduce c=2 n=8 e=8
"""


def test_every_kind_of_collective_is_made(program: Path, tmp_path: Path) -> None:
    blocking = replay(program, mix(EVERY, EVERY, EVERY, comms=((2, 0, 1),)), tmp_path)["kinds"]
    assert sum(one["calls"] for kind, one in blocking.items() if kind != "compute") == 18
    names = [line for line in EVERY.strip().splitlines() if not line.startswith("compute")]
    started = "\n".join(f"i{line} q={slot}" for slot, line in enumerate(names))
    started += f"\nwait q={','.join(map(str, range(len(names))))}"
    said = replay(program, mix(started, started, started, comms=((2, 0, 1),)), tmp_path)["kinds"]
    assert {kind.removeprefix("i") for kind in said} - {"wait", "compute"} == {line.split()[0] for line in names}


def test_communicators_are_made_as_they_were(program: Path, tmp_path: Path) -> None:
    world = (0, 1, 2)
    said = replay(program, mix(MAKING, MAKING, MAKING, comms=(world, world, world, world)), tmp_path)["kinds"]
    assert {kind: one["calls"] for kind, one in said.items() if kind.startswith(("comm_", "cart_"))} == {
        "comm_split": 2,
        "comm_dup": 1,
        "cart_create": 1,
        "comm_create": 1,
        "comm_free": 1,
    }


def test_a_replay_that_hangs_reports_where(program: Path, tmp_path: Path) -> None:
    mix_file.write(mix("barrier c=0\nrecv c=0 p=1 t=1 n=8", "barrier c=0"), tmp_path / "a.mix")
    done = run(program, tmp_path / "a.mix", "--timeout", "2", ranks=2)
    assert done.returncode == 75
    assert "rank 0 has been stuck for 2 s in call 2, recv at line 8 of the mix" in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("reprise-mix 1", "reprise-mix 9", ':1: "9" is not a number from 1 to 1'),
        ("reprise-mix 1", "nothing", ":1: this is not a mix: record one"),
        ("ranks 2", "ranks 3", ":2: recorded on 3 ranks, but started on 2: start the recorded number"),
        ("c=0", "c=1", '"1" is not a number from 0 to 0'),
        ("p=1", "p=2", "communicator 0 has only 2 ranks"),
        ("n=8", "n=-8", '"-8" is not a number'),
        ("n=8", "n=9 e=8", "9 bytes are not a multiple of an element"),
        ("n=8", "n=99999999936 e=64", "no memory for a message of"),
        ("t=1", "t=1 x=2", 'unknown key "x"'),
        ("send", "sned", 'unknown call "sned"'),
        ("loop 3", "loop 0", '"0" is not a number from 1'),
        ("comm 0 0-1\n", "", "a call before the communicators"),
        ("send c=0", "alltoallv s=2*8 r=2*8 c=0", "c= after counts"),
        ("n=8", "n=8 g=inf", "is not a time in microseconds"),
        ("n=8", "n=8 g=1e30", "is not a time in microseconds"),
        ("end\nrank 1", "rank 1", "a loop without an end"),
    ],
)
def test_a_damaged_mix_is_refused(program: Path, tmp_path: Path, before: str, after: str, said: str) -> None:
    path = tmp_path / "a.mix"
    mix_file.write(mix("send c=0 p=1 t=1 n=8\n" * 3, "recv c=0 p=0 t=1 n=8\n" * 3), path)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    done = run(program, path, ranks=2)
    assert done.returncode != 0
    assert said in done.stderr


def test_unknown_arguments_are_refused(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path / "a.mix", "--quick", ranks=1)
    assert done.returncode == 2 and "usage: reprise-replay" in done.stderr
