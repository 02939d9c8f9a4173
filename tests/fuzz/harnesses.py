# SPDX-License-Identifier: Apache-2.0
"""Where the harnesses are, and how they are built."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
BUILD = HERE / "build"
CORPUS = HERE / "corpus"  # made by `make fuzz-corpus`
SEEDS = HERE / "seeds"  # made by hand, a name each: what once broke something, and what nothing may be broken by
HARNESSES = re.findall(r"^HARNESSES := (.*)$", (HERE / "Makefile").read_text(), re.MULTILINE)[0].split()


def build(kind: str, directory: Path = HERE) -> None:
    """Make the programs of a kind, `replay` or `fuzz`; one process at a time, as tests run beside each other."""
    command = ["flock", str(directory / "Makefile"), "make", "--silent", "-j2", "-C", str(directory), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
