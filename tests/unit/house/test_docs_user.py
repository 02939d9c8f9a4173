# SPDX-License-Identifier: Apache-2.0
"""Test that the lines for profiles on the page for users switch Reprise off in each shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reprise.matcher.support.job_line import WITHOUT_DECISION
from tests.places import ROOT

PAGE = (ROOT / "docs/how-to/user.md").read_text()
SECTION = PAGE.partition("\n## Switch Reprise off for all your jobs\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (\w+) \| (.*?) \| `(.*?)` \|$", SECTION, re.MULTILINE)
PROFILES = [(shell, file, line) for shell, files, line in ROWS for file in re.findall(r"`~/([\w.]+)`", files)]


def test_the_page_has_the_usual_shells_and_the_words_of_the_command() -> None:
    assert {shell for shell, _, _ in PROFILES} == {"bash", "zsh", "tcsh"} and len(PROFILES) == 4
    assert f"`{WITHOUT_DECISION['off']}`" in SECTION


@pytest.mark.parametrize(("shell", "file", "line"), PROFILES)
def test_programs_that_a_login_shell_starts_have_the_variable(shell: str, file: str, line: str, tmp_path: Path) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"needs {shell}")
    command = [program, "-l", "-c", "printenv REPRISE"]
    if shell == "tcsh":  # reads ~/.login only without other options, as a login does
        command = ["bash", "-c", f"exec -a -tcsh {program} <<< 'printenv REPRISE'"]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    assert "off" not in output(command, environment)
    (tmp_path / file).write_text(f"{line}\n")
    assert output(command, environment)[-1:] == ["off"]


def output(command: list[str], environment: dict[str, str]) -> list[str]:
    """Return the lines that a command prints, after those of a shell without a terminal."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.splitlines()
