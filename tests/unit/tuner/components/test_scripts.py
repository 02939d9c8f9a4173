# SPDX-License-Identifier: Apache-2.0
"""Test the inputs of a component's trial (options, scripts, hints); the shipped components have golden files.

After an intended change, set REPRISE_GOLDEN=write, run `pytest tests/unit/tuner/components/test_scripts.py`, and read
the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.components import witness
from reprise.tuner.components.application import Workload
from reprise.tuner.components.trial_inputs import Parts
from reprise.tuner.components.user_script import sets, with_lines
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.executors.trial_script import TrialScript
from reprise.tuner.model.component import TrialPlan
from tests.places import GOLDEN
from tests.unit.component_values import NEEDS, SCRIPT, WORKLOAD, component, definition, run_locally, shipped

THEIR_GOLDEN = GOLDEN / "components"
DIRECTORY = Path("/shared/campaigns/7/solve.sh/0012")
POINTS: dict[str, dict[str, Any]] = {
    "sro": {"disabled": False, "SRO_CLUSTER_THRESHOLD": 22, "SRO_PREFETCH_SIZE": 1048576},
    "fastio": {"SRO_CLUSTER_THRESHOLD": 22, "SRO_PREFETCH_SIZE": 1048576},
    "sbb": {"worker-threads": 8, "ram-cache-threshold": 50},
    "romio": {"io": "^ompio", "romio_cb_write": "enable", "cb_nodes": 2},
    "pnetcdf": {"io": "^ompio", "romio_ds_write": "disable", "nc_var_align_size": 4096},
    "ompio": {"num_aggregators": 4, "collective": "vulcan"},
    "lustre": {"stripe_count": -1, "stripe_size": 4194304},
    "lustre-hints": {"io": "^ompio", "striping_factor": 4, "striping_unit": 4194304},
    "openmpi-tcp": {"eager_limit": 131072, "links": 2, "socket_buffer": 1048576, "progress_thread": True},
    "openmpi-shared-memory": {"eager_limit": 8192},
    "openmpi-nonblocking": {"iallreduce": "recursive_doubling", "ibcast": "knomial"},
    "intel-mpi": {"bcast": "3", "allreduce": "2"},
    "cray-mpich": {"alltoall": "pairwise"},
    "mvapich2": {"allreduce": "2"},
    "mvapich3": {"barrier": "recexch"},
    "openmpi-coll": {"ucc": "90"},
    "ucx": {"UCX_RNDV_THRESH": "64K"},
    "srun-placement": {"distribution": "cyclic:block"},
    "mpirun-binding": {"binding": "none"},
    "openmp-threads": {"OMP_NUM_THREADS": 4},
    "openmp": {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores", "OMP_SCHEDULE": "dynamic,16", "GOMP_SPINCOUNT": 0},
    "blas-threads": {"threads": 2},
    "glibc-malloc": {"arena_max": 1, "mmap_max": 0, "hugetlb": 1},
    "allocator": {"allocator": "jemalloc"},
    "burst-buffer": {"library": "burst", "write-back": "flash", "ram-destagers": 4},
}


def plan_of(name: str, point: dict[str, Any]) -> TrialPlan:
    made = component(shipped(name), NEEDS.get(name, {}))
    (problem,) = made.problems()
    return made.plan(problem.key, {**problem.default, **point})


@pytest.mark.parametrize("name", POINTS)
def test_the_files_of_a_trial_equal_the_golden_file(name: str, tmp_path: Path) -> None:
    plan = plan_of(name, POINTS[name])
    TrialScript("reprise-7-0a1b2c3d", Launcher(), ["--partition=main"]).write(plan, tmp_path)
    written = {path.name: path.read_text() for path in sorted(tmp_path.iterdir())} | dict(plan.files)
    # The other lines of trial.sh are the same for all components, and have a golden file of their own.
    written["trial.sh"] = "".join(re.findall(r"^(?:#S|export |timeout ).*\n", written["trial.sh"], re.MULTILINE))
    text = "".join(f"==> {file}\n{content}" for file, content in written.items()).replace(str(tmp_path), str(DIRECTORY))
    golden = THEIR_GOLDEN / f"{name}.txt"
    if os.environ.get("REPRISE_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", POINTS)
def test_the_reference_run_is_the_unchanged_job_except_for_components_that_are_switched_on(name: str) -> None:
    plan = plan_of(name, {})
    bare = name not in (
        "sro",
        "fastio",
        "sbb",
        "lustre",
    )  # the reference run switches these components on, with their default values
    environment = {name: value for name, value in plan.environment.items() if name not in witness.ENVIRONMENT}
    nothing = not environment and not plan.files and not plan.options and not plan.directives
    assert (nothing and plan.script == SCRIPT) == bare


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ({"via": "option"}, 5, ["--x=5"]),
        ({"via": "option", "flag": "folder"}, 5, ["--folder=5"]),
        ({"via": "option", "flag": "s", "suffix": "K"}, 5, ["-s5K"]),
        ({"via": "option", "type": "bool", "default": False}, True, ["--x"]),
        ({"via": "option", "type": "bool", "default": False}, False, []),
        ({"via": "argument"}, 0, ["--x=0"]),
        ({"via": "argument", "flag": "threads"}, 0, ["--threads", "0"]),
        ({"via": "argument", "flag": "t"}, 5, ["-t", "5"]),
        ({"via": "argument", "type": "bool", "default": False, "flag": "v"}, True, ["-v"]),
        ({"via": "argument", "type": "bool", "default": True, "words": {True: "yes", False: "no"}}, False, ["--x=no"]),
        ({"via": "argument", "type": "float", "default": 0.5}, 1e-07, ["--x=1e-07"]),
        ({"via": "command", "name": "y"}, 5, ["y=5"]),
        ({"via": "command", "type": "bool", "default": True}, False, ["x=0"]),
        ({"via": "directive", "flag": "n", "suffix": "G"}, 5, ["-n", "5G"]),
        ({"via": "wrapper", "unset": 0}, 0, []),
    ],
)
def test_words_are_written_as_the_page_says(parameter: dict[str, Any], value: Any, words: list[str]) -> None:
    activation = {"commands": ["run"], "directives": ["#SBB a"], "wrapper": ["tool"]}
    made = component(definition({"x": {"default": 1, **parameter}}, activation=activation))
    plan = made.plan("x", {"x": value})
    assert plan.script
    found = {
        "option": list(plan.options),
        "argument": re.findall(r'^set -- "\$@" (.*)$', plan.script, re.MULTILINE),
        "command": re.findall(r"^run ?(.*)$", plan.script, re.MULTILINE),
        "directive": [plan.directives[0].removeprefix("#SBB a").strip()],
        "wrapper": re.findall(r" exec tool ?(.*)/bin/bash \"\$0\"", plan.script),
    }[parameter["via"]]
    assert " ".join(found).split() == words


def test_activation_options_become_options_of_sbatch() -> None:
    made = component(definition({"X": {"default": 1}}, activation={"options": ["fastio=yes", "--ioi"]}))
    assert made.plan("x", {"X": 1}).options == ["--fastio=yes", "--ioi"]


def test_the_users_own_options_come_before_the_components() -> None:
    workload = Workload("/a/run.sh", SCRIPT, "/a", ["--exclusive"])
    made = component(definition({"X": {"default": 1, "via": "option"}}), workload=workload)
    assert made.plan("x", {"X": 1}).options == ["--exclusive", "--X=1"]


LINES = Parts(commands=["module load fast"], arguments=["--n=1", "a b"], wrapper=["numactl", "--all"])


def run(script: str, *arguments: str) -> str:
    return subprocess.run(
        ["bash", "-c", script, "run.sh", *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_added_lines_come_after_all_directives_and_before_the_first_command() -> None:
    lines = with_lines(SCRIPT, LINES).splitlines()
    assert lines[:6] == SCRIPT.splitlines()[:6] and lines[-1] == SCRIPT.splitlines()[-1]
    assert lines[7:9] == ["module load fast", "set -- \"$@\" --n=1 'a b'"]
    assert lines[6] == '[ -n "${REPRISE_WRAPPED:-}" ] || REPRISE_WRAPPED=1 exec numactl --all /bin/bash "$0" "$@"'


def test_arguments_are_appended_to_the_arguments_of_the_script() -> None:
    script = with_lines('#!/bin/bash\nprintf "%s|" "$@"\n', Parts(arguments=["--n=0", "it's"]))
    assert run(script, "own") == "own|--n=0|it's|"


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/bash\n",
        "#!/bin/bash",
        "#!/bin/sh\n# nothing but comments",
        "#!/bin/bash\n" + "#SBATCH -n1\n" * 50 + "true\n",
    ],
)
def test_shaman_defect_6_the_header_is_there_however_long_the_script_is(script: str) -> None:
    written = with_lines(script, Parts(commands=["echo here"]))
    assert written.count("echo here") == 1
    assert run(written) == "here\n"


def test_a_wrapper_runs_the_script_once_within_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(with_lines('#!/bin/bash\necho "$LEVEL: $1"\n', Parts(wrapper=["env", "LEVEL=inside"])))
    done = subprocess.run(["bash", path, "own"], capture_output=True, text=True, check=True)
    assert done.stdout == "inside: own\n"


def test_a_script_that_is_not_a_shell_script_is_refused_if_lines_must_be_added() -> None:
    python = "#!/usr/bin/env python3\nprint(1)\n"
    assert with_lines(python, Parts(environment={"A": "1"})) == python
    assert with_lines("#!/usr/bin/env bash\n", LINES) != "#!/usr/bin/env bash\n"
    with pytest.raises(TunerError, match=r"begins with '#!/usr/bin/env python3'.*#!/bin/bash"):
        with_lines(python, LINES)


def test_shaman_defect_5_preloaded_libraries_are_exported_behind_those_that_are_there(tmp_path: Path) -> None:
    script = "#!/bin/bash\nbash -c 'echo \"$LD_PRELOAD\"'\n"
    made = component(
        definition({"X": {"default": 1}}, activation={"preload": ["/no/a.so", "/no/b.so"]}),
        workload=Workload("/a/run.sh", script, str(tmp_path)),
    )
    os.environ["LD_PRELOAD"] = "/no/first.so"
    try:
        result = run_locally(made.plan("x", {"X": 1}), tmp_path / "trial")
    finally:
        del os.environ["LD_PRELOAD"]
    assert result.output.stdout == "/no/first.so:/no/a.so:/no/b.so\n"


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/bash\necho ran\n",  # a script without comments
        "#!/bin/bash\n#SBATCH --output=elsewhere.txt\necho ran\n",
        "#!/bin/bash\n# last line without its end\necho ran",
        "#!/bin/bash\ntime echo ran\n",
        "#!/bin/sh\nexit_status() { return 3; }\necho ran\nexit_status || exit 0\n",
    ],
)
def test_shaman_defect_7_any_script_is_run_as_it_is_and_no_file_of_its_user_is_touched(
    tmp_path: Path, script: str
) -> None:
    (tmp_path / "slurm-77.out").write_text("mine")
    made = component(definition({"X": {"default": 1}}), workload=Workload("/a/run.sh", script, str(tmp_path)))
    result = run_locally(made.plan("x", {"X": 1}), tmp_path / "trial")
    assert result.output.exit_status == 0 and result.output.stdout == "ran\n"
    assert made.read("x", result.output).value == result.output.elapsed_s > 0
    assert (tmp_path / "slurm-77.out").read_text() == "mine"
    assert (tmp_path / "trial" / "application.sh").read_text() == script


@pytest.mark.slow
def test_commands_before_a_trial_run_each_time_and_are_not_measured(tmp_path: Path) -> None:
    workload = Workload("/a/run.sh", "#!/bin/bash\ncat count\n", str(tmp_path))
    before = f"sleep 0.3; echo again >>{tmp_path}/count"
    made = component(definition({"X": {"default": 1}}, before=before), workload=workload)
    took = []
    for number in range(1, 6):
        result = run_locally(made.plan("x", {"X": 1}), tmp_path / "trial")
        assert result.output.stdout == "again\n" * number
        took.append(result.output.elapsed_s)
    assert min(took) < 0.3, "the minimum, because a busy machine may slow some trials"


def test_a_script_that_sets_the_variable_itself_is_refused() -> None:
    assert sets("#!/bin/bash\n  export SRO_X=1\n", "SRO_X") and sets("env SRO_X=1 ./a\n", "SRO_X")
    assert sets("mpirun --mca io ompio ./a\n", "OMPI_MCA_io") and sets("mpirun -mca io=x ./a\n", "OMPI_MCA_io")
    assert not sets("mpirun --mca io_base 1 --mca btl io ./a\n# --mca io x\n", "OMPI_MCA_io")
    assert not sets("# SRO_X=1\necho $SRO_X\nMY-SRO_X=2 NOSRO_X=3\n", "SRO_X")
    script = SCRIPT.replace("mpirun", "SRO_PREFETCH_SIZE=4096 mpirun")
    made = component(shipped("fastio"), workload=Workload("/a/run.sh", script, "/a"))
    with pytest.raises(TunerError, match=r"run\.sh: sets SRO_PREFETCH_SIZE itself"):
        made.check({})


def test_a_variable_that_trials_would_inherit_is_refused() -> None:
    made = component(shipped("romio"))
    with pytest.raises(TunerError, match="ROMIO_HINTS is set here"):
        made.check({"ROMIO_HINTS": "/x"})
    component(shipped("fastio")).check({"SRO_PREFETCH_SIZE": "1"})  # no error, because every trial sets this variable


def test_a_hints_file_has_one_hint_of_two_words_per_line() -> None:
    plan = plan_of("romio", POINTS["romio"])
    lines = [line for line in plan.files["hints"].splitlines() if not line.startswith("#")]
    assert lines == [
        "romio_cb_read automatic",
        "romio_cb_write enable",
        "romio_ds_read automatic",
        "romio_ds_write automatic",
        "cb_buffer_size 16777216",
        "cb_nodes 2",
    ]
    assert plan.environment == {"OMPI_MCA_io": "^ompio", "ROMIO_HINTS": "{directory}/hints", **witness.ENVIRONMENT}
    assert plan.script == WORKLOAD.script


def test_a_list_of_hints_is_one_variable_and_a_file_for_the_check_of_the_trial() -> None:
    plan = plan_of("pnetcdf", {"io": "^ompio", "cb_nodes": 2, "nc_var_align_size": 4096})
    listed = plan.environment["PNETCDF_HINTS"].split(";")
    assert listed[-2:] == ["cb_nodes=2", "nc_var_align_size=4096"] and listed[0] == "romio_cb_read=automatic"
    assert plan.files["hints"].splitlines() == [one.replace("=", " ") for one in listed]


def test_values_above_the_jobs_number_of_nodes_are_left_out() -> None:
    (problem,) = component(shipped("romio")).problems()
    (nodes,) = [one.values for one in problem.space.parameters if one.name == "cb_nodes"]
    assert nodes == [0, 1, 2]
    with pytest.raises(TunerError, match="all values are over the application's 2 nodes"):
        component(shipped("romio"), {"space": {"cb_nodes": [4, 8]}})
