# SPDX-License-Identifier: Apache-2.0
"""The variables that the plugin sets in a job: no other ones, whatever a reply or a record says."""

from __future__ import annotations

import re

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
    "REPRISE_*",
)
PRELOAD_VARIABLE = "REPRISE_PRELOAD"
"""Names a library, `sro` for libreprise_sro.so: the plugin appends it to LD_PRELOAD, from a directory of the site's."""
_ALLOWED = re.compile("|".join(pattern.replace("*", "[A-Za-z0-9_]+") for pattern in ALLOW_LIST))


def is_allowed(name: str) -> bool:
    """Whether the plugin would set a variable of this name."""
    return _ALLOWED.fullmatch(name) is not None
