# SPDX-License-Identifier: Apache-2.0
"""Test the search method gp-shared, in which the problems of a family share a model."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.search import build
from reprise.tuner.search.shared_process import Evaluated, Relative, SharedSearch

SPACE = Space(
    (Parameter("algorithm", tuple(range(6)), "category"), Parameter("segment", tuple(2**i for i in range(12)), "log"))
)
DEFAULT: Parametrization = {"algorithm": 0, "segment": 1}


def ratio(point: Mapping[str, int | float | str], size: float) -> float:
    """Return the run time of a point at a size, relative to algorithm 0.

    Algorithm 3 is best, and its best segment grows with the size; the other algorithms ignore the segment.
    """
    if point["algorithm"] != 3:
        return 1.0 + 0.1 * int(point["algorithm"])
    return 0.5 + 0.1 * abs(math.log2(float(point["segment"])) - math.log2(size) / 2)


def search(name: str, initial: int = 4) -> SharedSearch:
    found = build(name, SPACE, 3, initial)
    assert isinstance(found, SharedSearch) or name != "gp-shared"
    return found  # type: ignore[return-value]


def relative(size: float) -> Relative:
    return Relative({"size": size}, [Evaluated(point, ratio(point, size)) for point in SPACE.points[::3]])


def steps(found: SharedSearch, size: float, reference: float, count: int) -> list[Parametrization]:
    found.tell(DEFAULT, reference)
    asked = []
    for _ in range(count):
        point = found.ask()
        assert point is not None
        asked.append(point)
        found.tell(point, reference * ratio(point, size))
    return asked


def test_without_related_problems_gp_shared_equals_gp_ei() -> None:
    alone, own = search("gp-shared"), search("gp-ei")
    alone.relate({"size": 256.0}, 7.0, ())
    assert steps(alone, 256.0, 7.0, 9) == steps(own, 256.0, 7.0, 9)


@pytest.mark.parametrize("reference", [1e-6, 7.0, 3000.0])
def test_results_at_smaller_and_larger_sizes_guide_the_search(reference: float) -> None:
    found = search("gp-shared", initial=1)
    found.relate({"size": 256.0}, reference, [relative(16.0), relative(4096.0)])
    asked = steps(found, 256.0, reference, 4)
    assert any(point["algorithm"] == 3 and abs(math.log2(float(point["segment"])) - 4) <= 1 for point in asked[1:])


@pytest.mark.parametrize(("unit", "best"), [(1, 64), (8, 8)])
def test_points_are_translated_to_the_terms_of_the_family(unit: int, best: int) -> None:
    """If this problem counts segments in units of 8, the related problems' best segment, 64, has the value 8 here."""
    found = search("gp-shared", initial=1)
    relatives = [Relative({"size": size}, relative(4096.0).evaluations) for size in (128.0, 512.0)]
    found.relate({"size": 256.0}, 1.0, relatives, lambda point: {**point, "segment": unit * int(point["segment"])})
    found.tell(DEFAULT, 1.0)
    found.tell(found.ask() or {}, 1.0)
    asked = found.ask()
    assert asked is not None
    assert asked["algorithm"] == 3
    assert best / 2 <= int(asked["segment"]) <= best * 2


def test_a_point_that_failed_or_was_given_up_at_another_size_is_not_tried_first() -> None:
    bad = [
        Evaluated(point, None if point["segment"] == 1 else 5.0, point["segment"] != 1) for point in SPACE.points[60:]
    ]
    found = search("gp-shared", initial=1)
    found.relate({"size": 256.0}, 1.0, [Relative({"size": 128.0}, [*relative(128.0).evaluations, *bad])])
    assert all(point["algorithm"] != 5 for point in steps(found, 256.0, 1.0, 5)[1:])


def test_a_repeated_ask_gives_the_same_point_and_skips_pending_points() -> None:
    found = search("gp-shared", initial=1)
    found.relate({"size": 256.0}, 1.0, [relative(16.0)])
    steps(found, 256.0, 1.0, 3)
    first = found.ask()
    assert first is not None
    assert found.ask() == first
    assert found.ask([first]) != first


def test_contexts_may_have_several_numbers_or_none_that_differs() -> None:
    found = search("gp-shared", initial=1)
    same = Relative({"size": 8.0, "nodes": 4.0}, [Evaluated(DEFAULT, 1.0)])
    found.relate({"size": 8.0, "nodes": 4.0}, 1.0, [same])
    assert steps(found, 8.0, 1.0, 3)
    found = search("gp-shared", initial=1)
    found.relate({"size": 8.0, "nodes": 4.0}, 1.0, [Relative({"size": 16.0, "nodes": 2.0}, [Evaluated(DEFAULT, 1.0)])])
    assert steps(found, 8.0, 1.0, 3)
