# SPDX-License-Identifier: Apache-2.0
"""Test how waiting and transfer are distinguished by the times of one call on all of its ranks."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.tuner.profile.process_report import ProcessReport
from reprise.tuner.profile.waiting import measure
from tests.unit.profile_values import START, calls, mpi, report

MS = 1_000_000


def sampled(kind: str, begin: float, end: float, *, key: str = "1", other: int = -1, **more: Any) -> list[Any]:
    """Return a sampled call from `begin` to `end`, in ms; for a non-blocking operation, `started` is when it began."""
    at = [START + int(one * MS) for one in (more.get("started", begin), begin, end)]
    return [key, kind, int(more.get("is_send", False)), 11, other, *at]


def collectives(*by_rank: list[list[Any]], strides: tuple[int, ...] = (), hosts: str = "") -> list[ProcessReport]:
    return [
        report(
            host=f"node{hosts[rank] if hosts else 1}",
            mpi=mpi(rank, len(by_rank), collective_samples=calls(*own, stride=(strides or (1,) * 9)[rank])),
        )
        for rank, own in enumerate(by_rank)
    ]


def messages(*by_rank: list[list[Any]]) -> list[ProcessReport]:
    return [report(mpi=mpi(rank, len(by_rank), message_samples=calls(*own))) for rank, own in enumerate(by_rank)]


def shares(reports: list[ProcessReport], kind: str) -> list[float]:
    found, _ = measure(reports)
    return [round(one.shares.get(kind, 0.0), 6) for one in found]


def test_ranks_early_at_an_allreduce_wait_for_the_last_rank() -> None:
    reports = collectives([sampled("allreduce", 0, 10)], [sampled("allreduce", 8, 10)])
    assert shares(reports, "allreduce") == [0.8, 0.0]


def test_a_broadcast_waits_for_its_root_only() -> None:
    late_leaf = [sampled("bcast", 0, 1, other=0)], [sampled("bcast", 50, 51, other=0)]
    assert shares(collectives(*late_leaf), "bcast") == [0.0, 0.0]
    late_root = [sampled("bcast", 50, 51, other=0)], [sampled("bcast", 0, 52, other=0)]
    assert shares(collectives(*late_root), "bcast") == [0.0, pytest.approx(50 / 52, abs=1e-6)]


def test_the_root_of_a_broadcast_is_searched_for_once() -> None:
    """If each rank searched for the root, 4,096 ranks with 600 broadcasts would take 10^10 steps."""
    looked = 0

    class Looked(list[ProcessReport]):
        def __getitem__(self, index: Any) -> Any:
            nonlocal looked
            looked += 1
            return super().__getitem__(index)

    root = [sampled("bcast", 50, 51, other=0)]
    others = [[sampled("bcast", 0, 52, other=0)] for _ in range(99)]
    reports = Looked(
        report(mpi=mpi(rank, 100, collective_samples=calls(*own))) for rank, own in enumerate([root, *others])
    )
    assert shares(reports, "bcast") == [0.0, *[round(50 / 52, 6)] * 99]
    assert looked < 1000


def test_only_the_root_of_a_reduce_waits() -> None:
    reports = collectives([sampled("reduce", 0, 10, other=0)], [sampled("reduce", 5, 6, other=0)])
    assert shares(reports, "reduce") == [0.5, 0.0]


def test_no_waiting_is_counted_if_the_awaited_rank_is_unknown() -> None:
    reports = collectives([sampled("neighbor_alltoall", 0, 10)], [sampled("neighbor_alltoall", 8, 10)])
    assert shares(reports, "neighbor_alltoall") == [0.0, 0.0]


def test_a_call_that_does_not_block_waits_in_its_completion_only() -> None:
    early = sampled("iallreduce", 20, 30, started=0)  # the other rank arrived before this rank began to wait
    late = sampled("iallreduce", 25, 30, started=10)
    assert shares(collectives([early], [late]), "iallreduce") == [0.0, 0.0]
    late = sampled("iallreduce", 26, 30, started=25)
    assert shares(collectives([early], [late]), "iallreduce") == [0.5, 0.0]


def test_calls_that_not_all_ranks_sampled_are_left_out() -> None:
    """Rank 1 sampled only every second call and lacks the call with key 3, so this call counts on no rank."""
    first = [sampled("barrier", 0, 10, key="2"), sampled("barrier", 10, 20, key="3")]
    second = [sampled("barrier", 5, 10, key="2")]
    third = [sampled("barrier", 5, 10, key="2"), sampled("barrier", 19, 20, key="3")]
    reports = collectives(first, second, third, strides=(1, 2, 1))
    found, _ = measure(reports)
    assert found[0].calls == {"barrier": 1} and found[0].shares == {"barrier": 0.5}


def test_a_clock_that_causality_contradicts_is_shifted() -> None:
    """Rank 1's clock is 100 ms ahead, so rank 1 seems to reach a barrier after all other ranks have left it."""
    first = [sampled("barrier", 0, 10, key="1"), sampled("barrier", 20, 22, key="2")]
    second = [sampled("barrier", 108, 110, key="1"), sampled("barrier", 120, 122, key="2")]
    found, shifts = measure(collectives(first, second, hosts="12"))
    assert shifts == {"node2": 0.1}
    assert found[0].shares["barrier"] == pytest.approx(8 / 12)


def test_a_clock_that_may_be_right_is_believed() -> None:
    first, second = [sampled("barrier", 0, 10)], [sampled("barrier", 9, 10)]
    assert measure(collectives(first, second, hosts="12"))[1] == {}


def test_ranks_on_one_host_share_a_clock() -> None:
    first, second = [sampled("barrier", 0, 10)], [sampled("barrier", 100, 110)]
    assert measure(collectives(first, second))[1] == {}


def test_a_receive_waits_for_a_late_send() -> None:
    reports = messages(
        [sampled("send", 8, 9, other=1, is_send=True)],
        [sampled("recv", 0, 10, other=0)],
    )
    assert shares(reports, "p2p") == [0.0, 0.8]


def test_a_send_waits_for_a_late_receive_unless_it_was_over_before() -> None:
    held = messages([sampled("send", 0, 10, other=1, is_send=True)], [sampled("recv", 6, 10, other=0)])
    assert shares(held, "p2p") == [0.6, 0.0]
    eager = messages([sampled("send", 0, 1, other=1, is_send=True)], [sampled("recv", 6, 7, other=0)])
    assert shares(eager, "p2p") == [0.0, 0.0]


def test_messages_that_one_call_completes_are_waited_for_once() -> None:
    sends = [
        sampled("isend", 20, 20, key="1", other=1, is_send=True, started=2),
        sampled("isend", 20, 20, key="2", other=1, is_send=True, started=5),
    ]
    receives = [
        sampled("irecv", 0, 10, key="1", other=0, started=0),
        sampled("irecv", 0, 10, key="2", other=0, started=0),
    ]
    found, _ = measure(messages(sends, receives))
    assert found[1].shares == {"p2p": 0.5} and found[1].calls == {"p2p": 1}


def test_without_samples_nothing_is_claimed() -> None:
    found, shifts = measure([report(mpi=mpi(0)), report(mpi=mpi(1))])
    assert [one.shares for one in found] == [{}, {}] and shifts == {}
