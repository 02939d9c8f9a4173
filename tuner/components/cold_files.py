# SPDX-License-Identifier: Apache-2.0
"""Drop files from the page cache, so that a run does not find those that an earlier run has read. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

LEAST = 64 << 20
"""Least total size, in bytes, at which caching matters: a slow disk reads smaller files in half a second."""
_EACH = 'for one; do [ ! -f "$one" ] || [ ! -r "$one" ] || dd if="$one" iflag=nocache count=0 status=none; done'


def command(paths: Sequence[str]) -> str:
    """Return shell commands that drop the clean pages of these files on each node of the job, without privileges.

    Missing files are skipped. Pages that a program has mapped stay.
    """
    files = shlex.join(paths)
    drop = f"sh -c '{_EACH}' cold {files}"
    on_each_node = f"srun --overlap --ntasks-per-node=1 {drop}"
    return f'sync\nif [ -n "${{SLURM_JOB_ID:-}}" ]; then {on_each_node}; else {drop}; fi'
