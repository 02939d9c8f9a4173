# SPDX-License-Identifier: Apache-2.0
"""Builds of the tests' tuner plugin."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.places import UNIT


def built(directory: Path, macro: str = "INITIAL=0") -> Path:
    """Return the tuner plugin, built with a macro of nccl_tuner.c."""
    library = directory / "libnccl-tuner-test.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-D{macro}", UNIT / "nccl_tuner.c", "-o", library], check=True)
    return library
