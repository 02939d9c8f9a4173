# SPDX-License-Identifier: Apache-2.0
"""Files that a run is not to find in the page cache because an earlier one has read them. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

LEAST = 64 << 20
"""Bytes of all files from which on it matters whether they are in memory: a slow disk reads fewer in half a second."""
_EACH = 'for one; do [ ! -f "$one" ] || [ ! -r "$one" ] || dd if="$one" iflag=nocache count=0 status=none; done'


def command(paths: Sequence[str]) -> str:
    """Lines of shell that drop the clean pages of these files on each node of the job; no rights are needed for it.

    Files that are no longer there are passed over. Pages that a program has mapped stay.
    """
    files = shlex.join(paths)
    drop = f"sh -c '{_EACH}' cold {files}"
    on_each_node = f"srun --overlap --ntasks-per-node=1 {drop}"
    return f'sync\nif [ -n "${{SLURM_JOB_ID:-}}" ]; then {on_each_node}; else {drop}; fi'
