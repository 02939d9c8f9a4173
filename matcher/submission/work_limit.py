# SPDX-License-Identifier: Apache-2.0
"""Limit on the work spent on reading one script, counted in steps so that results do not depend on timing."""

from __future__ import annotations

from dataclasses import dataclass

WORK_LIMIT = 6_000
"""Maximum number of steps that are spent on one script; a step takes about a microsecond.

The aim is to read any script within 20 ms. The worst scripts that were found by an evolutionary search for slow scripts
of 128 KiB take 9 to 11 ms. The limit allows some 260 lines of commands before the program; comments and here-documents
cost next to nothing.
"""
CHARACTERS_PER_STEP = 64
"""Number of characters that are copied, or matched by one regular expression, in one step."""


class OutOfWorkError(Exception):
    """The work limit is used up, so the rest of the script is not read."""


@dataclass
class Work:
    """Number of steps left for reading one script."""

    left: int = WORK_LIMIT

    def spend(self, steps: int, characters: int = 0) -> None:
        """Subtract the cost of some work from the steps left. Raises OutOfWorkError if too few steps are left."""
        # Most calls pass no characters; skipping the division makes reading a script 1 % faster.
        self.left -= steps + characters // CHARACTERS_PER_STEP if characters else steps
        if self.left < 0:
            raise OutOfWorkError
