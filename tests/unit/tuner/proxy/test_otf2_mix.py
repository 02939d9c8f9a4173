# SPDX-License-Identifier: Apache-2.0
"""Test the conversion of an OTF2 archive to the calls of a mix, with warnings about missing data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy import otf2_mix
from reprise.tuner.proxy.mix import Mix, expand
from tests.unit.tuner.proxy.otf2_archives import Call, call, collective, write


def lines(mix: Mix, rank: int = 0) -> list[str]:
    return [one.text for one in expand(mix.programs[rank]) if one.text != "compute"]


def mix_of(path: Path, said: list[str] | None = None) -> Mix:
    return otf2_mix.mix_of(path, (said if said is not None else []).append)


def two(directory: Path, *calls: Call, said: list[str] | None = None) -> Mix:
    """Return a mix of two ranks that make the same calls."""
    return mix_of(write(directory, calls, calls), said)


def test_gaps_are_the_times_between_calls(tmp_path: Path) -> None:
    mix = two(tmp_path, collective("barrier", 0, -1, 0, 0), collective("allreduce", 0, -1, 8, 8))
    assert [(one.text, round(one.gap_us)) for one in expand(mix.programs[0])] == [
        ("barrier c=0", 10),
        ("allreduce c=0 n=8 e=8", 10),
        ("compute", 10),
    ]
    assert mix.source == "otf2" and mix.seconds == pytest.approx(50e-6)


def test_collectives_have_the_sizes_that_were_given_to_mpi(tmp_path: Path) -> None:
    mix = two(
        tmp_path,
        collective("bcast", 0, 1, 20, 20),
        collective("reduce", 0, 0, 16, 0),
        collective("allgather", 0, -1, 0, 24),  # in place
        collective("alltoall", 0, -1, 32, 32),
        collective("gather", 0, 1, 40, 99),  # rank 0 is not the root, so its receive count is arbitrary
        collective("scatter", 0, 1, 99, 48),
    )
    assert lines(mix) == [
        "bcast c=0 p=1 n=20",
        "reduce c=0 p=0 n=16 e=8",
        "allgather c=0 n=24",
        "alltoall c=0 n=32",
        "gather c=0 p=1 n=40",
        "scatter c=0 p=1 n=48",
    ]
    assert lines(mix, 1)[-1] == "scatter c=0 p=1 n=99"


def test_counts_of_other_ranks_are_taken_from_their_records(tmp_path: Path) -> None:
    def rank(own: int) -> list[Call]:
        part = 8 * (own + 1)
        return [
            collective("allgatherv", 0, -1, part, 48),
            collective("gatherv", 0, 1, part, 48 if own == 1 else 0),
            collective(
                "scatterv", 0, 0, 48 if own == 0 else 0, 0 if own == 0 else part
            ),  # the root's own part is in place (0 bytes received)
        ]

    said: list[str] = []
    mix = mix_of(write(tmp_path, rank(0), rank(1), rank(2)), said)
    assert lines(mix) == ["allgatherv c=0 n=8 r=8,16,24", "gatherv c=0 p=1 n=8", "scatterv c=0 p=0 n=8 s=8,16,24"]
    assert lines(mix, 1)[1:] == ["gatherv c=0 p=1 n=16 r=8,16,24", "scatterv c=0 p=0 n=16"]
    assert said == []


def test_counts_that_the_archive_only_sums_are_distributed_evenly_with_a_warning(tmp_path: Path) -> None:
    first = [collective("alltoallv", 0, -1, 24, 16), collective("reduce_scatter", 0, -1, 40, 40)]
    second = [collective("alltoallv", 0, -1, 8, 16), collective("reduce_scatter", 0, -1, 40, 40)]
    said: list[str] = []
    path = write(tmp_path, first, second)
    mix = mix_of(path, said)
    assert lines(mix) == ["alltoallv c=0 s=16,8 r=16,8", "reduce_scatter c=0 e=8 r=24,16"]
    assert lines(mix, 1)[0] == "alltoallv c=0 s=8,0 r=8,0", "rank 1 sends as much as rank 0 receives"
    sums = "with each rank's sum only, distributed evenly"
    assert said == [f"{path}: calls of {name} {sums}: 1" for name in ("MPI_Alltoallv", "MPI_Reduce_scatter")]


def test_communicators_are_identified_by_their_members(tmp_path: Path) -> None:
    def rank(own: int) -> list[Call]:
        split = [call("MPI_Comm_split")]
        inside = [collective("bcast", 1, 0, 8, 8), call("MPI_Comm_free")] if own != 1 else []
        return [*split, *inside, collective("barrier", 0, -1, 0, 0)]

    mix = mix_of(write(tmp_path, rank(0), rank(1), rank(2), comms=[(2, 0)]))
    assert list(mix.comms) == [(0, 1, 2), (2, 0)]
    assert lines(mix) == ["bcast c=1 p=0 n=8", "barrier c=0"] and lines(mix, 1) == ["barrier c=0"]
    gap = next(one.gap_us for one in expand(mix.programs[1]))
    assert gap == pytest.approx(20), "the time to make a communicator does not count as computation"


def test_messages_are_matched_as_they_were_received(tmp_path: Path) -> None:
    nobody = call("MPI_Send", ("mpi_send", 2**32 - 2, 0, 0, 0))
    first = [call("MPI_Ssend", ("mpi_send", 1, 0, 7, 64)), nobody]
    first += [call("MPI_Sendrecv", ("mpi_send", 1, 0, 1, 8), ("mpi_recv", 1, 0, 2, 16))]
    second = [call("MPI_Recv", ("mpi_recv", 0, 0, 7, 64))]
    second += [call("mpi_sendrecv_", ("mpi_send", 0, 0, 2, 16), ("mpi_recv", 0, 0, 1, 8))]
    mix = mix_of(write(tmp_path, first, second))
    assert lines(mix) == ["ssend c=0 p=1 t=7 n=64", "sendrecv c=0 p=1 t=1 n=8 P=1 T=2 N=16"]
    assert lines(mix, 1) == ["recv c=0 p=0 t=7 n=64", "sendrecv c=0 p=0 t=2 n=16 P=0 T=1 N=8"]


def test_messages_complete_where_the_archive_says(tmp_path: Path) -> None:
    def rank(own: int) -> list[Call]:
        other = 1 - own
        return [
            call("MPI_Irecv", ("mpi_irecv_request", 5)),
            call("MPI_Irecv", ("mpi_irecv_request", 6)),
            call("MPI_Isend", ("mpi_isend", other, 0, 3, 8, 7)),
            call("MPI_Test"),
            call("MPI_Waitall", ("mpi_irecv", other, 0, 3, 8, 5), ("mpi_isend_complete", 7)),
            call("MPI_Wait", ("mpi_request_cancelled", 6)),
            call("MPI_Startall", ("mpi_isend", other, 0, 4, 8, 7), ("mpi_irecv_request", 5)),
            call("MPI_Waitall", ("mpi_irecv", other, 0, 4, 8, 5), ("mpi_isend_complete", 7)),
        ]

    assert lines(mix_of(write(tmp_path, rank(0), rank(1)))) == [
        "irecv c=0 p=1 t=3 n=8 q=0",
        "isend c=0 p=1 t=3 n=8 q=1",
        "wait q=0,1",
        "isend c=0 p=1 t=4 n=8 u=1 q=0",
        "irecv c=0 p=1 t=4 n=8 u=1 q=1",
        "wait q=0,1",
    ]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (
            [call("MPI_Irecv", ("mpi_irecv_request", 5)), call("MPI_Wait")],
            "no completion of MPI_Irecv .EZTrace 2.0",
        ),
        ([call("MPI_Isend", ("mpi_isend", 0, 0, 3, 8, 7)), call("MPI_Wait")] * 2, "no completion of MPI_Isend"),
        ([call("MPI_Sendrecv")], "rank 0 of the trace: no record of the data that MPI_Sendrecv"),
        ([call("MPI_Iallreduce")], "no record of the data that MPI_Iallreduce"),
        ([call("MPI_Scan")], "no record of the data that MPI_Scan"),
        ([call("MPI_Wait", ("mpi_isend_complete", 9))], "request 9, which was not started"),
        ([collective("bcast", 0, 7, 8, 8)], "root 7 among 2 ranks"),
        ([call("main", ("mpi_send", 1, 0, 1, 8))], "send outside of an MPI function"),
    ],
)
def test_calls_that_cannot_be_replayed_are_refused(tmp_path: Path, calls: Sequence[Call], said: str) -> None:
    with pytest.raises(ProxyError, match=said) as refused:
        two(tmp_path, *calls)
    assert "\n" not in str(refused.value) and "traces.otf2" in str(refused.value)


def test_one_sided_communication_is_left_out(tmp_path: Path) -> None:
    mix = two(tmp_path, call("MPI_Put"), call("MPI_Get_count"), collective("barrier", 0, -1, 0, 0))
    assert mix.left_out == {"put": 2} and lines(mix) == ["barrier c=0"]


def test_ranks_that_do_not_meet_are_refused(tmp_path: Path) -> None:
    barrier = collective("barrier", 0, -1, 0, 0)
    with pytest.raises(ProxyError, match="rank 1 waits forever in `barrier c=0`"):
        mix_of(write(tmp_path, [barrier], [barrier, barrier]))
    (tmp_path / "v").mkdir()
    with pytest.raises(ProxyError, match="ranks of communicator 0 of the trace did not make the same calls"):
        mix_of(write(tmp_path / "v", [collective("allgatherv", 0, -1, 8, 16)], [barrier]))


BARRIER = [collective("barrier", 0, -1, 0, 0)]


@pytest.mark.parametrize(
    ("ranks", "thread", "said"),
    [
        ([], [], "no MPI rank"),
        ([[], []], [], "no rank calls MPI"),
        ([BARRIER, BARRIER], BARRIER, "calls MPI: a replay has one thread per rank"),
    ],
)
def test_programs_that_a_replay_cannot_imitate_are_refused(
    tmp_path: Path, ranks: list[list[Call]], thread: list[Call], said: str
) -> None:
    with pytest.raises(ProxyError, match=said):
        mix_of(write(tmp_path, *ranks, thread=thread))


def test_an_archive_of_a_recorder_that_counts_bytes_differently_is_refused(tmp_path: Path) -> None:
    assert mix_of(write(tmp_path, BARRIER, BARRIER, creator="EZTrace 2.1")).calls
    (tmp_path / "other").mkdir()
    with pytest.raises(ProxyError, match=r"recorded by 'Score-P 8\.4', which counts the bytes"):
        mix_of(write(tmp_path / "other", BARRIER, BARRIER, creator="Score-P 8.4"))


def test_a_damaged_archive_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls = [collective("allreduce", 0, -1, 8, 8)] * 50
    path = write(tmp_path, calls, calls)
    events = path.parent / "traces/0.evt"
    whole = events.read_bytes()
    for size in (10, len(whole) // 2, len(whole) - 1):
        events.write_bytes(whole[:size])
        with pytest.raises(ProxyError, match=r"traces\.otf2: 0\.evt is truncated"):
            mix_of(path)
    events.unlink()
    with pytest.raises(ProxyError, match="rank 0 has no events"):
        mix_of(path)
    for broken, said in ((path.with_suffix(".def"), "definitions are missing"), (path, "not an OTF2 archive")):
        broken.write_bytes(broken.read_bytes()[:40])
        with pytest.raises(ProxyError, match=said):
            mix_of(path)
    assert capfd.readouterr() == ("", "")


def test_more_calls_than_the_memory_limit_allows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otf2_mix, "CALLS_MAX", 5)
    with pytest.raises(ProxyError, match="more than 5 calls"):
        two(tmp_path, *[collective("barrier", 0, -1, 0, 0)] * 4)


def test_without_the_otf2_library_the_error_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_otf2", None)
    with pytest.raises(ProxyError, match=r"pip install 'reprise\[otf2\]'"):
        mix_of(tmp_path / "any.otf2")
