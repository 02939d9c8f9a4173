# SPDX-License-Identifier: Apache-2.0
"""The type of a path's file system, and whether it is a network file system.

In WAL mode, SQLite keeps an index in memory that only processes on the same host can share. If several hosts used a
database on a network file system, SQLite would silently lose data (https://sqlite.org/wal.html).
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

MOUNTS = Path("/proc/self/mountinfo")

# The kernel's names of network file system types. FUSE types are listed one by one, because many of them are local.
# fmt: off
NETWORK_TYPES = frozenset((
    "9p", "acfs", "afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "coda", "gfs", "gfs2", "gpfs",
    "lustre", "mmfs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "scoutfs", "smb2",
    "smb3", "smbfs", "wekafs",
))
NETWORK_FUSE = frozenset((
    "afp", "beegfs", "ceph", "ceph-fuse", "curlftpfs", "cvmfs2", "davfs", "dfuse", "gcsfuse", "glusterfs",
    "goofys", "juicefs", "lizardfs", "mfs", "moosefs", "quobyte", "rclone", "s3fs", "seaweedfs",
    "smbnetfs", "sshfs", "unifyfs",
))
# fmt: on


def type_of(path: Path, mountinfo: str) -> str:
    """Return the type of the file system that contains `path` (absolute, without symbolic links), or "" if unknown.

    `mountinfo` is the text of /proc/self/mountinfo (proc_pid_mountinfo(5)). If several file systems are mounted on one
    mount point, the last one counts, because it hides the others.
    """
    best, best_depth = "", 0
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = PurePosixPath(_unescape(fields[4]))
        if path.is_relative_to(point) and len(point.parts) >= best_depth:
            best, best_depth = right.split(" ", 1)[0], len(point.parts)
    return best


def is_network(kind: str) -> bool:
    """Return whether `kind` is the type of a network file system."""
    if kind.startswith("fuse."):
        return kind.removeprefix("fuse.") in NETWORK_FUSE
    return kind in NETWORK_TYPES


def network_type(path: Path) -> str | None:
    """Return the type of the network file system that contains `path`; None if the file system is local or unknown."""
    resolved = path.resolve()
    for existing in (resolved, *resolved.parents):
        if os.path.exists(existing):  # noqa: PTH110 (no PermissionError); mounts an automounted path
            break
    try:
        kind = type_of(resolved, MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError:
        return None
    return kind if is_network(kind) else None


def _unescape(text: str) -> str:
    """Decode the octal escapes that the kernel writes for space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
