# SPDX-License-Identifier: Apache-2.0
"""Names of a symbol table as numbers, compiled."""

import numpy as np
import numpy.typing as npt

def name_numbers(table: bytes, starts: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return the FNV-1a number of each name that begins at one of `starts` in a table of NUL-terminated names.

    A name ends at a version (`@GLIBC_2.4`) and at a compiler's suffix (`.isra.0`); `__printf_chk` is `printf`. Empty
    names and those that begin beyond the table are left out.
    """
