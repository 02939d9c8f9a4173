# SPDX-License-Identifier: Apache-2.0
"""Environment variables that the plugin may set in a job, and those that it reports to the matcher.

The plugin sets no other variables, regardless of what a reply or a record contains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# A pattern matches a whole name; `*` stands for one or more of A-Z a-z 0-9 _.
ALLOW_LIST = (
    "OMPI_MCA_*",
    "PRTE_MCA_*",
    "PMIX_MCA_*",
    "ROMIO_HINTS",
    "ROMIO_*",
    "PNETCDF_HINTS",
    "SRO_*",
    "SBB_*",
    "FASTIO_*",
    "UCX_RNDV_THRESH",
    "UCX_ZCOPY_THRESH",
    "UCX_RNDV_SCHEME",
    "SLURM_DISTRIBUTION",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_SCHEDULE",
    "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "GLIBC_TUNABLES",
    "REPRISE_*",
)
# Variables that the plugin never sets, but reports if they are set, because they may conflict with a component.
TOLD_LIST = (
    "LD_PRELOAD",
    "UCX_*",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "OPENBLAS_*",
    "GOTO_*",
    "MKL_*",
    "BLIS_*",
    "MALLOC_*",
    "MIMALLOC_*",
    "TCMALLOC_*",
)
PRELOAD_VARIABLE = "REPRISE_PRELOAD"
"""Variable that names one of Reprise's libraries, for example `sro` for libreprise_sro.so.

The plugin takes this library from a directory that the site sets, and appends it to LD_PRELOAD.
"""


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(pattern.replace("*", "[A-Za-z0-9_]+") for pattern in patterns))


_ALLOWED = _any_of(ALLOW_LIST)
_TOLD = _any_of((*ALLOW_LIST, *TOLD_LIST))


def is_allowed(name: str) -> bool:
    """Return whether the plugin may set a variable with this name."""
    return _ALLOWED.fullmatch(name) is not None


def is_told(name: str) -> bool:
    """Return whether the plugin reports a variable with this name if a job has set it.

    The plugin reports the variables that it may set, and those in TOLD_LIST.
    """
    return _TOLD.fullmatch(name) is not None
