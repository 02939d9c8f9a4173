# SPDX-License-Identifier: Apache-2.0
"""Shell commands that drop files from the page cache, so that a run does not profit from an earlier run's reads."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

LEAST = 64 << 20
"""Minimum total size, in bytes, of files for which caching matters. Even a slow disk reads smaller files in half a
second."""
_EACH = 'for one; do [ ! -f "$one" ] || [ ! -r "$one" ] || dd if="$one" iflag=nocache count=0 status=none; done'


def command(paths: Sequence[str]) -> str:
    """Return shell commands that drop the clean pages of files on each node of a job, without any privileges.

    The commands skip missing files. Pages that a program has mapped stay in the cache.
    """
    files = shlex.join(paths)
    drop = f"sh -c '{_EACH}' cold {files}"
    on_each_node = f"srun --overlap --ntasks-per-node=1 {drop}"
    return f'sync\nif [ -n "${{SLURM_JOB_ID:-}}" ]; then {on_each_node}; else {drop}; fi'
