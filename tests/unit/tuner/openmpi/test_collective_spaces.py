# SPDX-License-Identifier: Apache-2.0
"""Test the description of a build of Open MPI, and the search spaces that result from the description."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Space
from reprise.tuner.openmpi.algorithms import heeds, is_unsafe, known_algorithms
from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.collective_spaces import DEFAULT, in_bytes, space
from reprise.tuner.openmpi.installed_build import describe, parse
from tests.unit.collectives_values import BUILD


def grid_size(searched: Space) -> int:
    """Return the number of points of the full grid, including points that differ only in ignored parameters."""
    return math.prod(len(parameter.values) for parameter in searched.parameters)


@pytest.mark.parametrize(("name", "points"), [("allreduce", 1400), ("bcast", 2000), ("gather", 800), ("reduce", 1600)])
def test_the_grid_of_all_algorithms_has_the_published_size(name: str, points: int) -> None:
    assert grid_size(space(name, 65536, 4, BUILD, unsafe=True)) == points


def test_algorithms_that_are_wrong_for_noncommutative_operations_are_left_out() -> None:
    assert space("allreduce", 65536, 4, BUILD).parameters[0].values == (0, 1, 2, 3, 6)
    assert space("reduce", 65536, 4, BUILD).parameters[0].values == (0, 1, 6, 7)
    assert grid_size(space("bcast", 65536, 4, BUILD)) == 2000


@pytest.mark.parametrize("name", ["allgather", "alltoall", "barrier"])
def test_an_algorithm_for_two_ranks_is_left_out_where_there_are_more(name: str) -> None:
    two_proc = next(i for i, known in BUILD.algorithms[name].items() if known == "two_proc")
    with_ranks = {ranks: space(name, 1024, ranks, BUILD, unsafe=True).parameters[0].values for ranks in (2, 3, 4)}
    assert [ranks for ranks, algorithms in with_ranks.items() if two_proc in algorithms] == [2]


def test_the_default_is_a_point_of_every_space() -> None:
    for name in CATALOGUE:
        assert DEFAULT in space(name, 65536, 4, BUILD).points


@pytest.mark.parametrize(
    ("name", "size", "point", "expected"),
    [
        ("bcast", 65536, (0, 1024, 2), (0, 0, 4)),
        ("bcast", 65536, (1, 1024, 2), (1, 0, 4)),
        ("bcast", 65536, (2, 1024, 2), (2, 1024, 2)),
        ("bcast", 65536, (2, 1024, 512), (2, 1024, 7)),
        ("bcast", 65536, (3, 65536, 512), (3, 0, 4)),
        ("bcast", 65536, (3, 32768, 512), (3, 32768, 4)),
        ("bcast", 65536, (4, 32768, 512), (4, 32768, 4)),
        ("bcast", 65536, (4, 40000, 512), (3, 40000, 4)),  # a segment is larger than half of the message
        ("bcast", 65536, (4, 65536, 512), (3, 0, 4)),
        ("bcast", 1, (4, 0, 512), (3, 0, 4)),
        ("bcast", 65536, (8, 32768, 512), (8, 0, 4)),
        ("gather", 1024, (3, 512, 8), (3, 512, 4)),
        ("allreduce", 65536, (5, 1024, 8), (5, 1024, 4)),
        ("allreduce", 65536, (4, 1024, 8), (4, 0, 4)),
    ],
)
def test_equivalent_points_have_one_canonical_point(
    name: str, size: int, point: tuple[int, int, int], expected: tuple[int, int, int]
) -> None:
    names = ("algorithm", "segment", "fanout")
    grid = space(name, size, 8, BUILD, unsafe=True)
    assert grid.canonical(dict(zip(names, point, strict=True))) == dict(zip(names, expected, strict=True))


def test_the_points_of_a_grid_are_canonical_and_distinct() -> None:
    for name in CATALOGUE:
        grid = space(name, 4096, 8, BUILD)
        assert all(grid.canonical(point) == point for point in grid.points)
        assert len(grid.points) == len({grid.key(point) for point in grid.points})


def test_the_catalogue_names_only_algorithms_that_the_build_has() -> None:
    for name, kind in CATALOGUE.items():
        assert kind.segment | kind.fanout | kind.unsafe <= set(BUILD.algorithms[name].values())


def test_the_build_is_read_with_its_version_and_priorities() -> None:
    assert BUILD.version == "4.1.4"
    assert BUILD.release == (4, 1, 4)
    assert BUILD.algorithms["bcast"][4] == "split_binary_tree"
    assert BUILD.priorities["tuned"] > BUILD.priorities["han"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "reports no Open MPI version"),
        ("ompi:version:full:4.1.4", "has no coll_tuned"),
        (
            "ompi:version:full:4.1.4\nmca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:0:ignore\n"
            "mca:coll:tuned:param:coll_tuned_bcast_algorithm_count:value:10",
            "counts 10 algorithms of bcast but names",
        ),
    ],
)
def test_a_build_that_cannot_be_tuned_is_named(text: str, why: str) -> None:
    with pytest.raises(TunerError, match=why):
        parse(text)


def test_a_missing_ompi_info_gives_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"set openmpi\.ompi_info"):
        describe(str(tmp_path / "ompi_info"))


def test_the_recorded_algorithms_equal_those_of_the_build() -> None:
    assert known_algorithms("tuned", "4.1") == BUILD.algorithms
    assert known_algorithms("han", "4.1") == {}


@pytest.mark.parametrize("series", ["5.0", "6.0"])
def test_a_later_series_has_all_algorithms_of_4_1_but_one_under_the_same_ids(series: str) -> None:
    later = known_algorithms("tuned", series)
    changed = {
        (name, number, later[name].get(number))
        for name, known in BUILD.algorithms.items()
        for number, algorithm in known.items()
        if later[name].get(number) != algorithm
    }
    assert changed == ({("allgather", 2, "bruck-k-fanout")} if series == "6.0" else set())


def test_an_unknown_algorithm_heeds_all_parameters_and_is_unsafe_in_a_reduction() -> None:
    assert heeds("allgather", "sparbit") == (True, True)
    assert not is_unsafe("allgather", "sparbit")
    assert is_unsafe("allreduce", "allgather_reduce")
    assert heeds("bcast", "chain") == (True, True)
    assert heeds("bcast", "knomial") == (True, False)
    assert not is_unsafe("allreduce", "recursive_doubling")


def test_without_segments_the_whole_message_is_sent_at_a_time() -> None:
    whole, parts = ({"algorithm": 3, "segment": segment, "fanout": 4} for segment in (0, 1024))
    assert in_bytes(65536, whole) == {"algorithm": 3, "segment": 65536, "fanout": 4}
    assert in_bytes(65536, parts) == parts
