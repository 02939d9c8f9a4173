# SPDX-License-Identifier: Apache-2.0
"""Limit of the work for one script, counted rather than timed, so that results do not depend on the time."""

from __future__ import annotations

from dataclasses import dataclass

WORK_LIMIT = 6_000
"""Steps of about a microsecond each. The worst scripts found by a search (128 KiB, bred for cost) take 9 to 11 ms.

The promise is 20 ms. Some 260 lines of commands are read before the program; comments and here-documents are free.
"""
CHARACTERS_PER_STEP = 64
"""Characters that are copied or matched by one expression in a step."""


class OutOfWorkError(Exception):
    """The rest of the script is not read."""


@dataclass
class Work:
    """Steps left for one script."""

    left: int = WORK_LIMIT

    def spend(self, steps: int, characters: int = 0) -> None:
        """Count work. Raises OutOfWorkError if none is left."""
        # Most calls count no characters; skipping the division makes reading a script 1 % faster.
        self.left -= steps + characters // CHARACTERS_PER_STEP if characters else steps
        if self.left < 0:
            raise OutOfWorkError
