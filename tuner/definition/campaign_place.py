# SPDX-License-Identifier: Apache-2.0
"""Directory, job name and coordinator of a campaign."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from reprise.config import Config
from reprise.database.entities import Campaign
from reprise.tuner.errors import TunerError
from reprise.tuner.model import private_files

LOCK = "lock"
FILES = "files"
"""Directory of campaign files from the web pages, and of the output of their campaigns."""
OF_CAMPAIGNS = re.compile(rf"\d+-\d{{8}}T\d{{6}}|{FILES}")
"""Names of Reprise's directories in tuner.work: those from `directory_of`, and FILES. All others may be the site's."""
LOOKS, LOOK_S = 5, 0.05


def directory_of(campaign: Campaign, config: Config) -> Path:
    """Return the campaign's directory; the time in its name distinguishes campaigns of different databases."""
    begun = datetime.fromtimestamp(campaign.created_at, UTC)
    return config.tuner.work / f"{campaign.id}-{begun:%Y%m%dT%H%M%S}"


def job_name(campaign: Campaign, directory: Path) -> str:
    """Return the unique name of the campaign's jobs, by which a later coordinator finds them."""
    return f"reprise-{campaign.id}-{hashlib.sha256(str(directory).encode()).hexdigest()[:8]}"


def is_running(campaign: Campaign, config: Config) -> bool:
    """Return whether a coordinator runs the campaign."""
    try:
        with (directory_of(campaign, config) / LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def coordinator(campaign: Campaign, config: Config) -> tuple[int, str]:
    """Return the process id and host of the current or most recent coordinator. Raise TunerError if there was none."""
    path = directory_of(campaign, config) / LOCK
    try:
        match = re.fullmatch(r"process (\d+) on (\S+)\n", path.read_text())
    except OSError as error:
        raise TunerError(
            f"{path}: cannot be read ({error.strerror}): stop the campaign on the host where it runs"
        ) from error
    if not match:
        raise TunerError(f"{path}: does not name the coordinator of campaign {campaign.id}: try again in a moment")
    return int(match[1]), match[2]


def _lock(file: TextIO) -> None:
    """Take the lock. Raise OSError if another coordinator holds it.

    Several attempts are made, since another process that calls `is_running` may hold the lock for a moment.
    """
    for _ in range(LOOKS):
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOOK_S)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def claim(directory: Path) -> None:
    """Make a directory in tuner.work, and tuner.work if missing, with access for the tuning user only.

    Raise OSError on failure, or TunerError if the directory belongs to another user, or if other users could replace
    the contents of tuner.work.
    """
    work = directory.parent
    work.parent.mkdir(parents=True, exist_ok=True)
    work.mkdir(mode=private_files.DIRECTORY_MODE, exist_ok=True)
    private_files.require_unwritable(work)
    private_files.claim_directory(directory)
    _close_older(work)


def _close_older(work: Path) -> None:
    """Remove other users' access to directories that an older release made: they contain copies of users' scripts."""
    for one in work.iterdir():
        if OF_CAMPAIGNS.fullmatch(one.name):
            with contextlib.suppress(OSError, TunerError):  # no campaign uses a directory that another user owns
                private_files.claim_directory(one)


@contextlib.contextmanager
def locked(campaign: Campaign, directory: Path) -> Iterator[None]:
    """Hold the campaign's lock, which is released at the latest when this process ends.

    Raise TunerError if another process holds the lock.
    """
    try:
        claim(directory)
        file = io.TextIOWrapper(private_files.open_file(directory / LOCK, "ab+"), encoding="utf-8")
    except OSError as error:
        raise TunerError(
            f"{directory}: cannot be written ({error.strerror}): set tuner.work to a directory of the tuning user"
        ) from error
    with file:
        try:
            _lock(file)
        except OSError as error:
            file.seek(0)
            who = file.read(200).strip() or "another process"
            raise TunerError(
                f"campaign {campaign.id} is being run by {who}: wait for it, or stop it there and resume"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
