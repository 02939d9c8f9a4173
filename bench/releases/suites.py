# SPDX-License-Identifier: Apache-2.0
"""Parts of the benchmark that are tests of this repository: `make test-matrix`, and a test of `make test-packages`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.matrix.results import NEWEST
from tests.places import ROOT

TIMEOUT_S = 3 * 3600


def matrix(finished: Path | None = None) -> dict[str, Any]:
    """Run all tests of `make test-matrix`, or read the results of a `finished` run.

    Return {"date", "results"}, with {"software", "system", "passed", "checks"} for each release. Raise RuntimeError
    if the tests did not run to their end.
    """
    if not finished:
        NEWEST.unlink(missing_ok=True)
        _run(["-m", "tests.matrix"])
        output = _run(["-m", "pytest", "-q", "-m", "matrix", "tests/matrix"])
        if not NEWEST.exists():
            raise RuntimeError(f"make test-matrix has no results: {output[-1000:]}")
    found: dict[str, Any] = json.loads((finished or NEWEST).read_text())
    return found


def install_commands() -> int:
    """Build packages, and follow the quickstart on a clean Debian 12; return the number of commands that it takes.

    Raise RuntimeError if the test fails.
    """
    chosen = ["-m", "packages", "-k", "few_commands and 22", "tests/packages/test_install.py"]
    output = _run(["-m", "pytest", "-q", "-s", "--timeout=1800", *chosen])
    told = re.search(r'"install_commands": (\d+)', output)
    if not told or " failed" in output.splitlines()[-1]:
        raise RuntimeError(f"the packages' test failed: {output[-1000:]}")
    return int(told[1])


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout
