# SPDX-License-Identifier: Apache-2.0
"""Compiled function that hashes the names in a symbol table."""

import numpy as np
import numpy.typing as npt

def name_numbers(table: bytes, starts: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return the FNV-1a hashes of the names that begin at the offsets `starts` in a table of NUL-terminated names.

    Versions (`@GLIBC_2.4`) and compilers' suffixes (`.isra.0`) are removed, and `__printf_chk` counts as `printf`.
    Empty names, and names that begin beyond the table, are left out.
    """
