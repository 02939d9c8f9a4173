# SPDX-License-Identifier: Apache-2.0
"""Test trials that run an application's batch script: the script is unchanged, and only its run time is measured."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from reprise.database.entities import TrialState
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import Begun, TrialResult
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.executors.trial_script import TrialScript, header, interpreter
from reprise.tuner.model.component import TrialPlan


def script_plan(text: str, **changes: Any) -> TrialPlan:
    return TrialPlan([], 1, 1, script=text, **{"timeout_s": 20.0, **changes})


def run(tmp_path: Path, plan: TrialPlan) -> TrialResult:
    with LocalExecutor() as executor:
        executor.start(Begun("t.1", plan, tmp_path / "trial"))
        while not (found := executor.poll(1.0)):
            pass
        return found[0].result


def test_a_script_runs_unchanged_with_its_own_interpreter(tmp_path: Path) -> None:
    text = '#!/usr/bin/env python3\nimport sys\nprint(open(sys.argv[0]).read(), end="")\n# the end'
    result = run(tmp_path, script_plan(text))
    assert (result.state, result.output.stdout) == (TrialState.COMPLETE, text)


def test_zeros_and_empty_values_reach_the_application(tmp_path: Path) -> None:  # SHAMan, defect 4
    text = "#!/bin/bash\nbash -c 'echo \"${ZERO-unset} ${EMPTY-unset} $REPRISE\"'\n"
    result = run(tmp_path, script_plan(text, environment={"ZERO": "0", "EMPTY": ""}))
    assert result.output.stdout == "0  off\n"


def test_libraries_are_preloaded_into_the_applications_children(  # SHAMan, defect 5
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "libc.so.6")
    plan = script_plan("#!/bin/bash\nbash -c 'echo $LD_PRELOAD'\n", preload=["libm.so.6", "libdl.so.2"])
    assert run(tmp_path, plan).output.stdout == "libc.so.6:libm.so.6:libdl.so.2\n"
    program = TrialPlan(["bash", "-c", "echo $LD_PRELOAD"], 1, 1, preload=["libm.so.6"])
    assert run(tmp_path, program).output.stdout == "libc.so.6:libm.so.6\n"


@pytest.mark.parametrize(
    ("own", "in_effect"),
    [
        (None, "verify_asan_link_order=0"),
        ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
        ("verify_asan_link_order=1", "verify_asan_link_order=1"),
    ],
)
def test_programs_with_addresssanitizer_start_with_the_libraries_of_a_trial_as_with_those_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, in_effect: str
) -> None:
    monkeypatch.delenv("ASAN_OPTIONS", raising=False)
    if own is not None:
        monkeypatch.setenv("ASAN_OPTIONS", own)
    text = "#!/bin/bash\nbash -c 'echo $ASAN_OPTIONS'\n"
    assert run(tmp_path, script_plan(text, preload=["libm.so.6"])).output.stdout == f"{in_effect}\n"
    (tmp_path / "trial").rename(tmp_path / "earlier")
    assert run(tmp_path, script_plan(text)).output.stdout == f"{own or ''}\n"


def test_the_output_files_that_a_script_sets_do_not_matter(tmp_path: Path) -> None:  # SHAMan, defect 7
    text = "#!/bin/bash\n#SBATCH --output=/no/such/place/%j.out\n#SBATCH -e x\necho said; exec >elsewhere; echo more\n"
    result = run(tmp_path, script_plan(text))
    assert (result.state, result.output.stdout) == (TrialState.COMPLETE, "said\n")


def test_a_script_without_directives_runs(tmp_path: Path) -> None:  # SHAMan, defects 6 and 7
    assert run(tmp_path, script_plan("#!/bin/sh\necho said")).output.stdout == "said\n"


@pytest.mark.slow
def test_the_run_time_is_the_scripts_alone(tmp_path: Path) -> None:
    result = run(tmp_path, script_plan("#!/bin/sh\nsleep 0.1\n", before="sleep 3"))
    assert 0.1 <= result.output.elapsed_s < 3


@pytest.mark.parametrize(("wall", "expected"), [("36001.5", 3601.5), ("40000", 3601.25), ("-5", 3601.25)])
def test_run_times_of_hours_are_read_and_a_clock_change_does_not_affect_them(  # SHAMan, defect 14
    tmp_path: Path, wall: str, expected: float
) -> None:
    """The run took 3601.5 s by `date` if `date` agrees with the uptime, and otherwise 3601.25 s by the uptime."""
    tools = tmp_path / "bin"
    tools.mkdir()
    times = {"date": ("32400", wall if wall != "36001.5" else "36001.5"), "cut": ("100", "3701.25")}
    if wall == "36001.5":
        times["cut"] = ("100", "3701.48")
    for name, (first, second) in times.items():
        flag = tmp_path / f"{name}.asked"
        tool = f"#!/bin/sh\n[ -e {flag} ] && echo {second} || echo {first}\n: >{flag}\n"
        (tools / name).write_text(tool)
        (tools / name).chmod(0o755)
    trial = tmp_path / "trial"
    trial.mkdir()
    path = TrialScript("x", Launcher("none")).write(script_plan("#!/bin/sh\n"), trial)
    subprocess.run(["bash", str(path)], env={"PATH": f"{tools}:/usr/bin:/bin"}, check=True, timeout=30)
    assert float((trial / "result").read_text().split()[1]) == pytest.approx(expected)


def test_a_command_before_the_trial_that_fails_fails_the_trial(tmp_path: Path) -> None:
    result = run(tmp_path, script_plan("#!/bin/sh\necho ran\n", before="echo no such cache\nfalse"))
    assert (result.state, result.output.stdout) == (TrialState.FAILED, "")
    assert result.message == "exit status 1: the command before the trial failed: no such cache"


def test_a_script_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    result = run(tmp_path, script_plan("#!/bin/sh\nsleep 60\n", timeout_s=0.3))
    assert (result.state, result.message) == (TrialState.TIMEOUT, "stopped after 0.3 s")


def test_a_script_runs_where_its_user_submits_it(tmp_path: Path) -> None:
    (tmp_path / "alice's").mkdir()
    plan = script_plan("#!/bin/sh\npwd; echo $SLURM_SUBMIT_DIR\n", work_directory=str(tmp_path / "alice's"))
    assert run(tmp_path, plan).output.stdout.splitlines() == [str(tmp_path / "alice's")] * 2
    assert {path.name for path in tmp_path.iterdir()} == {"alice's", "trial"}


def test_the_directives_of_a_script_count_up_to_its_first_command() -> None:
    text = "#!/bin/bash\n#SBATCH -N 4\n\n# words\n#BB capacity=1\n#SBB a=1\nsrun x\n#SBATCH -N 9\n"
    assert header(text) == ["#SBATCH -N 4", "#BB capacity=1", "#SBB a=1"]
    assert header(text, ["#SBB a=2"]) == ["#SBATCH -N 4", "#BB capacity=1"]


@pytest.mark.parametrize(
    "option", ["--array=1-3", "-a1-3", "-N 4 --array 1-3", "hetjob", "--wait", "-W", "--mem=4G -a 7"]
)
def test_a_script_that_is_more_than_one_job_is_refused(option: str) -> None:
    with pytest.raises(TunerError, match="a trial is one job: remove"):
        header(f"#!/bin/bash\n#SBATCH {option}\n")


@pytest.mark.parametrize("option", ["--wait-all-nodes=1", "--account=x", "--job-name=a -n 3"])
def test_other_options_of_sbatch_are_unchanged(option: str) -> None:
    assert header(f"#!/bin/bash\n#SBATCH {option}\n") == [f"#SBATCH {option}"]


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("#!/bin/bash", ["/bin/bash"]),
        ("#! /usr/bin/env -S python3 -u ", ["/usr/bin/env", "-S python3 -u"]),
    ],
)
def test_an_interpreter_gets_at_most_one_argument_as_from_the_kernel(first: str, words: list[str]) -> None:
    assert interpreter(f"{first}\nx") == words


@pytest.mark.parametrize("text", ["srun ./solve\n", "", "#!\nsrun"])
def test_a_script_without_an_interpreter_is_refused_as_by_sbatch(text: str) -> None:
    with pytest.raises(TunerError, match="does not begin with #!"):
        interpreter(text)


@pytest.mark.parametrize("line", ["rm -rf x", "#SBB a\nrm -rf x", ""])
def test_a_directive_is_a_single_comment(line: str, tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="a directive must be one line"):
        TrialScript("x", Launcher("none")).text(script_plan("#!/bin/sh\n", directives=[line]), tmp_path)


def prepare_trial(tmp_path: Path) -> Path:
    return TrialScript("x", Launcher("none")).write(script_plan("#!/bin/sh\necho ran\necho 1 >>$D/runs\n"), tmp_path)


def test_a_trial_that_is_requeued_or_submitted_twice_has_one_result(tmp_path: Path) -> None:
    path = prepare_trial(tmp_path)

    def job(number: int) -> str:
        env = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": str(number), "D": str(tmp_path)}
        return subprocess.run(["bash", str(path)], env=env, check=True, capture_output=True, text=True).stdout

    job(7)
    (tmp_path / "result").unlink()  # as if the job's node had failed just before it wrote the result
    job(7)
    before = (tmp_path / "result").read_text()
    assert "job 7 ran this trial" in job(8) and job(7) == ""
    assert (tmp_path / "result").read_text() == before and (tmp_path / "runs").read_text() == "1\n1\n"
