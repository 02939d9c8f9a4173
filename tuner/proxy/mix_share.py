# SPDX-License-Identifier: Apache-2.0
"""Make a cheaper mix from a share of a mix's calls, chosen so that both mixes rank settings in the same order.

There are two methods. `mix_segments` keeps some of the segments of each shape. This preserves the proportions of the
whole run, but requires collectives that include all ranks, at which to cut. `cut_loops` keeps some repetitions of each
loop that all ranks have in common. A loop is common if all ranks repeat it the same number of times, at corresponding
places in their sequences of loops. Calls outside of loops remain. Both methods preserve phases and their order, and the
result is simulated (`mix_check`) before it is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.mix import Item, Loop, Mix, as_loop, count_calls
from reprise.tuner.proxy.mix_check import check
from reprise.tuner.proxy.mix_segments import sampled

LEAST = 2
"""Minimum number of repetitions of a loop, so that the transition from one repetition to the next is kept."""

GROUPS = 12
"""Maximum number of loops to try to cut one by one, largest first, if the mix would hang with all loops cut."""


PROPORTION = 1.5
"""Maximum number of calls after sampling segments, as a multiple of the number after cutting loops.

If sampling leaves more calls, loops are cut instead. Otherwise, sampling is preferred, since it preserves proportions.
"""


def shared(mix: Mix, share: float) -> Mix:
    """Return a mix with about the given share of the calls, or with more if not enough calls can be omitted.

    Raises:
        ProxyError: `share` is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ProxyError(f"invalid share {share:g}: specify a number above 0 and at most 1")
    if share == 1:
        return mix
    loops, segments = cut_loops(mix, share), sampled(mix, share)
    return segments if segments.calls <= PROPORTION * loops.calls and _is_sound(segments) else loops


def cut_loops(mix: Mix, share: float) -> Mix:
    """Return a mix whose loops keep only `share` of their repetitions, or the same mix if no loop can be cut."""
    groups = _groups(mix.programs)
    whole = _cut(mix, groups, share)
    if _is_sound(whole):
        return whole
    kept: list[tuple[int, ...]] = []
    for group in sorted(groups, key=lambda group: -_calls(mix, group))[:GROUPS]:
        if _is_sound(_cut(mix, [*kept, group], share)):
            kept.append(group)
    return _cut(mix, kept, share) if kept else mix


def _is_sound(mix: Mix) -> bool:
    try:
        check(mix)
    except ProxyError:
        return False
    return True


def _groups(programs: Sequence[Sequence[Item]]) -> list[tuple[int, ...]]:
    """Return the loops that all ranks have in common, each as a tuple of its positions in the ranks' items."""
    loops = [[place for place, item in enumerate(program) if isinstance(item, Loop)] for program in programs]
    counts = [
        [as_loop(program[place]).count for place in places] for program, places in zip(programs, loops, strict=True)
    ]
    common = reduce(_common, counts[1:], counts[0])
    found = []
    for places, these in zip(loops, counts, strict=True):
        at, own = 0, []
        for count in common:
            at = these.index(count, at)
            own.append(places[at])
            at += 1
        found.append(own)
    return list(zip(*found, strict=True))


def _common(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Return the longest common subsequence of two sequences of loop counts."""
    if a == b:
        return list(a)
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            if a[i] == b[j]:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    i = j = 0
    found = []
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            found.append(a[i])
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _cut(mix: Mix, groups: Sequence[tuple[int, ...]], share: float) -> Mix:
    programs = [list(program) for program in mix.programs]
    for group in groups:
        loops = [as_loop(program[place]) for program, place in zip(programs, group, strict=True)]
        for program, place, loop in zip(programs, group, _cut_loops(loops, share), strict=True):
            program[place] = loop
    return replace(mix, programs=programs)


def _cut_loops(loops: Sequence[Loop], share: float) -> list[Loop]:
    """Return all ranks' copies of a loop with only `share` of its repetitions.

    If the loop has to keep more repetitions because of the minimum LEAST, the loops in its body are cut, too.
    """
    before = loops[0].count
    count = min(before, max(LEAST, round(before * share)))
    rest = share * before / count
    bodies = [list(loop.body) for loop in loops]
    if rest < 1:
        for group in _groups(bodies):
            inner = [as_loop(body[place]) for body, place in zip(bodies, group, strict=True)]
            for body, place, loop in zip(bodies, group, _cut_loops(inner, rest), strict=True):
                body[place] = loop
    return [Loop(count, body) for body in bodies]


def _calls(mix: Mix, group: tuple[int, ...]) -> int:
    return sum(count_calls([program[place]]) for program, place in zip(mix.programs, group, strict=True))
