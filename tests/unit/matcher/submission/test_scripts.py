# SPDX-License-Identifier: Apache-2.0
"""Test a corpus of realistic batch scripts; for each script, a YAML file of the same name has the expected metadata."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.matcher.submission import SCRIPT_LIMIT, Script, Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from tests.places import UNIT

SCRIPTS = sorted((UNIT / "scripts").glob("*.sh"))
DIRECTORY = "/home/ada/run"


def submission(script: Path, how: dict[str, Any]) -> Submission:
    """Return the submission `sbatch SCRIPT`, changed by `how` (the key `submission` of the YAML file).

    `how` may have the keys `command`, `argv` (options of the command), `arguments` (arguments of the script), `env`,
    and `script: false` if the client sees no script.
    """
    command = how.get("command", "sbatch")
    seen = how.get("script", True)
    named = [script.name, *how.get("arguments", [])] if seen and command == "sbatch" else []
    text = script.read_bytes().decode(errors="replace")
    return Submission(
        command,
        (command, *how.get("argv", []), *named) if command != "batch" else (),
        DIRECTORY,
        how.get("env", {}),
        (),
        Script(script.name, text) if seen else None,
    )


def expected(script: Path, fields: dict[str, Any]) -> JobMetadata:
    """Return the metadata that the YAML file expects.

    If the file has no key `programs`, the job is expected to run only the program in `program` or `path`.
    """
    path = fields.get("path", "")
    program = fields.get("program", path.rpartition("/")[2])
    only = [program] if program else []
    given = {"job_name": script.name, "program": program, "programs": only, "directory": DIRECTORY, **fields}
    return JobMetadata.from_json({"user": "ada", **given})


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_gives_the_metadata_in_its_yaml_file(script: Path) -> None:
    fields = yaml.safe_load(script.with_suffix(".yaml").read_text())
    how = fields.pop("submission", {})
    found = parse(submission(script, how), user="ada", submit_time=0.0)
    assert dataclasses.replace(found, script="", script_path="", mpi_signs=()) == expected(script, fields)


SORTS = (
    *("srun", "mpirun", "mpiexec", "mpiexec.hydra", "prun", "ibrun", "jsrun", "aprun"),
    *("apptainer", "docker", "python", "for", "while", "module", "<<", "\\"),
)


def test_the_corpus_has_scripts_of_every_kind() -> None:
    assert len(SCRIPTS) >= 230
    words = {word for script in SCRIPTS for word in re.findall(rb"[\w.]+|<<|\\$", script.read_bytes(), re.MULTILINE)}
    assert {sort.encode() for sort in SORTS} <= words
    how = [yaml.safe_load(script.with_suffix(".yaml").read_text()).get("submission", {}) for script in SCRIPTS]
    assert any("--wrap" in one.get("argv", ()) for one in how)
    assert any(one.get("script", True) is False and "--wrap" not in one.get("argv", ()) for one in how)
    assert all(len(script.read_bytes()) <= SCRIPT_LIMIT for script in SCRIPTS)
