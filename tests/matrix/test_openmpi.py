# SPDX-License-Identifier: Apache-2.0
"""Test that each Open MPI release treats rules files as our emulator does, and as in the stored results."""

from __future__ import annotations

import random
import shlex
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from reprise.tuner.components import openmpi_build
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, parse
from reprise.tuner.openmpi.rules.releases import family_of
from reprise.tuner.openmpi.rules.writing import Form, write
from reprise.tuner.openmpi.rules_compiler import Row, Shape, compile_rules
from reprise.tuner.openmpi.rules_proof import prove
from tests.matrix.openmpi import (
    ENVIRONMENT,
    INSTALLED,
    MPIRUN,
    PROBE,
    OpenMPI,
    ask_all,
    build_probe,
    ompi_info,
    probe_tuned,
)
from tests.unit.rules_corpus import RANDOM_CALLS, RANKS, failing, golden, random_file

pytestmark = pytest.mark.matrix
RANDOM_FILES = 40


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda mpi: mpi.version)
def mpi(request: pytest.FixtureRequest) -> Iterator[OpenMPI]:
    chosen: OpenMPI = request.param
    yield chosen
    shutil.rmtree(chosen.work)


@pytest.fixture(scope="module")
def outcomes(mpi: OpenMPI) -> dict[str, dict[str, Any]]:
    return ask_all(mpi)


@pytest.fixture(scope="module")
def build(mpi: OpenMPI) -> OpenMPIBuild:
    return parse(ompi_info(mpi))


@pytest.mark.parametrize("kind", ["tuned", "han"])
def test_the_release_treats_every_file_as_the_stored_results_say(
    kind: str, mpi: OpenMPI, outcomes: dict[str, dict[str, Any]]
) -> None:
    assert outcomes[kind] == {case: releases[mpi.version] for case, releases in golden()[kind].items()}


def test_the_release_reads_nearly_valid_files_as_the_emulator_does(
    mpi: OpenMPI, outcomes: dict[str, dict[str, Any]]
) -> None:
    source = random.Random(mpi.version)  # noqa: S311 - not used for security
    files = [random_file(source) for _ in range(RANDOM_FILES)]
    told = probe_tuned(mpi, files, [RANDOM_CALLS] * len(files))
    assert any(told)
    for data, failed in zip(files, told, strict=True):
        assert failed == failing(data, mpi.version, RANDOM_CALLS), data


def test_the_algorithms_and_priorities_of_the_release_are_the_recorded_ones(mpi: OpenMPI, build: OpenMPIBuild) -> None:
    family = family_of(mpi.version)
    assert build.version == mpi.version, (
        "the root has another release than INSTALLED in tests/matrix/openmpi.py: "
        "correct it, and store the release's results with `python -m tests.matrix.openmpi`"
    )
    assert build.algorithms == family.algorithms
    assert build.han_algorithms == known_algorithms("han", family.series)
    assert (build.priorities["han"] > build.priorities["tuned"]) is family.han_first


SELECTED = {"5.0.7": ["sm", "adapt"], "6.0.0rc2": ["xhc", "adapt"]}
NEVER_SELECTED = {"6.0.0rc2": ["acoll", "ucc"]}


def test_a_component_that_a_record_may_prefer_is_selected_if_it_is_available(mpi: OpenMPI, build: OpenMPIBuild) -> None:
    """The page on the component openmpi-coll has these results; other releases were not examined."""
    build_probe(mpi)
    for name in [*SELECTED.get(mpi.version, ()), *NEVER_SELECTED.get(mpi.version, ())]:
        assert name in build.priorities
        given = {**ENVIRONMENT, **openmpi_build.ASKING, f"OMPI_MCA_coll_{name}_priority": "90"}
        words = shlex.join(f"{variable}={value}" for variable, value in given.items())
        said = mpi.shell(f"env {words} {MPIRUN} {PROBE} bcast:8:{RANKS} 2>&1")
        problem = openmpi_build.objection([name], said)
        assert (problem == "") is (name in SELECTED[mpi.version]), (name, problem)


TABLE = {
    "bcast": {
        Shape(2): [Row(64, 1)],
        Shape(RANKS): [Row(1024, 6), Row(4096, 2, 2, 512), Row(8192, 0), Row(65536, 7)],
    },
    "alltoall": {Shape(RANKS): [Row(8, 3), Row(512, 2)]},
    "reduce": {Shape(3): [Row(4, 1)], Shape(RANKS): [Row(8, 7)]},
    "barrier": {Shape(RANKS): [Row(0, 3)]},
}


@pytest.mark.parametrize("form", [Form.CLASSIC, Form.REQUESTS, Form.PORTABLE], ids=lambda form: form.name)
def test_rules_compiled_for_the_release_are_proved_in_each_form_that_it_reads(
    form: Form, mpi: OpenMPI, build: OpenMPIBuild, outcomes: dict[str, dict[str, Any]]
) -> None:
    if family_of(mpi.version) not in form.families:
        pytest.skip("it does not read this form")

    def run(plan: TrialPlan) -> TrialOutput:
        given = {name: value.replace(str(mpi.work), mpi.seen) for name, value in plan.environment.items()}
        environment = shlex.join(f"{name}={value}" for name, value in {**ENVIRONMENT, **given}.items())
        return TrialOutput(0, mpi.shell(f"env {environment} {MPIRUN} {shlex.join(plan.argv)}"), "", 0.0)

    environment = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "{rules}",
    }
    rules = compile_rules(TABLE, build)
    directory = mpi.work / "proof"
    directory.mkdir(exist_ok=True)
    text = write(rules, form, [f"for Open MPI {mpi.version}"], build.algorithms)
    proof = prove(rules, form, text, RANKS, TrialPlan([PROBE], 1, RANKS, environment), run, directory)
    assert proof.launches == 3 + 2 + 2 + 1 + 1
