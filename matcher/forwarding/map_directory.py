# SPDX-License-Identifier: Apache-2.0
"""Maps: files that name the forwarders of each running job, read by the forwarding library in the job.

The map of a job is the file with the job's number in one directory that all nodes share. Its form is that of
accelerators/forward/client/map.h: a first line, and then one address per line. A map is always whole: it is written to
a temporary file, which then takes the map's name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprise.config import forwarder_address
from reprise.matcher.errors import ArbiterError, ServiceError

FIRST_LINE = "reprise-forwarders 1"
MOST_BYTES = 65_536
"""Maximum size of a map; the library refuses larger ones."""
FILE_MODE = 0o644  # jobs' users read their maps, and the arbiter may not give files to them
DIRECTORY_MODE = 0o711  # users can open the map of a job that they know, but cannot list the jobs
LOCK = ".lock"
BURSTS = "bursts.env"
"""Name of the file that `accelerators/forward/slurm/burst_buffer.lua` reads."""
LOCK_PATIENCE_S = 1.0  # longer than a command holds the lock to see whether an arbiter runs
_JOB = re.compile(r"[1-9][0-9]{0,9}")
_TEMPORARY = re.compile(r"\.([1-9][0-9]{0,9}|burst-[0-9a-f]+|bursts\.env)\.new")


def map_text(addresses: Sequence[str]) -> str:
    """Return the content of a map."""
    return "".join(f"{line}\n" for line in (FIRST_LINE, *addresses))


def addresses_in(content: bytes) -> tuple[str, ...]:
    """Return the addresses in a map. Raise ArbiterError if the library would refuse the map."""
    lines = os.fsdecode(content).split("\n")
    if len(content) > MOST_BYTES or lines[0] != FIRST_LINE or lines[-1] or len(lines) < 2:
        raise ArbiterError(f"a map has at most {MOST_BYTES} bytes, begins with {FIRST_LINE!r} and ends with a newline")
    try:
        return tuple(forwarder_address(line) for line in lines[1:-1])
    except ValueError as error:
        raise ArbiterError(f"a map has a wrong address: {error}") from error


class MapDirectory:
    """Directory of the maps. Only one arbiter at a time can hold it; `hold` must be called before all else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1

    def hold(self, patience_s: float = LOCK_PATIENCE_S) -> None:
        """Create the directory if it is missing, lock it until `release`, and remove what a killed arbiter left.

        Raise ServiceError if another arbiter holds it, or if other users can write there.
        """
        try:
            self._create()
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._take_lock(time.monotonic() + patience_s)
            for file in self.path.iterdir():
                if _TEMPORARY.fullmatch(file.name):
                    file.unlink(missing_ok=True)
        except OSError as error:
            self.release()
            raise ServiceError(
                f"{self.path}: maps cannot be kept there ({error.strerror}): make the directory, writable by the "
                "arbiter's user, on a file system with locks (flock), or set forwarding.maps to another one"
            ) from error
        except ServiceError:
            self.release()
            raise

    def release(self) -> None:
        """Let another arbiter hold the directory."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def read(self) -> Mapping[int, tuple[str, ...] | None]:
        """Return the addresses in all maps, by job; None if a map is damaged. Raise OSError."""
        found: dict[int, tuple[str, ...] | None] = {}
        for file in self.path.iterdir():
            if _JOB.fullmatch(file.name):
                found[int(file.name)] = None
                with contextlib.suppress(OSError, ArbiterError):
                    found[int(file.name)] = addresses_in(_content(file))
        return found

    def write(self, job: int, addresses: Sequence[str]) -> None:
        """Write a job's map; a reader sees the old map or the new one, whatever happens. Raise OSError."""
        self._write(str(job), map_text(addresses))

    def _write(self, name: str, text: str) -> None:
        temporary = self.path / f".{name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
            os.fchmod(file.fileno(), FILE_MODE)  # whatever the umask is
            file.write(os.fsencode(text))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / name)
        self._sync()

    def write_named(self, name: str, addresses: Sequence[str]) -> None:
        """Write a map that is no single job's, unless it is there. Raise OSError."""
        if not (self.path / name).exists():
            self._write(name, map_text(addresses))

    def write_variables(self, variables: Mapping[str, str]) -> None:
        """Write the variables of jobs with burst buffers, one in each line of the file `BURSTS`. Raise OSError."""
        self._write(BURSTS, "".join(f"{name}={value}\n" for name, value in variables.items()))

    def remove(self, job: int) -> None:
        """Remove a job's map, if there is one. Raise OSError."""
        (self.path / str(job)).unlink(missing_ok=True)

    def _create(self) -> None:
        if not self.path.is_dir():
            self.path.mkdir()  # not its parents, which jobs' users must be able to pass, whatever the umask is
            self.path.chmod(DIRECTORY_MODE)
        if self.path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ServiceError(
                f"{self.path}: other users can write there, and so replace maps: run `chmod go-w {self.path}`"
            )

    def _take_lock(self, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise ServiceError(
                        f"{self.path}: another arbiter is running and keeps its maps there: stop it first"
                    ) from error
            time.sleep(0.05)

    def _sync(self) -> None:
        """Make changes of names last through a power failure."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_held(path: Path) -> bool | None:
    """Return whether an arbiter holds the directory; None if this user may not find out."""
    try:
        lock = os.open(path / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # also on a read-only file system
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two readers do not take each other for one
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(lock)


def _content(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MOST_BYTES + 1)
