# SPDX-License-Identifier: Apache-2.0
"""Records of thread counts hold for as many processors as the trials had, and there is none where that is not known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reprise.database.entities import Measurement
from reprise.tuner.campaign.trial_processors import with_processors
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.trial_script import TrialScript, read_processors
from reprise.tuner.model.component import PROCESSORS, Publication, TrialPlan

MEASURED = Measurement(1.0, 0.9, 1.1, 4, "s")


def publication(**context: object) -> Publication:
    return Publication({}, {"OMP_NUM_THREADS": "8"}, [], MEASURED, MEASURED, 0.3, 0.2, 0.4, context=context)


def trials(directory: Path, *results: str) -> Path:
    for number, result in enumerate(results):
        trial = directory / f"trial-{number}.0"
        trial.mkdir(parents=True)
        (trial / "result").write_text(result)
    return directory


def test_a_record_holds_for_the_processors_that_the_trials_had(tmp_path: Path) -> None:
    found = with_processors([publication(nodes=2, processors=None)], trials(tmp_path, "0 1.5 2 8(x2)", "1 1.5 2 8(x2)"))
    assert found[0].context == {"nodes": 2, PROCESSORS: 8} and found[0].environment


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "do not say how many"),
        (["0 1.5 2"], "do not say how many"),
        (["0 1.5 2 8,4"], "do not say how many"),
        (["0 1.5 2 8(x2)", "0 1.5 2 16(x2)"], "the trials had 8 or 16"),
    ],
)
def test_where_that_is_not_one_number_there_is_no_record(tmp_path: Path, results: list[str], said: str) -> None:
    (found,) = with_processors([publication(processors=None)], trials(tmp_path, *results))
    assert not found.environment and said in found.note and PROCESSORS not in found.context


def test_other_records_are_as_they_were(tmp_path: Path) -> None:
    others = [publication(nodes=2)]
    assert with_processors(others, tmp_path) == others


def test_a_trial_says_how_many_processors_slurm_gave_it(tmp_path: Path) -> None:
    plan = TrialPlan([], 1, 1, script="#!/bin/sh\ntrue\n", timeout_s=10.0)
    script = TrialScript("t", Launcher("none")).write(plan, tmp_path)
    for given, seen in (({"SLURM_JOB_CPUS_PER_NODE": "6"}, 6), ({}, None)):
        subprocess.run(["bash", script], env={"PATH": "/usr/bin:/bin", **given}, check=True, timeout=30)
        assert read_processors(tmp_path) == seen
