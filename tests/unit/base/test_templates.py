# SPDX-License-Identifier: Apache-2.0
"""Test generated scripts: compare them with golden files, and run them with values that are special to a shell.

After an intended change: `REPRISE_GOLDEN=write pytest tests/unit/base/test_templates.py`, then review the difference.
"""

import os
import subprocess
from pathlib import Path

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.templates import render
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.trial_script import TrialScript
from reprise.tuner.model.component import TrialPlan
from tests.examples import examples
from tests.places import GOLDEN

PLAN = TrialPlan(
    argv=["/usr/local/libexec/reprise/collbench", "--collective", "bcast", "--sizes", "65536"],
    nodes=4,
    tasks_per_node=2,
    environment={"OMPI_MCA_coll_tuned_dynamic_rules_filename": "{directory}/rules.conf", "SEGMENT": "0", "EMPTY": ""},
    timeout_s=90.0,
)


APPLICATION = """\
#!/bin/bash -l
#SBATCH --nodes=2 --ntasks-per-node=8
#SBB size=1G
#SBATCH --output=mine.out
# how it is run
srun ./solve
#SBATCH --nodes=99
"""

SCRIPT_PLAN = TrialPlan(
    argv=[],
    nodes=2,
    tasks_per_node=8,
    script=APPLICATION,
    work_directory="/home/alice/run",
    environment={"SRO_SIZE": "0", "EMPTY": ""},
    options=["--fastio=yes"],
    directives=["#SBB size=4G"],
    before="sync\necho 3 >/proc/sys/vm/drop_caches",
    preload=["/opt/a.so", "/opt/b.so"],
    timeout_s=600.0,
)


@pytest.mark.parametrize(("plan", "kind"), [(PLAN, "srun"), (PLAN, "mpirun"), (SCRIPT_PLAN, "script")])
def test_the_trial_script_equals_the_golden_file(plan: TrialPlan, kind: str) -> None:
    script = TrialScript("reprise-7-0a1b2c3d", Launcher(kind), ["--partition=main", "--exclusive"])
    text = script.text(plan, Path("/shared/campaigns/7/bcast_65536/0012"))
    golden = GOLDEN / f"trial-{kind}.sh"
    if os.environ.get("REPRISE_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


def run_trial(directory: Path, *argv: str, timeout_s: float = 5.0, **environment: str) -> tuple[str, float]:
    plan = TrialPlan(argv, 1, 1, environment=environment, timeout_s=timeout_s)
    path = TrialScript("reprise-1", Launcher("none")).write(plan, directory)
    subprocess.run(["bash", str(path)], cwd="/", timeout=30, check=False)
    status, elapsed, nodes, *_ = (directory / "result").read_text().split()
    assert nodes == "1"
    return status, float(elapsed)


def test_a_missing_value_is_an_error_and_never_empty() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("trial.sh.j2", job_name="reprise-1")


NASTY = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=examples(20))
@given(value=NASTY, argument=NASTY)
def test_values_reach_the_program_unchanged(
    tmp_path_factory: pytest.TempPathFactory, value: str, argument: str
) -> None:
    directory = tmp_path_factory.mktemp("it's a trial $(id)")
    program = ["bash", "-c", 'printf "%s\\0%s" "$1" "$VALUE"', "x", argument]
    status, _ = run_trial(directory, *program, VALUE=value)
    assert status == "0"
    assert (directory / "stdout").read_text() == f"{argument}\0{value}"


def test_the_result_has_the_programs_exit_status(tmp_path: Path) -> None:
    status, elapsed = run_trial(tmp_path, "bash", "-c", "echo out; echo err >&2; exit 3")
    assert status == "3" and 0 < elapsed < 5
    assert ((tmp_path / "stdout").read_text(), (tmp_path / "stderr").read_text()) == ("out\n", "err\n")


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    status, elapsed = run_trial(tmp_path, "sleep", "60", timeout_s=0.2)
    assert status == "124" and 0.2 <= elapsed < 10
