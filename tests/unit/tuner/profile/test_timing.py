# SPDX-License-Identifier: Apache-2.0
"""Test that the total time that the witness estimates from sampled calls does not depend on which calls are long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "odd_timing.c"
CALLS = 200_000


def test_calls_that_wait_at_regular_distances_are_timed_as_often_as_others(tmp_path: Path) -> None:
    program = tmp_path / "odd_timing"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", SOURCE, "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = [tuple(map(int, line.split())) for line in said.splitlines()]
    assert len(found) == 32
    assert all(500 < counted < 2000 and CALLS - 31 < calls <= CALLS for counted, calls in found), found
