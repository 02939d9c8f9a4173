# SPDX-License-Identifier: Apache-2.0
"""Test collectives with one rule for all sizes: how they are measured, and their rules for jobs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Config
from reprise.tuner.model.component import Publication, TrialPlan
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from reprise.tuner.openmpi.installed_build import describe
from reprise.tuner.openmpi.rules.releases import FAMILIES
from reprise.tuner.openmpi.rules.writing import form_for, write
from reprise.tuner.openmpi.rules_channel import RulesChannel
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from reprise.tuner.together.rules_ingredient import RulesIngredient, Settings
from tests.places import UNIT
from tests.unit.collectives_values import BUILD, comparison, decision, open_mpi

SIZES = [64, 1024, 65536]


def make(*collectives: str, **settings: Any) -> CollectivesComponent:
    wanted = {"collectives": list(collectives), "sizes": SIZES, "nodes": 4, **settings}
    return CollectivesComponent("openmpi-collectives", "1", read_settings({}, wanted), BUILD, Config())


def test_each_size_of_alltoallv_has_a_separate_run() -> None:
    """A rules file has one rule for all sizes of alltoallv, so a run can measure alltoallv with only one setting."""
    rounds = {problem.key: problem.round for problem in make("bcast", "alltoallv", "allgatherv").problems()}
    assert len({rounds[f"alltoallv/{size}"] for size in SIZES}) == 3
    assert rounds["bcast/64"] == rounds["bcast/65536"] == rounds["alltoallv/64"]
    assert rounds["alltoallv/65536"] == rounds["allgatherv/64"] == rounds["allgatherv/65536"]


def test_a_trial_of_a_size_measures_its_setting() -> None:
    plan = make("alltoallv").plan("alltoallv/1024", {"algorithm": 2, "segment": 0, "fanout": 4})
    assert plan.argv[-1] == "alltoallv:1024"
    assert decision(plan.files["rules.conf"], "alltoallv", 4, 0).algorithm == 2


def applied(published: Publication) -> dict[str, bool]:
    """Return, for each problem, whether its winner is in the rules file."""
    rows: Any = published.parametrization["rules"]
    return {row["problem"]: row["applied"] for row in rows}


@pytest.mark.parametrize("collective", ["alltoallv", "allgatherv"])
def test_an_algorithm_that_wins_at_all_sizes_becomes_the_rule_for_all_sizes(collective: str, place: Path) -> None:
    made = make(collective)
    found = [comparison(f"{collective}/{size}", 2, 0.3, 0.2, 0.4) for size in SIZES]
    (published,) = made.publish(found, open_mpi(), place / "artifacts")
    assert published.artifact
    text = Path(published.artifact.path).read_text()
    assert [decision(text, collective, 4, size).algorithm for size in (0, 1, 64, 10**6)] == [2, 2, 2, 2]
    assert decision(text, collective, 3, 64).algorithm == 0
    assert set(applied(published).values()) == {True}


@pytest.mark.parametrize("collective", ["alltoallv", "allgatherv"])
@pytest.mark.parametrize("last", [(1, 0.2), (2, -0.1)])
def test_if_sizes_have_different_winners_nothing_is_published(
    collective: str, last: tuple[int, float], place: Path
) -> None:
    made = make(collective, "bcast")
    algorithm, low = last
    found = [
        *[comparison(f"{collective}/{size}", 2, 0.3, 0.2, 0.4) for size in SIZES[:2]],
        comparison(f"{collective}/{SIZES[2]}", algorithm, 0.3, low, 0.4),
        comparison("bcast/1024", 6, 0.3, 0.2, 0.4),
    ]
    (published,) = made.publish(found, open_mpi(), place / "artifacts")
    assert published.artifact
    text = Path(published.artifact.path).read_text()
    assert decision(text, collective, 4, 64).algorithm == 0 and decision(text, "bcast", 4, 1024).algorithm == 6
    assert applied(published) == {f"{collective}/{size}": False for size in SIZES} | {"bcast/1024": True}
    assert made.publish(found[:3], open_mpi(), place / "artifacts") == []


def ingredient(*ranges: tuple[int, int]) -> RulesIngredient:
    calls = [{"collective": "alltoallv", "low": low, "high": high} for low, high in ranges]
    checked = Settings.model_validate({"calls": calls, "nodes": 4})
    return RulesIngredient("openmpi-collectives", "1", checked, RulesChannel.of(BUILD, ()), "probe", "cluster")


def test_an_applications_alltoallv_is_tried_with_one_rule_for_all_sizes() -> None:
    made = ingredient((8, 65536))
    (axis,) = made.space.parameters
    assert axis.values == ("built-in", "basic_linear", "pairwise") or list(axis.values)[1:] == [
        "basic_linear",
        "pairwise",
    ]
    plan = made.add(TrialPlan(["a"], 4, 1), {axis.name: "pairwise"})
    assert decision(plan.files["rules.conf"], "alltoallv", 4, 0).algorithm == 2


def test_two_ranges_of_what_has_one_rule_are_refused() -> None:
    with pytest.raises(ValueError, match="alltoallv has one rule for all sizes: specify one range"):
        ingredient((8, 1024), (2048, 65536))


@pytest.fixture(scope="module")
def varying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("varying") / "varying"
    source = UNIT / "varying.c"
    subprocess.run(["mpicc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, source], check=True)
    return path


def wrong(program: Sequence[str | Path], text: str, directory: Path, ranks: int) -> list[str]:
    """Run the program with a rules file, and return the names of the collectives that it reports as wrong."""
    file = directory / "rules.conf"
    file.write_text(text)
    own = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_MCA_")}
    given = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(file),
    }
    argv = ["timeout", "180", "mpirun", "--oversubscribe", "-np", str(ranks), *program]
    done = subprocess.run(argv, env={**own, **given}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def rules(ranks: int, collective: str, algorithm: int) -> str:
    """Return the text of a rules file with one rule for all sizes."""
    form = form_for([family for family in FAMILIES if family.series == "4.1"])
    return write(compile_rules({collective: {Shape(ranks): [Row(0, algorithm)]}}, BUILD), form)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [4, 5])
@pytest.mark.parametrize("collective", ["alltoallv", "allgatherv", "reduce_scatter_block"])
def test_no_algorithm_that_jobs_can_be_given_goes_wrong(
    varying: Path, tmp_path: Path, collective: str, ranks: int
) -> None:
    """The program calls collectives with uneven parts, in place, and with an operation that does not commute.

    If the ranks of MPI_Allgatherv describe their messages with different datatypes, Open MPI 4.1.4 hangs with its
    built-in rules, because ranks choose different algorithms. With one rule, all ranks choose the same algorithm.
    """
    mixed = ["mixed"] if collective == "allgatherv" else []
    for number, name in describe("ompi_info").algorithms[collective].items():
        if number and name != "two_proc":
            assert wrong([varying, *mixed], rules(ranks, collective, number), tmp_path, ranks) == [], name
