# SPDX-License-Identifier: Apache-2.0
"""The MPI library among the libraries that an executable needs, found in the same way as in spank/executable.c."""

from __future__ import annotations

import re
from collections.abc import Iterable

MPI_LIBRARY_LIMIT = 32
"""Maximum number of characters of an MPI library's name; longer names are ignored."""
_LIBRARY = re.compile(rb"libmpi[A-Za-z0-9_+.-]*")


def mpi_library(names: bytes, starts: Iterable[int]) -> str:
    """Return the first needed library whose name begins with `libmpi`, such as `libmpi.so.40`; "" if there is none.

    `names` is a table of NUL-terminated names, and `starts` are the positions of the needed libraries' names in it.
    """
    for start in starts:
        name = names[start : start + MPI_LIBRARY_LIMIT + 1].partition(b"\0")[0]
        if len(name) <= MPI_LIBRARY_LIMIT and b".so" in name and _LIBRARY.fullmatch(name):
            return name.decode()
    return ""
