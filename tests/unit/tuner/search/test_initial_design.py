# SPDX-License-Identifier: Apache-2.0
"""Test the initial designs of a search: their points, and how the points spread over the grid."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.search import initial_design
from reprise.tuner.search.encoding import encode
from tests.examples import examples
from tests.unit.search_spaces import grid


def square(side: int) -> Space:
    return Space([Parameter(name, tuple(range(side))) for name in "ab"])


@pytest.mark.parametrize("name", ["lhs", "maximin", "hybrid"])
def test_a_hypercube_shares_no_value_on_any_axis(name: str) -> None:
    space = grid(canonical=lambda point: point)
    points = initial_design.DESIGNS[name](space, 10, np.random.default_rng(1))
    for parameter in space.parameters:
        assert len({point[parameter.name] for point in points}) == 10


@pytest.mark.parametrize("name", initial_design.DESIGNS)
@settings(max_examples=examples(8))
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    size=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
def test_a_design_has_as_many_distinct_points_as_wanted_or_as_there_are(
    name: str, lengths: list[int], size: int, seed: int
) -> None:
    space = Space([Parameter(str(axis), tuple(range(length))) for axis, length in enumerate(lengths)])
    points = initial_design.DESIGNS[name](space, size, np.random.default_rng(seed))
    assert len({space.key(point) for point in points}) == len(points) == min(size, math.prod(lengths))


@pytest.mark.parametrize("name", initial_design.DESIGNS)
def test_equivalent_points_count_once(name: str) -> None:
    points = initial_design.DESIGNS[name](grid(), 60, np.random.default_rng(3))
    assert len({grid().key(point) for point in points}) == 60
    assert all(point == grid().canonical(point) for point in points)


def test_a_hybrid_is_a_hypercube_of_the_shortest_axis_and_then_random() -> None:
    space = Space((Parameter("a", tuple(range(4))), Parameter("b", tuple(range(40)))))
    points = initial_design.hybrid(space, 12, np.random.default_rng(5))
    assert {point["a"] for point in points[:4]} == {0, 1, 2, 3}
    assert {int(point["b"]) // 10 for point in points[:4]} == {0, 1, 2, 3}


def test_on_an_axis_with_fewer_values_than_points_each_comes_equally_often() -> None:
    """The design `hybrid` has this property only for as many points as the shortest axis has values.

    See Robert 2021, section 3.2.
    """
    space = Space((Parameter("a", tuple(range(4))), Parameter("b", tuple(range(40)))))
    points = initial_design.lhs(space, 12, np.random.default_rng(5))
    assert set(Counter(point["a"] for point in points).values()) == {3}


def test_every_category_has_its_chance_in_a_small_design() -> None:
    space = Space((Parameter("a", tuple("abcdefghij"), "category"), Parameter("b", tuple(range(40)))))
    seen = {point["a"] for seed in range(40) for point in initial_design.lhs(space, 3, np.random.default_rng(seed))}
    assert len(seen) == 10


def test_maximin_keeps_points_further_apart_than_a_hypercube_does() -> None:
    def nearest(name: str, seed: int) -> float:
        space = square(30)
        rows = encode(space, initial_design.DESIGNS[name](space, 8, np.random.default_rng(seed)))
        distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        return float(distances[np.triu_indices(8, 1)].min())

    spread, plain = (np.mean([nearest(name, seed) for seed in range(10)]) for name in ("maximin", "lhs"))
    assert spread > 1.25 * plain
