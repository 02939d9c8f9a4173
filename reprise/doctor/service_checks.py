# SPDX-License-Identifier: Apache-2.0
"""Check the daemon and this site's socket, database, web pages, model, Open MPI, campaigns and artifacts."""

from __future__ import annotations

import dataclasses
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config import Config, host_and_port
from reprise.database import filesystem, store
from reprise.doctor.findings import Finding, Level, from_error, ok, problem, warning
from reprise.doctor.probes import Run, hidden_by, replaceable_by_all
from reprise.endpoint import Endpoint

Ask = Callable[[Endpoint], Mapping[str, Any]]

LOCAL_TYPES = frozenset(("btrfs", "ext2", "ext3", "ext4", "ramfs", "tmpfs", "xfs", "zfs"))
PRIVATE_DIRECTORIES = tuple(Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm", "/run"))  # noqa: S108 (only names)
LOCAL, STATE, UID = 1, 3, 7
"""Columns of /proc/net/tcp: local address and port in hexadecimal, state, and uid."""
LISTENING = "0A"
START_DAEMON = "start it with `systemctl start reprise-matcher`"


def daemon(ask: Ask, endpoint: Endpoint, version: str) -> Finding:
    """Check that the daemon at an endpoint answers and has this version.

    `ask` sends a ping and returns the reply; messages of its exceptions have one line.
    """
    try:
        reply = ask(endpoint)
    except Exception as error:  # if the peer is not our daemon, the client may fail in any way
        return from_error("daemon", error, START_DAEMON)
    if reply.get("kind") != "ok":
        return problem("daemon", f"{endpoint}: answers a ping with {reply.get('kind')!r}", "restart it")
    if reply.get("version") != version:
        text = f"{endpoint}: the daemon is Reprise {reply.get('version')}, but this command is Reprise {version}"
        return problem("daemon", text, "restart the daemon after an upgrade")
    count = reply.get("records")
    return ok("daemon", f"answers on {endpoint}, knows {count} record{'s' * (count != 1)}")


def one_is_enough(daemons: Sequence[Finding]) -> list[Finding]:
    """Return the findings on the endpoints' daemons; if at least one daemon answers, problems become warnings."""
    if all(finding.level is not Level.OK for finding in daemons):
        return list(daemons)
    return [
        dataclasses.replace(finding, level=Level.WARNING) if finding.level is Level.PROBLEM else finding
        for finding in daemons
    ]


def socket(path: Path) -> Iterator[Finding]:
    """Check that every user can connect to the daemon's socket, and that not every user can replace the socket."""
    check = "socket"
    try:
        mode = path.stat().st_mode
        directory = path.parent.stat().st_mode
        closed = [parent for parent in path.parents if not parent.stat().st_mode & stat.S_IXOTH]
    except FileNotFoundError:
        return  # the daemon's own check reports a missing socket
    except OSError as error:
        yield problem(check, f"{path}: {error.strerror}", "run this as root")
        return
    if not stat.S_ISSOCK(mode):
        yield problem(check, f"{path} is not a socket", "remove it and start the daemon again")
    elif closed:
        yield problem(check, f"not every user can enter {closed[-1]}", f"chmod a+x {closed[-1]}")
    elif mode & 0o666 != 0o666:
        text = f"{path} has mode {stat.S_IMODE(mode):04o}, so not every user can connect"
        yield problem(check, text, f"chmod 666 {path}")
    elif directory & stat.S_IWOTH:
        yield problem(check, f"anyone may replace {path}", f"chmod o-w {path.parent}")
    else:
        yield ok(check, f"{path}, every user may connect")


def closed(path: Path, key: Path) -> Iterator[Finding]:
    """Check that only the owner can open the database, SQLite's files next to it, and the key that signs tokens."""
    try:
        opened = [part for part in store.parts_of(path) if store.is_open_to_others(part)]
        key_opened = key.exists() and store.is_open_to_others(key)
    except OSError as error:
        yield problem("database", f"{path}: {error.strerror}", "run this as root")
        return
    if opened:
        text = f"users other than the owner can open {opened[0]}, and could block every write"
        yield problem("database", text, f"chmod go= {path}*")
    if key_opened:
        text = f"users other than the owner can read {key}, and could sign in as any user"
        yield problem("pages", text, f"rm {key}, then restart matcher and pages")


def database(path: Path | str, examine: Callable[[Path | str], list[str]]) -> Iterator[Finding]:
    """Report the problems that `reprise db check` finds in the database."""
    found = examine(path)
    for line in found:
        yield from_error("database", line, "run `reprise db check`")
    if not found:
        yield ok("database", f"{path} is sound")


def records(path: Path, withdrawn: Callable[[Path], list[int]]) -> Iterator[Finding]:
    """Warn about records in use whose gain was measured by a method that has been withdrawn."""
    if found := withdrawn(path):
        named = ", ".join(map(str, found))
        text = (
            f"record{'s' * (len(found) > 1)} {named}: Reprise 0.1 measured the gain by the mean over ranks in one "
            "session; such rules can slow jobs"
        )
        remedy = "measure again with `reprise tune collectives`, or run `reprise records retire ID`"
        yield warning("records", text, remedy)


def campaigns(work: Path) -> Iterator[Finding]:
    """Report a problem if users other than the owner can read the files of an older release's campaigns."""
    try:
        left = [one for one in sorted(work.glob("[0-9]*-*T*")) if one.is_dir() and store.is_open_to_others(one)]
    except OSError:
        return  # another user's directory, which users other than its owner cannot read
    if left:
        text = f"{left[0]} and {len(left) - 1} more" if len(left) > 1 else f"{left[0]}"
        yield problem(
            "campaigns",
            f"users other than the owner can read copies of users' scripts in {text}",
            f"chmod go= {work}/[0-9]*-*T*",
        )


def pages(listen: str, sockets: str, service_uid: int) -> Iterator[Finding]:
    """Check which user listens on the web pages' port on this host; yield nothing if nobody does.

    `sockets` is the text of /proc/net/tcp and tcp6 (proc(5)). `service_uid` is the uid of the database's owner.
    """
    check, (_, port) = "pages", host_and_port(listen)
    rows = [fields for line in sockets.splitlines() if len(fields := line.split()) > UID and fields[STATE] == LISTENING]
    owners = {int(fields[UID]) for fields in rows if int(fields[LOCAL].rpartition(":")[2], 16) == port}
    others = sorted(owners - {0, service_uid})
    if others:
        text = f"user {others[0]} listens on port {port} and receives the tokens of everyone who connects to it"
        remedy = "stop that user's process, delete web.key next to the database, and restart matcher and pages"
        yield problem(check, text, remedy)
    elif service_uid in owners and service_uid != 0:
        text = f"the pages themselves listen on port {port}, so any user can take this port while they restart"
        yield warning(check, text, "run `systemctl enable --now reprise-web.socket reprise-web.service`")
    elif owners:
        yield ok(check, f"root listens on port {port}, as with a socket of systemd")


def model(load: Callable[[], object], name: str) -> Finding:
    """Check that the linkage model can be loaded."""
    try:
        load()
    except Exception as error:  # an invalid model file may cause any exception
        return from_error("model", error, "correct matcher.model in reprise.toml")
    return ok("model", name)


def openmpi(run: Run, config: Config) -> Finding:
    """Check that this host's release of Open MPI is one of the releases that the site declares."""
    command, releases = config.openmpi.ompi_info, config.openmpi.releases
    ran = run([command, "--version"])
    match = re.search(r"Open MPI v?(\d+\.\d+\.\d+\S*)", ran.stdout)
    if ran.status != 0 or not match:
        remedy = "set openmpi.ompi_info to the ompi_info of a release that jobs load"
        return warning("openmpi", f"`{command} --version` failed ({ran.complaint})", remedy)
    if releases and match[1] not in releases:
        text = f"{command} has release {match[1]}, but the site declares {', '.join(releases)}"
        return problem("openmpi", text, "correct openmpi.releases or openmpi.ompi_info")
    return ok("openmpi", f"{match[1]}" + ("" if releases else " (no releases declared, so assumed to be the only one)"))


def artifacts(directory: Path, nodes: int, mountinfo: str) -> Iterator[Finding]:
    """Check that all users can read artifacts on this host, and that the nodes seem to share the artifacts' directory.

    A directory under a path or on a file system that is usually local to a node gives a warning.
    """
    check = "artifacts"
    try:
        hidden = hidden_by(directory)
        unreadable = [path for path in sorted(directory.iterdir()) if path.is_file() and hidden_by(path)]
    except FileNotFoundError:
        yield warning(
            check, f"{directory} does not exist", "the first campaign creates it; or create it now on a shared path"
        )
        return
    except OSError as error:
        yield problem(
            check, f"{directory}: {error.strerror}", "set artifacts.directory to a directory that every user can read"
        )
        return
    findings = []
    if hidden:
        findings.append(problem(check, f"not every user can enter {directory}", f"chmod a+rx {hidden}"))
    elif unreadable:
        text = f"not every user can read {len(unreadable)} files, for instance {unreadable[0]}"
        findings.append(problem(check, text, f"chmod a+r {directory}/*"))
    kind = filesystem.type_of(directory.resolve(), mountinfo)
    if any(directory.is_relative_to(private) for private in PRIVATE_DIRECTORIES):
        text = f"{directory} is local to each node"
        findings.append(warning(check, text, "set artifacts.directory to a path that all nodes share"))
    elif nodes > 1 and kind in LOCAL_TYPES:
        text = f"{directory} is on a local file system ({kind})"
        findings.append(warning(check, text, "make sure that every node sees the same files there"))
    yield from findings or [ok(check, f"{directory}, readable by every user")]


def rights(paths: Sequence[Path]) -> Finding:
    """Check that ordinary users cannot change files that affect other users' jobs."""
    check = "rights"
    for path in paths:
        try:
            barrier = replaceable_by_all(path)
        except OSError as error:
            return problem(check, f"{path}: {error.strerror}", "run this as root")
        if barrier:
            return problem(check, f"any user may change {path}", f"chmod o-w {barrier}")
    return ok(check, "users cannot change files that affect other users' jobs")
