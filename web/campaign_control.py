# SPDX-License-Identifier: Apache-2.0
"""Control of campaigns by the web pages.

Campaigns run under the account of the web service, in separate processes that continue if the service stops.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from reprise.config import Config, in_use
from reprise.database import Database
from reprise.database.entities import CampaignState
from reprise.tuner.campaign import session
from reprise.tuner.definition import campaign_place
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import TunerError
from reprise.tuner.model import private_files

BEGUN_S = 20.0  # seconds within which a campaign must report that it has started, or why it failed to start
LOOK_S = 0.05
SAID_LIMIT = 4096  # maximum number of bytes of a campaign's output that are searched for its number or an error
ISOLATED = ("-I",) if sys.flags.isolated else ()  # campaigns run Python in isolated mode if the pages do
_BEGUN = re.compile(r"^campaign (\d+): ", re.MULTILINE)


def start(config: Config, path: Path | None, definition: dict[str, Any], who: str) -> int:
    """Start a campaign and return its number.

    Raise TunerError, with the last line of the campaign's output, if the campaign does not start.
    """
    checked = check(definition, "this campaign")
    head = f"# SPDX-License-Identifier: Apache-2.0\n# Begun by {who} from the pages.\n"
    text = head + yaml.safe_dump(definition, sort_keys=False)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}"
    directory = config.tuner.work / campaign_place.FILES
    file = directory / f"{stamp}-{re.sub(r'[^A-Za-z0-9._-]+', '_', checked.name)}.yaml"
    with _written(file):
        campaign_place.claim(directory)
        private_files.write_text(file, text)
    return _begin(config, path, ["run", "--yes", str(file)], file.with_suffix(".log"))


def resume(config: Config, path: Path | None, number: int) -> None:
    """Resume a campaign.

    Raise TunerError, with the last line of the campaign's output, if the campaign does not start.
    """
    directory = config.tuner.work / campaign_place.FILES
    with _written(directory):
        campaign_place.claim(directory)
    _begin(config, path, ["resume", str(number)], directory / f"resumed-{number}-{time.time_ns()}.log")


def pause(config: Config, number: int) -> None:
    """Stop a campaign and its running jobs so that it can be resumed. Raise TunerError on failure."""
    with Database.open(config.database.path) as database:
        session.stop(database, database.campaign(number), config)


def stop(config: Config, number: int, who: str) -> None:
    """Stop a campaign permanently, so that it cannot be resumed. Raise TunerError on failure."""
    with Database.open(config.database.path) as database:
        session.abandon(database, database.campaign(number), config, who)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TunerError(
            f"{path}: cannot be written ({error.strerror}): allow the user of the pages to write to tuner.work"
        ) from error


def _begin(config: Config, path: Path | None, words: list[str], log: Path) -> int:
    """Run `reprise tune` with the arguments `words`, detached from this process, and return the campaign's number.

    Wait until the campaign is running or has ended. The command's output is written to the file `log`.
    """
    found = in_use(path)
    options = ["--config", str(found)] if found else []
    with _written(log), private_files.open_file(log, "wb") as out:
        process = subprocess.Popen(
            [sys.executable, *ISOLATED, "-m", "reprise", *options, "tune", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    end = time.monotonic() + BEGUN_S
    while True:
        ended = process.poll()
        said = log.read_bytes()[:SAID_LIMIT].decode(errors="replace")
        begun = _BEGUN.search(said)
        if begun and (ended == 0 or _is_running(config, int(begun[1]))):
            return int(begun[1])
        if ended is not None:
            last = next((line for line in reversed(said.splitlines()) if line.strip()), "it printed no error")
            raise TunerError(last.removeprefix("reprise: "))
        if time.monotonic() > end:
            raise TunerError(f"the campaign has not started within {BEGUN_S:.0f} s: see {log}")
        time.sleep(LOOK_S)


def _is_running(config: Config, number: int) -> bool:
    """Return whether a coordinator has reported that it is working on the campaign."""
    with Database.open(config.database.path, read_only=True) as database:
        campaign = database.campaign(number)
    return campaign.state is CampaignState.RUNNING and campaign_place.is_running(campaign, config)
