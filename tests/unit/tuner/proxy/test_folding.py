# SPDX-License-Identifier: Apache-2.0
"""Test the folding of a rank's calls: repeated parts are stored once, without loss."""

from __future__ import annotations

import random

import pytest

from reprise.tuner.proxy.folding import fold
from reprise.tuner.proxy.mix import Call, Item, Loop, computed_us, count_lines, expand


def folded(words: list[str]) -> list[Item]:
    return fold((word, float(place)) for place, word in enumerate(words))


def nested(draw: random.Random, depth: int) -> list[str]:
    words: list[str] = []
    for _ in range(draw.randint(1, 4)):
        if depth and draw.random() < 0.6:
            words += nested(draw, depth - 1) * draw.randint(1, 6)
        else:
            words.append(draw.choice("abcd"))
    return words


@pytest.mark.parametrize("seed", range(40))
def test_folding_preserves_the_calls_and_the_total_computation(seed: int) -> None:
    words = nested(random.Random(seed), 3)  # noqa: S311
    items = folded(words)
    assert [call.text for call in expand(items)] == words
    assert computed_us(items) == pytest.approx(sum(range(len(words))))


def test_loops_in_loops_are_found() -> None:
    words = (["s"] + (["a"] + ["b"] * 25 + ["c"]) * 100 + ["e"]) * 20
    items = folded(words)
    assert count_lines(items) == 5
    assert isinstance(items[0], Loop) and items[0].count == 20
    inner = items[0].body[1]
    assert isinstance(inner, Loop) and inner.count == 100


def test_a_gap_in_a_loop_is_the_mean() -> None:
    items = fold([("a", 1.0), ("a", 3.0), ("a", 5.0), ("b", 7.0)])
    assert items == [Loop(3, [Call("a", 3.0)]), Call("b", 7.0)]


def test_calls_that_do_not_repeat_are_unchanged() -> None:
    assert folded(list("abcd")) == [Call(word, float(place)) for place, word in enumerate("abcd")]
