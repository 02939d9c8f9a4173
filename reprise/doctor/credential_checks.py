# SPDX-License-Identifier: Apache-2.0
"""Check how this host can prove its users' identity over TCP: with munge, or with Slurm's own credentials.

On a cluster with `AuthType=auth/slurm`, Slurm's daemons create and verify credentials for local programs. The sockets
for this, called SACK (Slurm's auth and cred kiosk), belong to sackd or slurmd, to slurmctld and to slurmdbd.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

from reprise.doctor.findings import Finding, ok, problem
from reprise.doctor.plugin_loading import package_of
from reprise.doctor.slurm_checks import Slurm
from reprise.matcher.wire.munge import LIBRARY

CHECK = "auth"
MUNGE_SOCKET = Path("/run/munge/munge.socket.2")  # default of libmunge
SACK_SOCKETS = tuple(Path(f"/run/{daemon}/sack.socket") for daemon in ("slurm", "slurmctld", "slurmdbd"))
AUTH_SLURM = "auth/slurm"


def loads(library: str) -> bool:
    """Return whether this process can load a library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def authentication(
    slurm: Slurm,
    munge_socket: Path | None = None,
    *,
    is_tcp: bool,
    sack_sockets: tuple[Path, ...] = SACK_SOCKETS,
    loads: Callable[[str], bool] = loads,
) -> Iterator[Finding]:
    """Report Slurm's AuthType and, if requests go over TCP (`is_tcp`), how they can be authenticated on this host.

    `munge_socket` is munged's socket if it is not libmunge's default.
    """
    kind = slurm.auth_type or "AuthType unknown"
    if not is_tcp:
        if slurm.auth_type:
            yield ok(CHECK, kind)
        return
    socket = munge_socket or MUNGE_SOCKET
    has_library, has_munged = loads(LIBRARY), socket.is_socket()
    methods = [f"munge ({socket})"] if has_library and has_munged else []
    methods += [f"Slurm ({path})" for path in sack_sockets if path.is_socket()]
    if methods:
        yield ok(CHECK, f"{kind}; over TCP: {', '.join(methods)}")
        return
    why = f"{socket} is no socket" if has_library else f"{LIBRARY} cannot be loaded"
    text = f"{kind}; nothing on this host can authenticate requests over TCP ({why}, and Slurm has no SACK socket)"
    munge = f"start munged (`systemctl start munge`), or correct munge_socket={socket}"
    if not has_library:
        munge = f"install munge, and {package_of(LIBRARY)}, with the same key on all hosts"
    sack = f"start sackd or slurmd, which create {SACK_SOCKETS[0]}; or {munge}"
    yield problem(CHECK, text, sack if slurm.auth_type == AUTH_SLURM else munge)
