# SPDX-License-Identifier: Apache-2.0
"""The paths and names of the harnesses, and the function that builds them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
BUILD = HERE / "build"
CORPUS = HERE / "corpus"  # inputs that `make fuzz-corpus` found
SEEDS = HERE / "seeds"  # handwritten inputs, named after their cases, that once broke the plugin or could break it
FORWARDER = HERE.parents[1] / "accelerators/forward/forwarder"
HARNESSES = " ".join(re.findall(r"^[A-Z]+_HARNESSES := (.*)$", (HERE / "Makefile").read_text(), re.MULTILINE)).split()


def build(kind: str, directory: Path = HERE) -> None:
    """Build the programs of a kind, `replay` or `fuzz`, under a lock, because tests run concurrently."""
    command = ["flock", str(directory / "Makefile"), "make", "--silent", "-j2", "-C", str(directory), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
