# SPDX-License-Identifier: Apache-2.0
"""Test that a mix's segments are independent: no cut divides a message, a request, or a communicator's lifetime."""

from __future__ import annotations

from reprise.tuner.proxy.mix import expand
from reprise.tuner.proxy.mix_check import check
from reprise.tuner.proxy.mix_segments import sampled, segments_of
from tests.unit.tuner.proxy.mixes import mix, ring


def lengths(*programs: str, comms: tuple[tuple[int, ...], ...] = ()) -> list[int]:
    return [len(segment.calls[0]) for segment in segments_of(mix(*programs, comms=comms))]


def test_all_calls_are_in_a_segment() -> None:
    whole = ring(10)
    segments = list(segments_of(whole))
    for rank, program in enumerate(whole.programs):
        texts = [call.text for segment in segments for call in segment.calls[rank]]
        assert texts == [call.text for call in expand(program)]
    assert len(segments) == 1 + 10 + 1 + 1  # the bcast, the steps, the barrier, and the rest up to the last barrier


def test_a_message_under_way_is_not_cut() -> None:
    sends = "send c=0 p=1 t=1 n=8\nbarrier c=0\nbarrier c=0\nbarrier c=0"
    receives = "barrier c=0\nrecv c=0 p=0 t=1 n=8\nbarrier c=0\nbarrier c=0"
    assert lengths(sends, receives) == [3, 1]


def test_a_request_under_way_is_not_cut() -> None:
    each = "iallreduce c=0 n=8 q=0\nbarrier c=0\nwait q=0\nbarrier c=0\nbarrier c=0"
    assert lengths(each, each) == [4, 1]


def test_a_collective_of_a_subset_of_ranks_is_not_cut() -> None:
    first = "barrier c=1\nbarrier c=0\nbarrier c=0"
    # Barriers in these orders hang. If the calls on c=0 were bcasts, they would not hang: a bcast's root need not wait.
    second = "barrier c=0\nbarrier c=1\nbarrier c=0"
    assert lengths(first, second, comms=((0, 1),)) in ([3], [2, 1])
    assert lengths(first, second, "barrier c=0\nbarrier c=0", comms=((0, 1),)) == [3]


def test_collectives_in_different_orders_on_ranks_are_one_segment() -> None:
    assert lengths("barrier c=0\nbcast c=0 p=0 n=1", "bcast c=0 p=0 n=1\nbarrier c=0") == [2]


def test_a_communicator_that_kept_segments_use_is_made() -> None:
    make = "comm_split c=0 m=1 o=0 k=0\nbarrier c=0\n"
    use = "allreduce c=1 n=8\nbarrier c=0\n" * 20
    free = "comm_free c=1\nbarrier c=0"
    whole = mix(make + use + free, make + use + free, comms=((0, 1),))
    assert sum(segment.is_needed for segment in segments_of(whole)) == 2
    part = sampled(whole, 0.1)
    check(part)
    texts = [call.text for call in expand(part.programs[0])]
    assert texts[0] == "comm_split c=0 m=1 o=0 k=0" and "comm_free c=1" in texts
    assert texts.count("allreduce c=1 n=8") == 2
