# SPDX-License-Identifier: Apache-2.0
"""Paths of the harnesses, and their build."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
BUILD = HERE / "build"
CORPUS = HERE / "corpus"  # made by `make fuzz-corpus`
SEEDS = HERE / "seeds"  # made by hand, each named after its case: inputs that once broke something, or must never
HARNESSES = re.findall(r"^HARNESSES := (.*)$", (HERE / "Makefile").read_text(), re.MULTILINE)[0].split()


def build(kind: str, directory: Path = HERE) -> None:
    """Build the programs of a kind, `replay` or `fuzz`; one process at a time, because tests run concurrently."""
    command = ["flock", str(directory / "Makefile"), "make", "--silent", "-j2", "-C", str(directory), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
