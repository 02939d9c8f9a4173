# SPDX-License-Identifier: Apache-2.0
"""The daemon and what it works with: socket, database, model, Open MPI, artifacts."""

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
PRIVATE_DIRECTORIES = tuple(Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm", "/run"))  # noqa: S108 (to warn of)
LOCAL, STATE, UID = 1, 3, 7
"""Columns of /proc/net/tcp: address and port in hexadecimal, state, user id."""
LISTENING = "0A"
START_DAEMON = "start it with `systemctl start reprise-matcher`"


def daemon(ask: Ask, endpoint: Endpoint, version: str) -> Finding:
    """Whether the daemon answers, and is of this version. `ask` sends a ping; its exceptions are one line."""
    try:
        reply = ask(endpoint)
    except Exception as error:  # whatever a peer that is not our daemon makes of the client
        return from_error("daemon", error, START_DAEMON)
    if reply.get("kind") != "ok":
        return problem("daemon", f"{endpoint}: answers {reply.get('kind')!r} to a ping", "restart it")
    if reply.get("version") != version:
        text = f"{endpoint}: the daemon is Reprise {reply.get('version')}, this is {version}"
        return problem("daemon", text, "restart the daemon after an upgrade")
    count = reply.get("records")
    return ok("daemon", f"answers on {endpoint}, knows {count} record{'s' * (count != 1)}")


def one_is_enough(daemons: Sequence[Finding]) -> list[Finding]:
    """The findings about the endpoints of a plugin: where one daemon answers, others need not."""
    if all(finding.level is not Level.OK for finding in daemons):
        return list(daemons)
    return [
        dataclasses.replace(finding, level=Level.WARNING) if finding.level is Level.PROBLEM else finding
        for finding in daemons
    ]


def socket(path: Path) -> Iterator[Finding]:
    """Whether every user can connect to the socket, and nobody can put another one in its place."""
    check = "socket"
    try:
        mode = path.stat().st_mode
        directory = path.parent.stat().st_mode
        closed = [parent for parent in path.parents if not parent.stat().st_mode & stat.S_IXOTH]
    except FileNotFoundError:
        return  # the check of the daemon has said so
    except OSError as error:
        yield problem(check, f"{path}: {error.strerror}", "run this as root")
        return
    if not stat.S_ISSOCK(mode):
        yield problem(check, f"{path} is not a socket", "remove it and start the daemon again")
    elif closed:
        yield problem(check, f"{closed[-1]} may not be entered by every user", f"chmod a+x {closed[-1]}")
    elif mode & 0o666 != 0o666:
        yield problem(check, f"{path} has mode {stat.S_IMODE(mode):04o}, so not all can connect", f"chmod 666 {path}")
    elif directory & stat.S_IWOTH:
        yield problem(check, f"anyone may replace {path}", f"chmod o-w {path.parent}")
    else:
        yield ok(check, f"{path}, every user may connect")


def closed(path: Path, key: Path) -> Iterator[Finding]:
    """Whether anybody but their owner may open the database, a file that SQLite has beside it, or the tokens' key."""
    try:
        opened = [part for part in store.parts_of(path) if store.is_open_to_others(part)]
        key_opened = key.exists() and store.is_open_to_others(key)
    except OSError as error:
        yield problem("database", f"{path}: {error.strerror}", "run this as root")
        return
    if opened:
        text = f"{opened[0]} may be opened by others than its owner, and who can open it can stop every write"
        yield problem("database", text, f"chmod go= {path}*")
    if key_opened:
        text = f"{key} may be read by others than its owner, who can then sign in as anybody"
        yield problem("pages", text, f"rm {key}, then restart matcher and pages")


def database(path: Path, examine: Callable[[Path], list[str]]) -> Iterator[Finding]:
    """What `reprise db check` says."""
    found = examine(path)
    for line in found:
        yield from_error("database", line, "run `reprise db check`")
    if not found:
        yield ok("database", f"{path} is sound")


def records(path: Path, withdrawn: Callable[[Path], list[int]]) -> Iterator[Finding]:
    """Which records jobs are given that a withdrawn method measured; nothing where there are none."""
    if found := withdrawn(path):
        named = ", ".join(map(str, found))
        text = (
            f"record{'s' * (len(found) > 1)} {named}: Reprise 0.1 measured the gain by the mean over ranks, in one "
            "session, and such rules can slow jobs"
        )
        remedy = "measure again with `reprise tune collectives`, or run `reprise db records retire ID`"
        yield warning("records", text, remedy)


def campaigns(work: Path) -> Iterator[Finding]:
    """Whether others may read what campaigns of an older release left; nothing where there is nothing to say."""
    try:
        left = [one for one in sorted(work.glob("[0-9]*-*T*")) if one.is_dir() and store.is_open_to_others(one)]
    except OSError:
        return  # it is another user's, and so closed
    if left:
        text = f"{left[0]} and {len(left) - 1} more" if len(left) > 1 else f"{left[0]}"
        yield problem(
            "campaigns", f"others may read copies of users' scripts in {text}", f"chmod go= {work}/[0-9]*-*T*"
        )


def pages(listen: str, sockets: str, service_uid: int) -> Iterator[Finding]:
    """Who holds the port of the pages, on this host; nothing where nobody does.

    `sockets` is the text of /proc/net/tcp and tcp6 (proc(5)), `service_uid` the user whose the database is.
    """
    check, (_, port) = "pages", host_and_port(listen)
    rows = [fields for line in sockets.splitlines() if len(fields := line.split()) > UID and fields[STATE] == LISTENING]
    owners = {int(fields[UID]) for fields in rows if int(fields[LOCAL].rpartition(":")[2], 16) == port}
    others = sorted(owners - {0, service_uid})
    if others:
        text = f"port {port} is held by user {others[0]}, who receives the tokens of whoever asks there"
        remedy = "end what that user runs there, delete web.key beside the database, and restart matcher and pages"
        yield problem(check, text, remedy)
    elif service_uid in owners and service_uid != 0:
        text = f"port {port} is held by the pages themselves, so any user can take it while they restart"
        yield warning(check, text, "run `systemctl enable --now reprise-web.socket reprise-web.service`")
    elif owners:
        yield ok(check, f"port {port} is held by root, as for a socket of systemd's")


def model(load: Callable[[], object], name: str) -> Finding:
    """Whether the linkage model can be loaded."""
    try:
        load()
    except Exception as error:  # a model file can be wrong in ways that only its loader knows
        return from_error("model", error, "correct matcher.model in reprise.toml")
    return ok("model", name)


def openmpi(run: Run, config: Config) -> Finding:
    """Whether the Open MPI that is found is one that the site declares."""
    command, releases = config.openmpi.ompi_info, config.openmpi.releases
    said = run([command, "--version"])
    match = re.search(r"Open MPI v?(\d+\.\d+\.\d+\S*)", said.stdout)
    if said.status != 0 or not match:
        remedy = "set openmpi.ompi_info to the command of a release that jobs load"
        return warning("openmpi", f"`{command} --version` failed ({said.complaint})", remedy)
    if releases and match[1] not in releases:
        text = f"{command} is of release {match[1]}, declared are {', '.join(releases)}"
        return problem("openmpi", text, "correct openmpi.releases or openmpi.ompi_info")
    return ok("openmpi", f"{match[1]}" + ("" if releases else " (none declared, so taken to be the only one)"))


def artifacts(directory: Path, nodes: int, mountinfo: str) -> Iterator[Finding]:
    """Whether jobs of all users on all nodes can read artifacts; the latter as far as one host can tell."""
    check = "artifacts"
    try:
        hidden = hidden_by(directory)
        unreadable = [path for path in sorted(directory.iterdir()) if path.is_file() and hidden_by(path)]
    except FileNotFoundError:
        yield warning(
            check, f"{directory} does not exist", "the first campaign makes it, or do it now on a shared path"
        )
        return
    except OSError as error:
        yield problem(
            check, f"{directory}: {error.strerror}", "set artifacts.directory to a directory that all can read"
        )
        return
    findings = []
    if hidden:
        findings.append(problem(check, f"not every user can enter {directory}", f"chmod a+rx {hidden}"))
    elif unreadable:
        text = f"{len(unreadable)} files, {unreadable[0]} the first, may not be read by every user"
        findings.append(problem(check, text, f"chmod a+r {directory}/*"))
    kind = filesystem.type_of(directory.resolve(), mountinfo)
    if any(directory.is_relative_to(private) for private in PRIVATE_DIRECTORIES):
        text = f"{directory} is where each node has files of its own"
        findings.append(warning(check, text, "set artifacts.directory to a path that all nodes share"))
    elif nodes > 1 and kind in LOCAL_TYPES:
        text = f"{directory} is on a local file system ({kind})"
        findings.append(warning(check, text, "make sure that every node sees the same files there"))
    yield from findings or [ok(check, f"{directory}, readable by all")]


def rights(paths: Sequence[Path]) -> Finding:
    """Whether any user could change what decides about other users' jobs."""
    check = "rights"
    for path in paths:
        try:
            barrier = replaceable_by_all(path)
        except OSError as error:
            return problem(check, f"{path}: {error.strerror}", "run this as root")
        if barrier:
            return problem(check, f"any user may change {path}", f"chmod o-w {barrier}")
    return ok(check, "nothing that decides about jobs may be changed by all users")
