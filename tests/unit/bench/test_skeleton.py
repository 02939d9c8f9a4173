# SPDX-License-Identifier: Apache-2.0
"""Test the benchmark of skeletons: its catalog, its computations, and its pass criteria."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.skeleton.skeleton_programs import BenchProgram, read_programs, with_ranks
from bench.skeleton.skeleton_runs import Took, bar, computing_share, speed_up
from reprise.tuner.profile.merge import merge
from tests.places import ROOT
from tests.unit.profile_values import S, mpi, report

PROGRAMS = read_programs()


def test_every_file_of_the_catalogue_in_this_repository_exists() -> None:
    assert {"F1", "F2", "F3", "F4"} <= {program.name for program in PROGRAMS}
    for program in PROGRAMS:
        if not program.source:
            assert program.sources(ROOT) == list(program.files)


def test_some_programs_come_from_other_projects() -> None:
    assert len({program.name for program in PROGRAMS if program.source}) >= 4


def test_programs_are_chosen_by_name() -> None:
    assert [program.name for program in read_programs("ft,F2")] == ["ft", "F2"]
    with pytest.raises(ValueError, match=r"programs\.toml has no ep: use some of F1, "):
        read_programs("ft,ep")


def test_the_number_of_ranks_is_put_into_arguments() -> None:
    assert with_ranks(["{ranks}", "S"], 4) == ["4", "S"]


def test_a_pattern_without_a_file_is_named(tmp_path: Path) -> None:
    program = BenchProgram.model_validate({"name": "solver", "from": "solver", "files": ["src/*.c"]})
    with pytest.raises(ValueError, match=r"has no src/\*\.c: has the package changed\?"):
        program.sources(tmp_path)
    (tmp_path / "src").mkdir()
    for name in ("b.c", "a.c"):
        (tmp_path / "src" / name).touch()
    assert program.folder(lambda _: tmp_path) == tmp_path
    assert program.sources(tmp_path) == ["src/a.c", "src/b.c"]


def test_a_speed_up_compares_medians() -> None:
    application = [Took(10, 20), Took(12, 18), Took(99, 99)]
    skeleton = [Took(2, 2), Took(1, 3), Took(3, 1)]
    assert speed_up(application, skeleton) == (6, 10)


def test_the_share_of_computing_refers_to_the_elapsed_time() -> None:
    begin = mpi(0, ranks=1, kinds={"init": [1, 2 * S]})
    launcher = report(pid=2, wall=12 * S, cpu=0, main_cpu=0)
    for reports in ([report(mpi=begin)], [report(mpi=begin), launcher]):
        assert computing_share(Took(16, 0), merge(reports)) == pytest.approx(8 / 16)


@pytest.mark.parametrize(
    ("golden", "identical", "speed_ups", "missed"),
    [
        ({"F1": True}, {"cg": True}, {"ft": 5.0, "ep": 9.0}, set()),
        ({"F1": True, "F2": False}, {"cg": True}, {"ft": 5.0}, {"golden"}),
        ({"F1": True}, {"cg": True, "ft": False}, {"ft": 5.0}, {"identical"}),
        ({"F1": True}, {"cg": True}, {"ft": 4.9, "ep": 9.0}, {"fast"}),
        ({"F1": True}, {"cg": True}, {"ft": 5.0, "cg": 2.1}, set()),
        ({"F1": True}, {"cg": True}, {"cg": 6.0}, {"fast"}),
        ({}, {}, {}, {"golden", "identical", "fast"}),
    ],
)
def test_the_bar_is_met_only_if_each_of_its_parts_was_measured_and_met(
    golden: dict[str, bool], identical: dict[str, bool], speed_ups: dict[str, float], missed: set[str]
) -> None:
    # cg computes too little to become 5 times faster, so its speed-up does not count
    computing = {"ft": 0.8, "ep": 0.95, "cg": 0.79}
    assert {name for name, met in bar(golden, identical, speed_ups, computing).items() if not met} == missed
