# SPDX-License-Identifier: Apache-2.0
"""How much work reading one script may be: counted, not timed, so that the same script always reads the same."""

from __future__ import annotations

from dataclasses import dataclass

WORK_LIMIT = 6_000
"""Steps of about a microsecond each. The worst scripts that a search found (128 KiB, bred for cost) take 9 to 11 ms; 20
are promised. Some 260 lines of commands are read before the program; comments and here-documents are free."""
CHARACTERS_PER_STEP = 64
"""What handling text in bulk costs (copying it, matching one expression)."""


class OutOfWorkError(Exception):
    """The script is read no further."""


@dataclass
class Work:
    """What is left of the work that one script may be."""

    left: int = WORK_LIMIT

    def spend(self, steps: int, characters: int = 0) -> None:
        """Count work. Raises OutOfWorkError where none is left."""
        # Most calls count no characters; not dividing then makes reading a script 1 % faster.
        self.left -= steps + characters // CHARACTERS_PER_STEP if characters else steps
        if self.left < 0:
            raise OutOfWorkError
