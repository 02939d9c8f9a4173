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
from reprise.matcher.wire.credentials import USUAL, CredentialSettings, MethodName
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
    settings: CredentialSettings = USUAL,
    *,
    is_tcp: bool,
    sack_sockets: tuple[Path, ...] = SACK_SOCKETS,
    loads: Callable[[str], bool] = loads,
) -> Iterator[Finding]:
    """Report Slurm's AuthType and, if requests go over TCP (`is_tcp`), how they can be authenticated on this host.

    `settings` are those of the plugin or of commands; `sack_sockets` are the default paths of Slurm's sockets.
    """
    kind = slurm.auth_type or "AuthType unknown"
    if not is_tcp:
        if slurm.auth_type:
            yield ok(CHECK, kind)
        return
    munge_socket = Path(settings.munge_socket or MUNGE_SOCKET)
    sockets = (Path(settings.sack_socket),) if settings.sack_socket else sack_sockets
    has_library = loads(LIBRARY)
    found: dict[MethodName, list[str]] = {
        "munge": [f"munge ({munge_socket})"] if has_library and _is_socket(munge_socket) else [],
        "slurm": [f"Slurm ({path})" for path in sockets if _is_socket(path)],
    }
    usable = found[settings.method] if settings.method else [*found["munge"], *found["slurm"]]
    if usable:
        yield ok(CHECK, f"{kind}; over TCP: {', '.join(usable)}")
        return
    faults = _faults(settings, munge_socket, has_library=has_library)
    if settings.method:
        missing, remedy = faults[settings.method]
        text = f"{kind}; requests over TCP need credential={settings.method}, but {missing}"
        unused = "" if not any(found.values()) else f"; or remove credential={settings.method}"
        yield problem(CHECK, text, remedy + unused)
        return
    why = ", and ".join(missing for missing, _ in faults.values())
    text = f"{kind}; nothing on this host can authenticate requests over TCP ({why})"
    (_, munge), (_, sack) = faults["munge"], faults["slurm"]
    yield problem(CHECK, text, f"{sack}; or {munge}" if slurm.auth_type == AUTH_SLURM else munge)


def _faults(
    settings: CredentialSettings, munge_socket: Path, *, has_library: bool
) -> dict[MethodName, tuple[str, str]]:
    """Return, for each method, what this host lacks for it, and the remedy."""
    faults: dict[MethodName, tuple[str, str]] = {
        "munge": (
            f"{munge_socket} is no socket",
            f"start munged (`systemctl start munge`), or correct munge_socket={munge_socket}",
        ),
        "slurm": ("Slurm has no SACK socket", f"start sackd or slurmd, which create {SACK_SOCKETS[0]}"),
    }
    if not has_library:
        install = f"install munge, and {package_of(LIBRARY)}, with the same key on all hosts"
        faults["munge"] = (f"{LIBRARY} cannot be loaded", install)
    if path := settings.sack_socket:
        faults["slurm"] = (f"{path} is no socket", f"start sackd or slurmd, or correct sack_socket={path}")
    return faults


def _is_socket(path: Path) -> bool:
    """Return whether a path is a socket that this process can reach."""
    try:
        return path.is_socket()
    except OSError:  # in a directory that this user may not enter
        return False
