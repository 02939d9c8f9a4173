# SPDX-License-Identifier: Apache-2.0
"""Functions that run commands to build a virtual cluster.

This module imports only the standard library, because `init.py`, which runs with the system's Python, uses it.
"""

from __future__ import annotations

import subprocess


def run(*argv: str, stdin: str = "") -> None:
    """Run a command. Raise RuntimeError with the command's error output if it fails."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")


def succeeds(*argv: str) -> bool:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
