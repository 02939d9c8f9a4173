# SPDX-License-Identifier: Apache-2.0
"""Test that steps that each make a communicator can be folded, because freed communicators' indices are reused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprise.tuner.proxy.comm_indices import CommIndices, RankIndices
from reprise.tuner.proxy.mix import Loop
from reprise.tuner.proxy.trace_mix import mix_of
from tests.unit.tuner.proxy.traces import event, write


def test_an_index_is_reused_only_for_a_communicator_with_the_same_members() -> None:
    shared = CommIndices((0, 1, 2))
    own = RankIndices(shared, 1)
    assert own.make(3, (0, 1)) == 1
    assert own.make(4, (0, 1)) == 2  # the first communicator still exists
    own.free(3)
    assert own.make(5, (1, 0)) == 3
    assert own.make(6, (0, 1)) == 1
    assert own.of(7, (0, 1)) == 4  # no call has made communicator 7, so it must have existed from the start
    assert RankIndices(shared, 1).make(3, (0, 1)) == 1
    assert shared.members == [(0, 1, 2), (0, 1), (0, 1), (1, 0), (0, 1)]


def test_a_step_that_makes_a_communicator_is_folded(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for step in range(5):
        number = 3 + step
        events += [
            event("comm_define", 100 * step, 0, 0, 1, comm=number, send_bytes=1000 + step),
            event("comm_split", 100 * step),
            event("barrier", 100 * step + 20, comm=number),
            event("comm_split", 100 * step + 40),
            event("comm_free", 100 * step + 60, comm=number),
        ]
    mix = mix_of(write(tmp_path, events, events))
    (loop,) = mix.programs[0]
    assert isinstance(loop, Loop) and loop.count == 5
    assert [getattr(item, "text", "") for item in loop.body] == [
        "comm_split c=0 m=1 o=0 k=0",
        "barrier c=1",
        "comm_split c=0 m=-1 o=-1 k=0",
        "comm_free c=1",
    ]
