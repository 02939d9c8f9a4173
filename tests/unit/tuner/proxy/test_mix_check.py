# SPDX-License-Identifier: Apache-2.0
"""Test the check that finds out, before a mix is replayed, whether the replay would hang."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix_check import check
from tests.unit.tuner.proxy.mixes import mix, ring


def test_a_whole_mix_is_sound() -> None:
    check(ring(20))


def test_requests_may_be_completed_in_any_order() -> None:
    check(
        mix(
            "irecv c=0 p=1 t=1 n=8 q=0\nirecv c=0 p=1 t=2 n=8 q=1\niallreduce c=0 n=8 q=2\nwait q=1\nwait q=0,2",
            "iallreduce c=0 n=8 q=0\nsend c=0 p=0 t=2 n=8\nsend c=0 p=0 t=1 n=8\nwait q=0",
        )
    )


def test_a_null_rank_is_not_waited_for() -> None:
    check(mix("sendrecv c=0 p=1 t=0 n=8 P=-1 T=0 N=0", "sendrecv c=0 p=-1 t=0 n=8 P=0 T=0 N=8"))


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        (("recv c=0 p=1 t=1 n=8", "send c=0 p=0 t=2 n=8"), "rank 0 waits forever in `recv c=0 p=1 t=1 n=8`"),
        (("barrier c=0\nbarrier c=0", "barrier c=0"), "rank 0 waits forever in `barrier c=0`"),
        (
            ("recv c=0 p=1 t=0 n=1\nsend c=0 p=1 t=0 n=1",) * 1 + ("recv c=0 p=0 t=0 n=1\nsend c=0 p=0 t=0 n=1",),
            "forever",
        ),
        (("send c=0 p=1 t=1 n=8", ""), "sends 1 messages to rank 1 with tag 1, but 0 are received"),
        (("barrier c=0", "bcast c=0 p=0 n=8"), "rank 1 calls bcast with root 0, but another rank calls barrier"),
        (
            ("bcast c=0 p=1 n=8", "bcast c=0 p=0 n=8"),
            "calls bcast with root 0, but another rank calls bcast with root 1",
        ),
        (("barrier c=1", ""), "that does not include its rank"),
    ],
)
def test_a_mix_that_would_hang_is_refused(programs: tuple[str, ...], said: str) -> None:
    with pytest.raises(ProxyError, match=said):
        check(mix(*programs, comms=((1,),)))


def test_calls_that_a_replay_does_not_support_are_named_as_the_cause() -> None:
    waiting = replace(mix("recv c=0 p=1 t=0 n=1", ""), left_out={"neighbor_alltoallv": 2, "put": 1})
    with pytest.raises(ProxyError, match="it calls neighbor_alltoallv, put, which a replay does not support"):
        check(waiting)
