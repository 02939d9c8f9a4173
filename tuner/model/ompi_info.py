# SPDX-License-Identifier: Apache-2.0
"""Query of the installed Open MPI with `ompi_info --all --parsable`."""

from __future__ import annotations

import subprocess

from reprise.tuner.errors import TunerError

TIMEOUT_S = 30.0


def ask(command: str) -> str:
    """Run `command` (an `ompi_info`) and return its description of the Open MPI build, as text.

    Raise TunerError with one line if the command fails.
    """
    argv = [command, "--all", "--parsable"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except OSError as error:
        raise TunerError(
            f"{command}: cannot be run ({error.strerror}): install Open MPI or set openmpi.ompi_info to its path"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise TunerError(f"{command}: no answer within {TIMEOUT_S:.0f} s: run it by hand to see why") from error
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no message"]
        raise TunerError(f"{command}: exit {done.returncode} ({words[-1]}): run it by hand to see why")
    return done.stdout
