# SPDX-License-Identifier: Apache-2.0
"""The variables that the plugin sets in a job, no other ones, whatever a reply or a record says; and what it tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A name ends where the pattern ends; `*` stands for one or more of A-Z a-z 0-9 _.
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
# Told where they are set, since a component is in their way, and never set.
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
"""Names a library, `sro` for libreprise_sro.so: the plugin appends it to LD_PRELOAD, from a directory of the site's."""


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(pattern.replace("*", "[A-Za-z0-9_]+") for pattern in patterns))


_ALLOWED = _any_of(ALLOW_LIST)
_TOLD = _any_of((*ALLOW_LIST, *TOLD_LIST))


def is_allowed(name: str) -> bool:
    """Whether the plugin would set a variable of this name."""
    return _ALLOWED.fullmatch(name) is not None


def is_told(name: str) -> bool:
    """Whether the plugin tells that a variable of this name is set, as it does of all that it would set."""
    return _TOLD.fullmatch(name) is not None
