# SPDX-License-Identifier: Apache-2.0
"""Test which values Reprise understands in a script, and the lines from which they come."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.support.explanation import understood_rows
from reprise.matcher.support.understood_script import COMMAND_LINE, DEFAULT, Understood, understood

HEAD = "#!/bin/bash\n#SBATCH --job-name=flow\n#SBATCH -N 4 -p cpu\n\n"


def of(text: str, *argv: str, env: Mapping[str, str] | None = None, **changes: Any) -> dict[str, Understood]:
    """Return the understood values by name. If there are several modules, only the last is included."""
    submission = dataclasses.replace(Submission.for_script("/home/eve/job.sh", text, argv), env=env or {})
    job = masked(parse(submission, user="eve", submit_time=0.0)).to_json()
    return {one.name: one for one in understood(submission, {**job, **changes})}


def test_each_value_has_its_line_in_the_script() -> None:
    found = of(f"{HEAD}module load gcc/12\nsrun -n 64 ./flow.x --size 9\n")
    told = {name: (one.value, one.line, one.text) for name, one in found.items() if one.line}
    assert told == {
        "program": ("flow.x", 6, "srun -n 64 ./flow.x --size 9"),
        "path": ("./flow.x", 6, "srun -n 64 ./flow.x --size 9"),
        "options": ({"size": ["9"]}, 6, "srun -n 64 ./flow.x --size 9"),
        "nodes": (4, 3, "#SBATCH -N 4 -p cpu"),
        "partition": ("cpu", 3, "#SBATCH -N 4 -p cpu"),
        "tasks": (64, 6, "srun -n 64 ./flow.x --size 9"),
        "job_name": ("flow", 2, "#SBATCH --job-name=flow"),
        "modules": ("gcc/12", 5, "module load gcc/12"),
    }
    assert found["account"] == Understood("account", None), "the script does not contain the account"


def test_a_command_over_several_lines_is_shown_at_the_programs_line() -> None:
    found = of(f"{HEAD}HERE=/opt/flow\nmkdir x\nsrun \\\n  $HERE/bin/flow.x \\\n  --size 9\necho done\n")
    assert (found["program"].value, found["program"].line) == ("flow.x", 8)
    assert (found["options"].line, found["options"].text) == (9, "--size 9")


def test_values_from_the_command_line_and_variables_name_their_source() -> None:
    found = of(f"{HEAD}srun ./flow.x\n", "-N2", env={"SBATCH_PARTITION": "gpu"})
    assert (found["nodes"].value, found["nodes"].source, found["nodes"].line) == (2, COMMAND_LINE, None)
    assert (found["partition"].value, found["partition"].source) == ("gpu", "SBATCH_PARTITION")


def test_an_option_given_twice_has_the_effective_line() -> None:
    assert of("#!/bin/sh\n#SBATCH -N 2\n#SBATCH -N 4\nsrun ./a\n#SBATCH -N 8\n")["nodes"].line == 3


def test_an_unknown_value_has_no_line() -> None:
    found = of("#!/bin/sh\n#SBATCH -N 2-4\n")
    assert (found["program"], found["nodes"]) == (Understood("program", None), Understood("nodes", None))


def test_slurms_default_is_shown_as_a_default() -> None:
    found = of("#!/bin/sh\n./flow.x\n")
    assert [(found[name].value, found[name].source) for name in ("nodes", "tasks")] == [(1, DEFAULT)] * 2
    assert of("#!/bin/sh\n#SBATCH -n 1\n./flow.x\n")["nodes"].line == 2


def test_other_programs_are_listed_with_their_lines() -> None:
    found = of(f"{HEAD}srun ./mesh.x\nsrun ./flow.x\nsrun ./plot.x\n")
    assert (found["programs"].value, found["programs"].line) in (("plot.x", 7), ("mesh.x", 5))
    assert "programs" not in of(f"{HEAD}srun ./flow.x\n")


def test_a_program_read_by_another_release_is_found_by_its_path() -> None:
    assert of(f"{HEAD}# ./other\nsrun ./flow.x\nrun ./other\n", program="other", path="./other")["program"].line == 7
    assert of(f"{HEAD}srun ./flow.x\n", program="other", path="./other")["program"].line is None


def test_a_script_for_another_interpreter_is_itself_the_program() -> None:
    assert of("#!/usr/bin/env python3\nimport flow\n")["program"].line == 1


@pytest.mark.parametrize("text", ["", "\n", "#SBATCH", "\\\n" * 9, "'", "$((", "srun", "\x0c\x85\u2028"])
def test_any_script_gives_an_entry_for_the_program(text: str) -> None:
    assert "program" in of(text)


def test_secrets_in_a_line_are_masked() -> None:
    found = of(f"{HEAD}srun ./flow.x --password hunter2\n")
    assert "hunter2" not in str(found) and found["program"].text == "srun ./flow.x --password ***"


def test_a_long_line_is_truncated() -> None:
    assert of(f"{HEAD}srun ./flow.x {'--word ' * 50}\n")["program"].text.endswith(" ...")


def test_rows_show_unknown_and_none_and_name_each_value_once() -> None:
    modules = [Understood("modules", "gcc", 3, "module load gcc mpi"), Understood("modules", "mpi", 3)]
    assert list(understood_rows([Understood("program", None), *modules])) == [
        ("program", "unknown", "", ""),
        ("modules", "gcc", "line 3", "module load gcc mpi"),
        ("", "mpi", "line 3", ""),
    ]
    assert list(understood_rows([Understood("modules", [])])) == [("modules", "none", "", "")]
    assert list(understood_rows([Understood("nodes", 4, source=COMMAND_LINE)])) == [("nodes", "4", COMMAND_LINE, "")]
