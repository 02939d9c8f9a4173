# SPDX-License-Identifier: Apache-2.0
"""Generated scripts: compared with golden files, and run with values that a shell could trip over.

After a wanted change: `REPRISE_GOLDEN=write pytest tests/unit/test_templates.py`, then read the difference.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templates import render
from tuner.component import TrialPlan
from tuner.executors.job import JobExecutor
from tuner.executors.launch import Launcher
from tuner.executors.slurm import SlurmCommands

GOLDEN = Path(__file__).parents[1] / "golden"

PLAN = TrialPlan(
    argv=["/usr/local/libexec/reprise/collbench", "--collective", "bcast", "--sizes", "65536"],
    nodes=4,
    tasks_per_node=2,
    environment={"OMPI_MCA_coll_tuned_dynamic_rules_filename": "{directory}/rules.conf", "SEGMENT": "0", "EMPTY": ""},
    timeout_s=90.0,
)


@pytest.mark.parametrize("kind", ["srun", "mpirun"])
def test_the_trial_script_is_as_it_was_agreed(kind: str) -> None:
    options = ["--partition=main", "--exclusive"]
    executor = JobExecutor(SlurmCommands(), "reprise-7-0a1b2c3d", Launcher(kind), options, print)
    text = executor.script(PLAN, Path("/shared/campaigns/7/bcast_65536/0012"))
    golden = GOLDEN / f"trial-{kind}.sh"
    if os.environ.get("REPRISE_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


def trial_script(**changes: Any) -> str:
    values = {
        "job_name": "reprise-1",
        "nodes": 1,
        "tasks_per_node": 1,
        "minutes": 2,
        "options": [],
        "directory": "/tmp",
        "environment": {},
        "timeout_s": "5",
        "command": ["true"],
    }
    return render("trial.sh.j2", **{**values, **changes})


def run_script(text: str, directory: Path) -> tuple[str, float]:
    script = directory / "trial.sh"
    script.write_text(text)
    subprocess.run(["bash", str(script)], cwd="/", timeout=30, check=False)
    status, elapsed = (directory / "result").read_text().split()
    return status, float(elapsed)


def test_a_missing_value_is_an_error_and_never_empty() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("trial.sh.j2", job_name="reprise-1")


NASTY = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=20, deadline=None)
@given(value=NASTY, argument=NASTY)
def test_values_reach_the_program_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, value: str, argument: str
) -> None:
    directory = tmp_path_factory.mktemp("it's a trial $(id)")
    program = ["bash", "-c", 'printf "%s\\0%s" "$1" "$VALUE"', "x", argument]
    status, _ = run_script(trial_script(directory=directory, environment={"VALUE": value}, command=program), directory)
    assert status == "0"
    assert (directory / "stdout").read_text() == f"{argument}\0{value}"


def test_the_result_tells_the_programs_status(tmp_path: Path) -> None:
    command = ["bash", "-c", "echo out; echo err >&2; exit 3"]
    status, elapsed = run_script(trial_script(directory=tmp_path, command=command), tmp_path)
    assert status == "3" and 0 < elapsed < 5
    assert ((tmp_path / "stdout").read_text(), (tmp_path / "stderr").read_text()) == ("out\n", "err\n")


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    text = trial_script(directory=tmp_path, timeout_s="0.2", command=["sleep", "60"])
    status, elapsed = run_script(text, tmp_path)
    assert status == "124" and 0.2 <= elapsed < 10
