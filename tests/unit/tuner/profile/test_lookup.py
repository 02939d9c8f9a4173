# SPDX-License-Identifier: Apache-2.0
"""Test that a preloaded library can look up functions while the program's threads load other libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "odd_loading.c"


def test_a_thread_that_loads_a_library_is_not_waited_for(tmp_path: Path) -> None:
    program, library = tmp_path / "odd_loading", tmp_path / "none.so"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-pthread", SOURCE, "-o", program, "-ldl"], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", library], input="int none;", text=True, check=True)
    subprocess.run([program, library], check=True, timeout=120)
