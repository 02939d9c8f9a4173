# SPDX-License-Identifier: Apache-2.0
"""Test that programs that a wrapper of MPI or libc might break behave the same with and without the witness."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from reprise.tuner.profile.process_report import LIBRARY, MpiReport, read_reports
from reprise.tuner.proxy.mix import Call
from reprise.tuner.proxy.trace_mix import mix_of
from tests.once import built_once
from tests.places import ROOT

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
WITNESS = ROOT / "tuner/programs/witness"
SHARED = sorted((ROOT / "accelerators").glob("*.*"))  # sources that all preloaded libraries share
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def build(directory: Path) -> None:
    subprocess.run(["make", "-s", "-C", WITNESS, f"BUILD={directory}"], check=True)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["mpicc", *flags, "-pthread", HERE / "odd_calls.c", "-o", directory / "odd_calls"], check=True)
    made: list[str | Path] = ["-shared", "-fPIC", "-o", directory / "odd_sizes.so", "-ldl"]
    subprocess.run(["mpicc", *flags, HERE / "odd_sizes.c", *made], check=True)
    # With -rdynamic, the program's own fstatfs also replaces libc's fstatfs in the witness.
    made = ["-o", directory / "odd_ends", "-pthread", "-rdynamic"]
    subprocess.run(["cc", *flags, HERE / "odd_ends.c", *made], check=True)
    library = directory / "libmpich.so.12"
    subprocess.run(["cc", "-shared", "-fPIC", HERE / "odd_library.c", "-o", library], check=True)
    begins = (
        "int MPI_Init(void *, void *), MPI_Finalize(void); int main(void) { return MPI_Init(0, 0) + MPI_Finalize(); }"
    )
    made = ["-o", directory / "other_mpi", library, f"-Wl,-rpath,{directory}"]
    subprocess.run(["cc", "-xc", "-", "-xnone", *made], input=begins, text=True, check=True)


@pytest.fixture(scope="module")
def programs() -> Path:
    sources = [*WITNESS.glob("*.[ch]"), WITNESS / "mpi_calls.def", WITNESS / "Makefile", *SHARED, *HERE.glob("odd_*.c")]
    return built_once("odd_programs", "mpicc", sources, build)


class Pair:
    """Runs commands without and with the witness; `place` has directories for profile reports and event records."""

    def __init__(self, programs: Path, place: Path) -> None:
        self.place = place
        self._witness = programs / LIBRARY
        self._clean = {name: value for name, value in os.environ.items() if not name.startswith(("REPRISE", "SLURM_"))}

    def run(
        self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, behind: Sequence[Path] = ()
    ) -> Sequence[tuple[int, list[str]]]:
        """Run a command without and with the witness, and return both exit statuses and sorted output lines.

        Libraries in `behind` are preloaded after the witness.
        """
        given = {**self._clean, **MPI, **(env or {})}
        for name in ("reports", "traces"):
            (self.place / name).mkdir(exist_ok=True)
        asked = {
            "LD_PRELOAD": ":".join(map(str, [self._witness, *behind])),
            "REPRISE_PROFILE": str(self.place / "reports"),
            "REPRISE_WITNESS_TRACE": str(self.place / "traces"),
        }
        return [self._once(argv, given), self._once(argv, {**given, **asked})]

    def _once(self, argv: Sequence[str | Path], env: Mapping[str, str]) -> tuple[int, list[str]]:
        done = subprocess.run(
            [*map(str, argv)], env=dict(env), cwd=self.place, capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, sorted(done.stdout.splitlines())

    def ranks(self) -> dict[int, MpiReport]:
        return {one.mpi.rank: one.mpi for one in read_reports(self.place / "reports") if one.mpi}


@pytest.fixture
def pair(programs: Path, tmp_path: Path) -> Pair:
    return Pair(programs, tmp_path)


def mpirun(programs: Path, ranks: int, *words: str) -> list[str | Path]:
    return ["mpirun", "--oversubscribe", "-np", str(ranks), programs / "odd_calls", *words]


@pytest.mark.parametrize(("word", "ranks", "status"), [("groups", 4, 0), ("many", 2, 0), ("errors", 1, 0)])
def test_arguments_that_are_not_significant_are_not_read(
    programs: Path, pair: Pair, word: str, ranks: int, status: int
) -> None:
    alone, witnessed = pair.run(mpirun(programs, ranks, word))
    assert alone[0] == status and alone[1]
    assert witnessed == alone


def test_an_error_handler_that_aborts_does_not_hang(programs: Path, pair: Pair) -> None:
    alone, witnessed = pair.run(mpirun(programs, 1, "aborts"))
    assert witnessed == alone == (7, [])


def test_calls_of_threads_are_all_counted(programs: Path, pair: Pair) -> None:
    alone, witnessed = pair.run(mpirun(programs, 1, "threads"), {"ODD_SIZES": "slow"}, [programs / "odd_sizes.so"])
    assert witnessed == alone == (0, [])
    found = pair.ranks()[0]
    assert found.threads and (found.lost, found.kinds["isend"][0], found.kinds["recv"][0]) == (0, 100, 100)


def test_an_abort_in_a_signal_handler_while_the_witness_counts_does_not_hang(programs: Path, pair: Pair) -> None:
    _, (status, _) = pair.run(mpirun(programs, 1, "threads"), {"ODD_SIZES": "abort"}, [programs / "odd_sizes.so"])
    assert status == 9


@pytest.mark.parametrize("word", ["free", "test"])
def test_calls_in_a_signal_handler_while_the_witness_counts_do_not_hang(programs: Path, pair: Pair, word: str) -> None:
    """The witness cannot count the handler's calls, such as freeing a request, and therefore stops counting."""
    alone, witnessed = pair.run(mpirun(programs, 1, "threads"), {"ODD_SIZES": word}, [programs / "odd_sizes.so"])
    assert witnessed == alone == (0, [])
    found = pair.ranks()[0]
    assert found.lost > 0 and found.kinds["isend"][0] < 100


def test_the_shares_of_a_wait_add_up_where_requests_have_one_handle(programs: Path, pair: Pair) -> None:
    pair.run(mpirun(programs, 2, "shares"))
    for mpi in pair.ranks().values():
        spent = sum(mpi.kinds[kind][1] for kind in ("isend", "irecv", "send", "waitall", "recv"))
        assert sum(one.ns for one in mpi.messages) == pytest.approx(spent, abs=1000), (
            "each share is rounded down to a nanosecond"
        )


def test_a_receive_from_any_source_leaves_messages_with_other_tags_numbered(programs: Path, pair: Pair) -> None:
    pair.run(["mpirun", "--oversubscribe", "-np", "2", programs / "odd_calls", "wildcards"])
    sampled = {rank: [one.key for one in mpi.message_samples.calls] for rank, mpi in pair.ranks().items()}
    both = set(sampled[0]) & set(sampled[1])
    assert len(both) == 50, "20 messages from rank 1 to rank 0, and 30 in the other direction"


def test_a_communicator_made_by_two_groups_has_the_same_key_on_all_ranks(programs: Path, pair: Pair) -> None:
    pair.run(mpirun(programs, 4, "groups"))
    calls = [
        {call.key for call in mpi.collective_samples.calls if call.kind == "allreduce"} for mpi in pair.ranks().values()
    ]
    assert len(calls) == 4 and calls[0] and all(one == calls[0] for one in calls)


@pytest.mark.parametrize(
    ("word", "status", "output"),
    [
        ("stack", 42, []),
        ("thread", 42, []),
        ("vectors", 0, ["6 6 -1 1 -1 1"]),
        ("limit", 0, []),
        ("handler", 0, ["1"]),
    ],
)
def test_a_program_behaves_as_without_the_witness(
    programs: Path, pair: Pair, word: str, status: int, output: list[str]
) -> None:
    alone, witnessed = pair.run([programs / "odd_ends", word])
    assert witnessed == alone == (status, output)


def test_vectored_writes_are_counted_by_the_bytes_moved(programs: Path, pair: Pair) -> None:
    pair.run([programs / "odd_ends", "vectors"])
    (report,) = read_reports(pair.place / "reports")
    written = [(one.sequential, one.calls, one.bytes) for one in report.files if one.op == "write"]
    assert sorted(written) == [(True, 1, 0), (True, 2, 12)]


def test_a_program_with_another_mpi_than_the_witnesss_runs_unchanged(programs: Path, pair: Pair) -> None:
    alone, witnessed = pair.run([programs / "other_mpi"])
    assert witnessed == alone == (0, [])


def test_messages_taken_by_a_matched_probe_are_counted_as_received(programs: Path, pair: Pair) -> None:
    alone, witnessed = pair.run(mpirun(programs, 2, "matched"))
    assert witnessed == alone == (0, ["1 of 3 from 1", "tag 9"])
    found = pair.ranks()[0].messages
    assert sorted((one.peer, one.calls, one.sent, one.bytes) for one in found if one.calls) == [
        (1, 1, 0, 12),
        (1, 1, 0, 16),
    ]
    mix = mix_of(pair.place / "traces")
    assert not mix.left_out
    assert [item.text for item in mix.programs[0] if isinstance(item, Call)][:3] == [
        "recv c=0 p=1 t=8 n=12",
        "irecv c=0 p=1 t=9 n=16 q=0",
        "wait q=0",
    ]


def test_a_program_that_polls_fills_no_disk(programs: Path, pair: Pair) -> None:
    pair.run(mpirun(programs, 1, "polls"))
    (trace,) = (pair.place / "traces").iterdir()
    # The trace would have 8 million bytes if every call were recorded; the limit leaves room for a busy machine
    assert trace.stat().st_size < 1_000_000
    assert [item.text for item in mix_of(pair.place / "traces").programs[0] if isinstance(item, Call)][:3] == [
        "irecv c=0 p=0 t=1 n=4 q=0",
        "send c=0 p=0 t=1 n=4",
        "wait q=0",
    ]
