# SPDX-License-Identifier: Apache-2.0
"""Test that a share of a mix (a program's MPI calls) has fewer calls, keeps the mix's phases, and can be replayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix import Loop, count_lines, expand
from reprise.tuner.proxy.mix_check import check
from reprise.tuner.proxy.mix_share import cut_loops, shared
from tests.unit.tuner.proxy.mixes import mix, ring


def test_loops_are_cut_and_what_is_between_them_stays() -> None:
    whole = ring(100)
    part = cut_loops(whole, 0.1)
    check(part)
    assert part.calls == 3 * (1 + 10 * 4 + 1 + 10 + 1)
    assert [count_lines(one) for one in part.programs] == [count_lines(one) for one in whole.programs]


def test_loops_with_few_repetitions_are_cut_inside() -> None:
    inner = "allreduce c=0 n=8\n" * 100 + "barrier c=0\n"
    part = cut_loops(mix(inner * 4, inner * 4), 0.1)
    (outer,) = part.programs[0]
    assert isinstance(outer, Loop) and outer.count == 2
    assert part.calls == 2 * 2 * (20 + 1)


def test_a_loop_that_one_rank_lacks_is_not_cut() -> None:
    once = "bcast c=0 p=0 n=8\n"
    alike = "barrier c=0\n" * 50
    # Rank 1 has the same bcasts, but separated by different receives, so its calls do not form a loop.
    extra = "".join(f"recv c=0 p=0 t={tag} n={tag + 1}\n{once}" for tag in range(10))
    sends = "".join(f"send c=0 p=1 t={tag} n={tag + 1}\n" for tag in range(10))
    part = cut_loops(mix(sends + once * 10 + alike, extra + alike), 0.1)
    check(part)
    assert [sum(call.text == once.strip() for call in expand(one)) for one in part.programs] == [10, 10]
    assert [sum(call.text == "barrier c=0" for call in expand(one)) for one in part.programs] == [5, 5]


def test_a_cut_that_would_hang_is_not_made() -> None:
    # Rank 0 sends all 20 messages before the barrier, and rank 1 receives them after it.
    sends = "send c=0 p=1 t=1 n=8\n" * 20 + "barrier c=0\n" + "allreduce c=0 n=8\n" * 50
    receives = "barrier c=0\n" + "recv c=0 p=0 t=1 n=8\n" * 20 + "allreduce c=0 n=8\n" * 50
    odd = replace(mix(sends, receives), source="")
    check(odd)
    part = cut_loops(odd, 0.1)
    check(part)
    assert part.calls < odd.calls


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ProxyError, match="specify a number above 0"):
        shared(ring(5), share)


def test_proportions_are_kept_where_they_can_be() -> None:
    # The steps are unequal, so they do not form a loop.
    steps = "".join(f"bcast c=0 p=0 n={100 + step}\nallreduce c=0 n=8\n" for step in range(100)) + "barrier c=0\n" * 50
    whole = mix(steps, steps)
    assert cut_loops(whole, 0.1).calls > 0.8 * whole.calls
    part = shared(whole, 0.1)
    check(part)
    kinds = Counter(call.text.split()[0] for call in expand(part.programs[0]))
    assert kinds == {"bcast": 10, "allreduce": 10, "barrier": 5}


def test_loops_are_cut_if_there_are_no_segments() -> None:
    pairs = mix("send c=0 p=1 t=1 n=8\n" * 100, "recv c=0 p=0 t=1 n=8\n" * 100)
    assert shared(pairs, 0.1).calls == 20


def test_a_share_of_1_is_the_mix_itself() -> None:
    one = ring(5)
    assert shared(one, 1) is one
