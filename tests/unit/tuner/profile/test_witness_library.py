# SPDX-License-Identifier: Apache-2.0
"""Test the witness in programs with known calls and bytes: MPI programs in C and Fortran, and one without MPI."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from reprise.tuner.profile.merge import merge
from reprise.tuner.profile.process_report import LIBRARY, MpiReport, ProcessReport, read_reports
from reprise.tuner.profile.waiting import measure
from tests.once import built_once
from tests.places import ROOT, UNIT

pytestmark = pytest.mark.slow

WITNESS = ROOT / "tuner/programs/witness"
SHARED = sorted((ROOT / "accelerators").glob("*.*"))  # sources that all preloaded libraries share
RANKS = 4
LATE_S = 1.0  # s; much longer than a busy machine delays a rank
FORTRAN = {"known_f08": "known_f08.f90", "known_mpif": "known_mpif.f90"}


def build(directory: Path) -> None:
    subprocess.run(["make", "-s", "-C", WITNESS, f"BUILD={directory}"], check=True)
    flags = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(["mpicc", "-std=gnu11", *flags, UNIT / "known_calls.c", "-o", directory / "known_calls"], check=True)
    subprocess.run(["cc", "-pthread", *flags, UNIT / "known_files.c", "-o", directory / "known_files"], check=True)
    for program, source in FORTRAN.items():
        if shutil.which("gfortran"):
            mixed = ["-fallow-argument-mismatch"]  # in mpif.h, MPI_IN_PLACE is an integer, unlike the buffers
            subprocess.run(["mpifort", *mixed, UNIT / source, "-o", directory / program], check=True)


@pytest.fixture(scope="module")
def programs() -> Path:
    sources = [*WITNESS.glob("*.[ch]"), WITNESS / "mpi_calls.def", WITNESS / "Makefile", *SHARED, *UNIT.glob("known_*")]
    return built_once("witness", "mpicc", sources, build)


def environment(programs: Path, place: Path, trace: Path | None = None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("REPRISE", "OMPI_", "SLURM_"))}
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    place.mkdir(exist_ok=True)
    asked = {"REPRISE_PROFILE": str(place)} | ({"REPRISE_WITNESS_TRACE": str(trace)} if trace else {})
    return {**clean, **allowed, **asked, "LD_PRELOAD": str(programs / LIBRARY)}


def mpirun(programs: Path, place: Path, *words: str, trace: Path | None = None) -> subprocess.CompletedProcess[str]:
    argv = ["mpirun", "--oversubscribe", "-np", str(RANKS), *words]
    return subprocess.run(
        argv, env=environment(programs, place, trace), capture_output=True, text=True, check=False, timeout=120
    )


def by_rank(place: Path) -> dict[int, tuple[ProcessReport, MpiReport]]:
    return {one.mpi.rank: (one, one.mpi) for one in read_reports(place) if one.mpi}


@pytest.fixture(scope="module")
def known(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the program known_calls, and return the directory with its `reports` and, in `trace`, its event records."""
    place = tmp_path_factory.mktemp("known")
    (place / "trace").mkdir()
    done = mpirun(
        programs, place / "reports", str(programs / "known_calls"), "end", str(place / "out"), trace=place / "trace"
    )
    assert done.returncode == 0, done.stderr
    return place


def test_collectives_are_counted_by_kind_communicator_and_size(known: Path) -> None:
    ranks = by_rank(known / "reports")
    assert sorted(ranks) == list(range(RANKS))
    for _, mpi in ranks.values():
        sizes = {one.shape: one.size for one in mpi.shapes}
        found = {
            (one.kind, sizes[one.shape], one.size_class): (one.calls, one.bytes, one.largest) for one in mpi.collectives
        }
        assert found == {
            ("allreduce", 4, 11): (11, 11 * 1024, 1024),
            ("bcast", 4, 13): (5, 40000, 8000),
            ("alltoall", 4, 9): (3, 1200, 400),
            ("alltoallv", 4, 10): (1, 800, 320),
            ("gather", 4, 4): (1, 8, 8),
            ("barrier", 2, 0): (7, 0, 0),
            ("barrier", 4, 0): (2, 0, 0),
            ("iallreduce", 2, 8): (1, 128, 128),
            ("neighbor_alltoall", 4, 8): (2, 256, 128),
        }
        assert all(one.ns > 0 for one in mpi.collectives) and mpi.lost == 0


def test_messages_are_counted_by_peer_and_size(known: Path) -> None:
    for rank, (_, mpi) in by_rank(known / "reports").items():
        found = {(one.peer, one.size_class): (one.calls, one.sent, one.bytes) for one in mpi.messages if one.calls}
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        expected = {
            (right, 16): (20, 20, 800_000),
            (left, 16): (20, 0, 800_000),
            (right, 3): (4, 4, 16),
            (left, 3): (4, 0, 16),
            (right, 5): (6, 6, 144),
            (left, 5): (6, 0, 144),
        }
        if rank < 2:
            expected[1 - rank, 7] = (1, 1 - rank, 80)
        assert found == expected


def test_mpi_io_is_distinguished_from_the_file_operations_below_it(known: Path) -> None:
    for one, mpi in by_rank(known / "reports").values():
        found = {(files.op, files.size_class): (files.calls, files.bytes) for files in mpi.mpi_files}
        assert found == {("write", 13): (1, 8000), ("meta", 0): (2, 0)}
        assert not [files for files in one.files if files.op == "write" and not files.mpi]
    below = [files for one, _ in by_rank(known / "reports").values() for files in one.files if files.op == "write"]
    assert sum(files.bytes for files in below) >= RANKS * 8000


def test_early_ranks_waited_for_the_late_rank(known: Path) -> None:
    reports = [one for one, _ in by_rank(known / "reports").values()]
    waiting, shifts = measure(reports)
    assert shifts == {}
    barrier, messages = {}, {}
    for one, waited in zip(reports, waiting, strict=True):
        assert one.mpi
        spent = sum(calls.ns for calls in one.mpi.collectives if calls.kind == "barrier") / 1e9
        barrier[one.mpi.rank] = spent * waited.shares["barrier"]
        messages[one.mpi.rank] = sum(calls.ns for calls in one.mpi.messages) / 1e9 * waited.shares["p2p"]
    assert min(barrier[rank] for rank in range(1, RANKS)) > max(0.9 * LATE_S, barrier[0])
    assert messages[1] > 0.9 * LATE_S
    assert merge(reports).slowest.rank == 0


@pytest.mark.parametrize("program", FORTRAN)
def test_fortran_is_counted_once(programs: Path, tmp_path: Path, program: str) -> None:
    if not (programs / program).exists():
        pytest.skip("gfortran is missing")
    done = mpirun(programs, tmp_path / "reports", str(programs / program))
    assert done.returncode == 0, done.stderr
    ranks = by_rank(tmp_path / "reports")
    assert sorted(ranks) == list(range(RANKS))
    for rank, (_, mpi) in ranks.items():
        assert [(one.kind, one.calls, one.bytes) for one in mpi.collectives] == [("allreduce", 7, 5600)]
        found = {(one.peer, one.calls, one.sent, one.bytes) for one in mpi.messages if one.calls}
        assert found == {((rank + 1) % RANKS, 1, 1, 4000), ((rank - 1) % RANKS, 1, 0, 4000)}
        assert mpi.kinds["comm_dup"][0] == 1 and len(mpi.collective_samples.calls) == 7
    keys = [{call.key for call in mpi.collective_samples.calls} for _, mpi in ranks.values()]
    assert all(one == keys[0] for one in keys)  # all ranks give a new communicator the same key


def test_ranks_of_one_launch_report_the_same_namespace(programs: Path, known: Path, tmp_path: Path) -> None:
    done = mpirun(programs, tmp_path / "reports", str(programs / "known_calls"), "end", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    found = [
        {one.environment.get("PMIX_NAMESPACE", "") for one, _ in by_rank(place / "reports").values()}
        for place in (known, tmp_path)
    ]
    assert len(found[0]) == len(found[1]) == 1 and all(map(any, found)) and found[0] != found[1]


UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]


@pytest.mark.parametrize(("options", "loads"), [(UCX, True), (["--mca", "pml", "ob1"], False)])
def test_ucx_is_reported_as_loaded_if_messages_go_through_it(
    programs: Path, tmp_path: Path, options: list[str], loads: bool
) -> None:
    """The last report must name UCX although Open MPI unloads it in MPI_Finalize, before that report is written."""
    done = mpirun(programs, tmp_path, *options, str(programs / "known_calls"), "end", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    for one, mpi in by_rank(tmp_path).values():
        assert mpi.kinds["finalize"][1] > 0, "the last report"
        assert any(name.startswith("libucp") for name in one.libraries) == loads
        assert len(set(one.libraries)) == len(one.libraries)


def test_an_aborted_program_leaves_a_report_of_its_calls_so_far(programs: Path, tmp_path: Path) -> None:
    done = mpirun(programs, tmp_path / "reports", str(programs / "known_calls"), "abort")
    assert done.returncode == 3
    assert by_rank(tmp_path / "reports")[1][1].kinds["abort"][0] == 1


def run(programs: Path, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=environment(programs, place), capture_output=True, text=True, check=False, timeout=60
    )


def test_reads_and_writes_are_counted_by_size_and_order(programs: Path, tmp_path: Path) -> None:
    done = run(programs, tmp_path / "reports", str(programs / "known_files"), str(tmp_path / "data"))
    assert done.returncode == 0, done
    child, parent = sorted(read_reports(tmp_path / "reports"), key=lambda one: one.wall)
    found = {(one.op, one.sequential, one.size_class): (one.calls, one.bytes) for one in parent.files}
    assert found == {
        ("write", True, 21): (1, 1 << 20),
        ("read", False, 13): (256, 1 << 20),  # pread, backwards
        # 256 by the second thread, and 256 by stdio, because the main thread reads single bytes from a stream
        ("read", True, 13): (512, 2 << 20),
    }
    assert parent.meta["open"][0] == 3 and parent.meta["close"][0] == 3 and parent.meta["stat"][0] == 1
    assert child.parent == parent.pid and child.mpi is None
    assert [(one.op, one.calls) for one in child.files] == [("read", 256)]  # the child reports only its own reads


def test_large_files_that_were_there_before_they_are_read_are_named(programs: Path, tmp_path: Path) -> None:
    """Small files and files that are only written to are omitted. A file's name may contain any bytes."""
    place = tmp_path / "reports"
    names = ['large " \\ \xe9\n', "small", "written"]
    sizes = [1 << 20, (1 << 20) - 1, 1 << 20]
    for name, size in zip(names, sizes, strict=True):
        (tmp_path / name).write_bytes(b"\0" * size)
    odd = os.fsencode(tmp_path) + b"/\xff"
    Path(os.fsdecode(odd)).write_bytes(b"\0" * (2 << 20))
    script = (
        "import os, sys, time\n"
        "for path in sys.argv[1:3] + sys.argv[4:5]:\n"
        "    for _ in range(2):\n"
        "        fd = os.open(path, os.O_RDONLY); os.read(fd, 10); os.close(fd)\n"
        "fd = os.open(sys.argv[3], os.O_WRONLY); os.write(fd, b'x'); os.close(fd); time.sleep(0.05)\n"
    )
    paths = [*(str(tmp_path / name) for name in names), os.fsdecode(odd)]
    done = run(programs, place, sys.executable, "-c", script, *paths)
    assert done.returncode == 0, done.stderr
    found = {one.path: one.bytes for one in merge(read_reports(place)).inputs if str(tmp_path) in one.path}
    assert found == {str(tmp_path / names[0]): 1 << 20, os.fsdecode(odd): 2 << 20}


def test_a_directory_that_is_full_gets_reports_of_mpi_programs_only(programs: Path, tmp_path: Path) -> None:
    place = tmp_path / "reports"
    assert run(programs, place, "sleep", "0.05").returncode == 0
    for number in range(12_000):
        (place / f"{number:0>250}").touch()
    if place.stat().st_size <= 2 << 20:
        pytest.skip("on this file system, directories do not grow with their entries")
    assert run(programs, place, "sleep", "0.05").returncode == 0
    assert len(read_reports(place)) == 1
    done = mpirun(programs, place, str(programs / "known_calls"), "end", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert sorted(by_rank(place)) == [*range(RANKS)]


def test_a_program_behaves_as_without_the_witness(programs: Path, tmp_path: Path) -> None:
    """The cases are exec, shells, Python with child processes, a missing report directory, and no profiling."""
    done = run(programs, tmp_path / "reports", str(programs / "known_files"), str(tmp_path / "data"), "exec")
    assert (done.returncode, done.stdout, done.stderr) == (0, "as it was\n", "")
    script = "import multiprocessing as m\nwith m.Pool(2) as p:\n  print(sum(p.map(abs, [-1, 2]))); p.close(); p.join()"
    shell = f'x=$(printf %s "$(cat "$0")"); echo "$x" | {sys.executable}; exit 5'
    (tmp_path / "script").write_text(script)
    done = run(programs, tmp_path / "reports", "bash", "-c", shell, str(tmp_path / "script"))
    assert (done.returncode, done.stdout, done.stderr) == (5, "3\n", "")
    done = run(programs, tmp_path / "reports", "env", "REPRISE_PROFILE=/nowhere", "sh", "-c", "exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "")
    done = run(programs, tmp_path / "reports", "env", "-u", "REPRISE_PROFILE", "sh", "-c", "exit 6")
    assert (done.returncode, done.stdout, done.stderr) == (6, "", "")
    assert not list(tmp_path.rglob("*.part"))


EVENT = struct.Struct("<QQQQIiiiiIIIHHI")
HEADER = struct.Struct("<8sIIIiiI64s")


class Event(NamedTuple):
    """An event as in trace_format.h, except that `kind` is the kind's name."""

    enter: int
    leave: int
    send_bytes: int
    recv_bytes: int
    comm: int
    peer: int
    tag: int
    source: int
    recv_tag: int
    request: int
    value_count: int
    send_counts: int
    kind: str
    thread: int
    type_size: int
    values: tuple[int, ...]


def events(path: Path) -> list[Event]:
    data = path.read_bytes()
    magic, version, at, kinds, rank, ranks, _, _ = HEADER.unpack_from(data)
    assert magic == b"RPRTRACE" and version == 2 and path.name.startswith(f"{rank}.") and ranks == RANKS
    names = [data[at + 32 * kind :][:32].rstrip(b"\0").decode() for kind in range(kinds)]
    at += 32 * kinds
    found = []
    while at < len(data):
        fields = EVENT.unpack_from(data, at)
        at += EVENT.size
        values = struct.unpack_from(f"<{fields[10]}q", data, at)
        at += 8 * len(values)
        found.append(Event._make([*fields[:12], names[fields[12]], *fields[13:], values]))
    return found


@pytest.fixture(scope="module")
def traces(known: Path) -> Mapping[int, list[Event]]:
    return {int(path.name.split(".")[0]): events(path) for path in (known / "trace").iterdir()}


def test_the_event_record_has_every_call_in_order(traces: Mapping[int, list[Event]]) -> None:
    assert sorted(traces) == list(range(RANKS))
    for rank, found in traces.items():
        kinds = Counter(one.kind for one in found)
        assert kinds["allreduce"] == 11 and kinds["isend"] == kinds["irecv"] == 20 and kinds["waitall"] == 26
        assert kinds["startall"] == 6 and kinds["send"] == (2 if rank == 0 else 0) and kinds["comm_free"] == 2
        assert found[-1].kind == "finalize" and all(one.enter <= one.leave for one in found)
        assert [one.leave for one in found] == sorted(one.leave for one in found)
        defined = {one.comm: one for one in found if one.kind == "comm_define"}
        assert defined[1].values == (0, 1, 2, 3) and defined[1].peer == rank
        (half, ring) = [one for comm, one in defined.items() if comm > 2]
        assert ring.values == (0, 1, 2, 3)
        assert half.values == (rank % 2, rank % 2 + 2) and half.peer == rank // 2
        assert {one.comm for one in found if one.kind == "iallreduce"} == {half.comm}
    ids = [
        [one.send_bytes for one in found if one.kind == "comm_define" and one.comm > 2]
        for _, found in sorted(traces.items())
    ]
    assert ids[0] == ids[2] != ids[1] == ids[3] and ids[0][1] == ids[1][1]


def test_the_event_record_follows_requests_and_counts(traces: Mapping[int, list[Event]]) -> None:
    for rank, found in traces.items():
        started = [one.request for one in found if one.kind in ("isend", "irecv")]
        assert len(set(started)) == 40 and 0 not in started
        completed = [value for one in found if one.kind == "waitall" for value in one.values]
        assert sorted(completed[:40]) == sorted(started)
        (persistent,) = {one.values for one in found if one.kind == "startall"}
        assert set(persistent) == {one.request for one in found if one.kind in ("send_init", "recv_init")}
        (both,) = [one for one in found if one.kind == "alltoallv"]
        mine = (rank + 1) * 80
        assert both.values == (80, 160, 240, 320, mine, mine, mine, mine) and both.send_counts == 4
        (exchange, *_) = [one for one in found if one.kind == "sendrecv"]
        assert (exchange.peer, exchange.source, exchange.tag, exchange.recv_tag) == (
            (rank + 1) % RANKS,
            (rank - 1) % RANKS,
            9,
            9,
        )
        if rank == 0:
            assert [one.peer for one in found if one.kind == "send"] == [-3, 1]
