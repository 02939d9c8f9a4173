# SPDX-License-Identifier: Apache-2.0
"""Names by which forwarders know jobs.

The forwarding library gives a job's number, and a word if the job forbids something (read_job in
accelerators/forward/client/settings.c). Other clients give any name: it is a claim, which nobody confirms.
"""

from __future__ import annotations

import re

STEADY = "-steady"
"""End of the name of a job that forbids exploring (REPRISE_FORWARD_EXPLORE=no)."""

_NAME = re.compile(f"([1-9][0-9]{{0,9}})(?:{STEADY})?")
_NUMBERS = 2**32  # Slurm's numbers of jobs have 32 bits


def job_number(name: str) -> int | None:
    """Return the number in a name that the forwarding library gives; None if it is another name."""
    found = _NAME.fullmatch(name)
    number = int(found[1]) if found else _NUMBERS
    return number if number < _NUMBERS else None
