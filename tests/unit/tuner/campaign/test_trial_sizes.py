# SPDX-License-Identifier: Apache-2.0
"""Test the restriction of records to the processors, tasks and memory per node that Slurm gave a campaign's trials."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reprise.database.entities import Measurement
from reprise.tuner.campaign.trial_sizes import with_sizes
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.trial_script import TrialScript, read_sizes
from reprise.tuner.model.component import MEMORY, PROCESSORS, TASKS_PER_NODE, FromTrials, Publication, TrialPlan

MEASURED = Measurement(1.0, 0.9, 1.1, 4, "s")


def publication(**context: object) -> Publication:
    return Publication({}, {"OMP_NUM_THREADS": "8"}, [], MEASURED, MEASURED, 0.3, 0.2, 0.4, context=context)


def trials(directory: Path, *results: str) -> list[Path]:
    found = []
    for number, result in enumerate(results):
        found.append(directory / f"{number:04}")
        found[-1].mkdir()
        (found[-1] / "result").write_text(result)
    return found


def test_a_record_applies_to_the_processors_that_the_trials_had(tmp_path: Path) -> None:
    found = with_sizes(
        [publication(nodes=2, processors=FromTrials())], trials(tmp_path, "0 1.5 2 8(x2)", "1 1.5 2 8(x2)")
    )
    assert found[0].context == {"nodes": 2, PROCESSORS: 8} and found[0].environment


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "did not report the number"),
        (["0 1.5 2"], "did not report the number"),
        (["0 1.5 2 8(x3),4"], "did not report the number"),
        (["0 1.5 2 8(x2)", "0 1.5 2 8,4"], "the trials had 8 or a different number on each"),
        (["0 1.5 2 8(x2)", "0 1.5 2 16(x2)"], "the trials had 8 or 16"),
    ],
)
def test_a_record_is_not_written_if_the_trials_had_different_or_unknown_processors(
    tmp_path: Path, results: list[str], said: str
) -> None:
    (found,) = with_sizes([publication(processors=FromTrials())], trials(tmp_path, *results))
    assert not found.environment and said in found.note and PROCESSORS not in found.context


def test_records_that_take_no_size_from_trials_are_unchanged(tmp_path: Path) -> None:
    others = [publication(nodes=2)]
    assert with_sizes(others, [tmp_path]) == others


@pytest.mark.parametrize(("said", "tasks"), [("0 1.5 2 8(x2) 4(x2)", 4), ("0 1.5 2 8(x2) -", 1), ("0 1.5 2", 1)])
def test_tasks_per_node_that_the_script_does_not_set_are_taken_from_the_trials(
    tmp_path: Path, said: str, tasks: int
) -> None:
    guessed = publication(tasks_per_node=FromTrials(1))
    (found,) = with_sizes([guessed], trials(tmp_path, said))
    assert found.context == {TASKS_PER_NODE: tasks} and found.environment


def test_a_record_is_not_written_if_the_trials_had_different_tasks_per_node(tmp_path: Path) -> None:
    guessed = publication(tasks_per_node=FromTrials(1))
    (found,) = with_sizes([guessed], trials(tmp_path, "0 1 1 8 4", "0 1 1 8 2"))
    assert not found.environment and "the tasks per node, and the trials had 2 or 4" in found.note


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("0 1 1 8(x2) - 4096 -", 4096),
        ("0 1 1 8(x2) - - 1024", 8192),
        ("0 1 1 8(x2) - 4096 1024", 4096),  # the smaller limit counts; an outer job may have set the larger
        ("0 1 1 8(x2) - - -", 0),
        ("0 1 1 8(x3),4 - - -", 0),
        ("0 1 1 8(x3),4 - - 1024", None),
        ("0 1 1 - - - -", None),  # a trial outside of Slurm
        ("0 1 1 8(x2) 2(x2)", None),  # a trial of an earlier release
    ],
)
def test_memory_is_what_a_trial_may_use_on_a_node(tmp_path: Path, said: str, memory: int | None) -> None:
    (found,) = with_sizes([publication(memory=FromTrials())], trials(tmp_path, said))
    assert found.context == ({} if memory is None else {MEMORY: memory})
    assert found.environment if memory is not None else "did not report the number" in found.note


def test_a_trial_writes_down_what_slurm_gave_it(tmp_path: Path) -> None:
    plan = TrialPlan([], 1, 1, script="#!/bin/sh\ntrue\n", timeout_s=10.0)
    script = TrialScript("t", Launcher("none")).write(plan, tmp_path)
    for given, seen in (
        (
            {"SLURM_JOB_CPUS_PER_NODE": "6", "SLURM_TASKS_PER_NODE": "3(x2)"},
            {PROCESSORS: 6, TASKS_PER_NODE: 3, MEMORY: 0},
        ),
        ({"SLURM_TASKS_PER_NODE": "3"}, {TASKS_PER_NODE: 3}),
        ({"SLURM_JOB_CPUS_PER_NODE": "6", "SLURM_MEM_PER_CPU": "100"}, {PROCESSORS: 6, MEMORY: 600}),
        ({"SLURM_JOB_CPUS_PER_NODE": "6", "SLURM_MEM_PER_GPU": "100"}, {PROCESSORS: 6}),
        ({}, {}),
    ):
        subprocess.run(["bash", script], env={"PATH": "/usr/bin:/bin", **given}, check=True, timeout=30)
        assert read_sizes(tmp_path) == seen
