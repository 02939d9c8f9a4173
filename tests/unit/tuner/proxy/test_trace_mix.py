# SPDX-License-Identifier: Apache-2.0
"""Test the conversion of the witness's events to the calls of a mix, one call per event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix import Mix, expand
from reprise.tuner.proxy.trace_mix import mix_of
from reprise.tuner.proxy.witness_trace import ANY, HEADER, NULL, TRACE_VERSION
from tests.unit.tuner.proxy.traces import event, write


def lines(mix: Mix, rank: int = 0) -> list[str]:
    return [call.text for call in expand(mix.programs[rank])]


def two(directory: Path, *events: dict[str, Any]) -> Mix:
    """Return a mix of two ranks that make the same calls."""
    return mix_of(write(directory, list(events), list(events)))


def test_gaps_are_the_times_between_calls(tmp_path: Path) -> None:
    mix = two(tmp_path, event("barrier", 100, 50), event("barrier", 400, 100), event("barrier", 500, 10))
    # The gaps of the three equal calls, 0, 250 and 0 us, are replaced by their mean.
    assert {(call.text, round(call.gap_us)) for call in expand(mix.programs[0])} == {("barrier c=0", 83)}
    assert mix.seconds == pytest.approx(410e-6)


def test_collectives_have_their_sizes_and_elements(tmp_path: Path) -> None:
    mix = two(
        tmp_path,
        event("bcast", 0, send_bytes=80, peer=1, type_size=8),
        event("allreduce", 100, send_bytes=16, type_size=16),
        event("iallreduce", 200, send_bytes=12, type_size=8, request=7),
        event("wait", 300, 10, 7),
        event("gather", 400, send_bytes=4, peer=0, type_size=4),
        event("alltoall", 500, send_bytes=100, type_size=1),
        event("reduce_scatter", 600, 10, 8, 16, send_counts=2, type_size=8),
    )
    assert lines(mix) == [
        "bcast c=0 p=1 n=80 e=8",
        "allreduce c=0 n=16 e=16",
        "iallreduce c=0 n=12 q=0",  # no e=, because 12 bytes is not a multiple of the element's size
        "wait q=0",
        "gather c=0 p=0 n=4 e=4",
        "alltoall c=0 n=100",
        "reduce_scatter c=0 e=8 r=8,16",
    ]


def test_counts_of_each_rank_are_kept(tmp_path: Path) -> None:
    first = [
        event("alltoallv", 0, 10, 8, 16, 24, 8, send_counts=2, type_size=8),
        event("allgatherv", 100, 10, 5, 7, type_size=1),
        event("gatherv", 200, 10, 3, 4, peer=0),
        event("scatterv", 300, 10, 6, 9, peer=0, send_counts=2),
        event("alltoallv", 400, 10, 5, 5, send_counts=0),
    ]
    second = [
        event("alltoallv", 0, 10, 24, 8, 16, 8, send_counts=2, type_size=8),
        event("allgatherv", 100, 10, 5, 7, type_size=1),
        event("gatherv", 200, send_bytes=4, peer=0),
        event("scatterv", 300, recv_bytes=9, peer=0),
        event("alltoallv", 400, 10, 5, 5, send_counts=0),
    ]
    mix = mix_of(write(tmp_path, first, second))
    assert lines(mix) == [
        "alltoallv c=0 e=8 s=8,16 r=24,8",
        "allgatherv c=0 n=5 r=5,7",
        "gatherv c=0 p=0 n=3 r=3,4",
        "scatterv c=0 p=0 n=6 s=6,9",
        "alltoallv c=0 s=2*5 r=2*5 i=1",
    ]
    assert lines(mix, 1)[1:4] == ["allgatherv c=0 n=7 r=5,7", "gatherv c=0 p=0 n=4", "scatterv c=0 p=0 n=9"]


def test_communicators_are_identified_by_their_members(tmp_path: Path) -> None:
    # The ranks are split into the communicators {1, 0} and {2}, which both have number 3 in the trace. Number 4 is an
    # intercommunicator between these two groups; each rank records the group to which the rank does not belong.
    def rank(own: int) -> list[dict[str, Any]]:
        inside = (1, 0) if own < 2 else (2,)
        other = (2,) if own < 2 else (1, 0)
        return [
            event("comm_define", 0, 0, *inside, comm=3, send_bytes=33),
            event("comm_split", 0),
            event("comm_define", 0, 0, *other, comm=4, send_bytes=44),
            event("allreduce", 100, send_bytes=8, comm=3),
            event("barrier", 200, comm=4),
            event("barrier", 300),
        ]

    mix = mix_of(write(tmp_path, *map(rank, range(3))))
    assert list(mix.comms) == [(0, 1, 2), (1, 0)]
    assert lines(mix) == ["comm_split c=0 m=1 o=0 k=1", "allreduce c=1 n=8 e=8", "barrier c=0"]
    assert lines(mix, 2) == [
        "comm_split c=0 m=-1 o=2 k=0",
        "barrier c=0",
    ]  # rank 2 is alone in its group and communicates with no other rank
    assert mix.left_out == {"barrier": 3}


def test_a_communicator_that_no_call_of_the_mix_creates_is_never_freed(tmp_path: Path) -> None:
    made = [
        event("comm_define", 100, 0, 0, 1, comm=3, send_bytes=33),
        event("comm_create_group", 100),
        event("barrier", 200, comm=3),
        event("comm_free", 300, comm=3),
    ]
    again = [{**one, "comm": 4} if one["comm"] == 3 else one for one in made]
    assert lines(two(tmp_path, *made, *again)) == ["barrier c=1"] * 2


def test_neighborhood_collectives_become_messages(tmp_path: Path) -> None:
    def rank(other: int) -> list[dict[str, Any]]:
        return [
            event("neighbor_alltoallv", 0, 50, other, other, 8, 8, send_counts=1),
            event("ineighbor_alltoallw", 100, 10, other, other, 4, 4, send_counts=1, request=7),
            event("ineighbor_alltoallw", 200, 10, other, other, 4, 4, send_counts=1, request=8),
            event("waitall", 300, 10, 7, 8),
            event("neighbor_allgather", 400, send_counts=1),  # unknown neighbors
            event("neighbor_alltoall", 500),  # no neighbors
        ]

    mix = mix_of(write(tmp_path, rank(1), rank(0)))
    exchange = ["isend c=0 p=1 t=32767 n={0} q={1}", "irecv c=0 p=1 t=32767 n={0} q={2}"]
    assert lines(mix) == [
        *(text.format(8, 0, 1) for text in exchange),
        "wait q=0,1",
        *(text.format(4, 0, 1) for text in exchange),
        *(text.format(4, 2, 3) for text in exchange),
        "wait q=0,1,2,3",
        "compute",
    ]
    assert mix.left_out == {"neighbor_allgather": 2}


def test_messages_of_a_rank_that_is_a_neighbor_twice_are_received_in_any_order(tmp_path: Path) -> None:
    def rank(other: int) -> list[dict[str, Any]]:
        neighbors = NULL, other, other
        return [event("neighbor_alltoallv", 0, 10, *neighbors, *neighbors, 0, 8, 16, 0, 16, 8, send_counts=3)]

    texts = lines(mix_of(write(tmp_path, rank(1), rank(0))))
    assert [text.split("n=")[1].split()[0] for text in texts if "n=" in text] == ["8", "16", "16", "16"]


def test_requests_become_slots_that_are_reused(tmp_path: Path) -> None:
    own = [
        event("irecv", 0, recv_bytes=64, peer=1, tag=5, request=11),
        event("isend", 20, send_bytes=8, peer=1, tag=5, request=12),
        event("test", 40, 5),
        event("waitall", 60, 10, 11, 12),
        event("irecv", 80, recv_bytes=64, peer=1, tag=5, request=13),
        event("isend", 100, send_bytes=8, peer=1, tag=5, request=14),
        event("waitany", 120, 10, 14),
        event("test", 140, 10, 13),
    ]
    other = [{**one, "peer": 0 if one["peer"] == 1 else one["peer"]} for one in own]
    assert lines(mix_of(write(tmp_path, own, other))) == [
        "irecv c=0 p=1 t=5 n=64 q=0",
        "isend c=0 p=1 t=5 n=8 q=1",
        "wait q=0,1",
        "irecv c=0 p=1 t=5 n=64 q=0",
        "isend c=0 p=1 t=5 n=8 q=1",
        "wait q=1",
        "wait q=0",
    ]


def test_persistent_requests_are_started_each_time(tmp_path: Path) -> None:
    def rank(own: int) -> list[dict[str, Any]]:
        events = [
            event("send_init", 0, send_bytes=8, peer=1 - own, tag=1, request=1),
            event("recv_init", 20, recv_bytes=8, peer=ANY, tag=ANY, request=2),
        ]
        for step in range(3):
            events += [event("startall", 100 + 50 * step, 10, 1, 2), event("waitall", 120 + 50 * step, 10, 1, 2)]
        return events

    mix = mix_of(write(tmp_path, rank(0), rank(1)))
    assert lines(mix) == ["isend c=0 p=1 t=1 n=8 u=1 q=0", "irecv c=0 p=1 t=1 n=8 u=1 q=1", "wait q=0,1"] * 3


def test_the_sender_of_a_wildcard_receive_is_found(tmp_path: Path) -> None:
    def sender(at: int, tag: int) -> list[dict[str, Any]]:
        return [event("send", at, send_bytes=8, peer=0, tag=tag)]

    receiver = [
        event("irecv", 0, recv_bytes=8, peer=ANY, tag=ANY, request=1),
        event("recv", 10, 500, recv_bytes=8, peer=ANY, tag=3),
        event("wait", 600, 10, 1),
    ]
    mix = mix_of(write(tmp_path, receiver, sender(400, 3), sender(200, 4)))
    assert lines(mix) == ["irecv c=0 p=2 t=4 n=8 q=0", "recv c=0 p=1 t=3 n=8", "wait q=0"]


def test_a_receive_that_was_cancelled_takes_no_later_message(tmp_path: Path) -> None:
    receiver = [
        event("irecv", 0, recv_bytes=8, peer=ANY, tag=ANY, request=1),
        event("wait", 100, 10, 1),  # after MPI_Cancel
        event("recv", 200, 300, recv_bytes=8, peer=1, tag=3),
    ]
    mix = mix_of(write(tmp_path, receiver, [event("send", 400, send_bytes=8, peer=0, tag=3)]))
    assert lines(mix) == ["recv c=0 p=1 t=3 n=8"]


def test_null_ranks_and_calls_other_than_communication_are_left_out(tmp_path: Path) -> None:
    mix = two(
        tmp_path,
        event("barrier", 0, 10),
        event("send", 100, peer=NULL, tag=1),
        event("irecv", 200, peer=NULL, tag=1, request=3),
        event("wait", 300, 100, 3),
        event("iprobe", 400, 100),
        event("file_write_at_all", 500, 1000),
        event("put", 1500, 500),
        event("barrier", 2000, 10),
    )
    (first, last) = expand(mix.programs[0])
    assert (first.text, last.text) == ("barrier c=0", "barrier c=0")
    # There are three gaps of 90 us between the calls, and the write took 1000 us.
    assert 2 * last.gap_us == pytest.approx(90 + 90 + 90 + 1000)
    assert mix.left_out == {"put": 2}, "the puts are left out, and the replay waits instead"


def test_a_trace_of_impossible_numbers_is_refused(tmp_path: Path) -> None:
    for kinds, ranks, why in ((2**32 - 1, 1, "truncated before its first call"), (0, 2**31 - 1, "but 2147483647 ran")):
        header = b"RPRTRACE", TRACE_VERSION, HEADER.size, kinds, 0, ranks, 0, b""
        (tmp_path / "0.x.1.trace").write_bytes(HEADER.pack(*header))
        with pytest.raises(ProxyError, match=why):
            mix_of(tmp_path)


def test_a_truncated_event_ends_a_trace(tmp_path: Path) -> None:
    events = [event("barrier", 0), event("barrier", 100), event("allgatherv", 200, 10, 5, 7)]
    assert lines(mix_of(write(tmp_path, events, events, cut=4))) == ["barrier c=0"] * 2


def test_traces_that_are_missing_or_incomplete_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProxyError, match="no trace: the program does not use MPI"):
        mix_of(tmp_path)
    write(tmp_path, [event("barrier", 0)], [event("barrier", 0)])
    (tmp_path / "1.host.1.trace").unlink()
    with pytest.raises(ProxyError, match=r"traces of ranks \[0\], but 2 ran"):
        mix_of(tmp_path)
    (tmp_path / "1.host.1.trace").write_bytes(b"nothing")
    with pytest.raises(ProxyError, match="not a trace of the witness"):
        mix_of(tmp_path)


def test_a_run_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [event("barrier", 0)], [event("barrier", 0), event("barrier", 100)])
    with pytest.raises(ProxyError, match="rank 1 waits forever in `barrier c=0`"):
        mix_of(tmp_path)
