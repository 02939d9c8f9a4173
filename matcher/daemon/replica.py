# SPDX-License-Identifier: Apache-2.0
"""Replicas, which are matchers that answer requests if the primary matcher does not respond.

The primary publishes its records in a file. A replica copies the records from this file. It sends its decisions, and
the outcomes that jobs report, to the primary. Messages that cannot be sent wait in the replica's database.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.for_daemon import DaemonDatabase
from reprise.endpoint import parse
from reprise.eventlog import line
from reprise.matcher.errors import ProtocolError, ServiceError
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import ask_in_order
from reprise.matcher.wire.credentials import credential_settings

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
MESSAGES = 256
BYTES = protocol.REQUEST_LIMIT - 1024  # maximum bytes of messages in one request


class Publisher:
    """Publisher of a primary's records in the file at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: int | None = None  # sequence number of the last record change that was published

    def step(self, database: DaemonDatabase) -> None:
        """Publish the records if they have changed or the file is missing."""
        last = database.last_record_change()
        if last != self._done or not self._path.exists():
            count = database.publish_records(self._path)
            self._done = last
            log.info(line("published", path=self._path, records=count))


class Replica:
    """Background work of a replica; `records` is the file in which the primary publishes its records."""

    def __init__(self, config: Config, records: Path) -> None:
        self._config = config
        self._copy = records
        self._seen: tuple[int, int, int] | None = None

    def step(self, database: DaemonDatabase) -> None:
        """Copy the records if the file has changed, and send the waiting messages. Raises a MatcherError."""
        try:
            self._take(database)
        finally:
            self._send(database)

    def _take(self, database: DaemonDatabase) -> None:
        try:
            status = self._copy.stat()
            found = status.st_ino, status.st_mtime_ns, status.st_size
            if found == self._seen:
                return
            data = self._copy.read_bytes()
        except OSError as error:
            raise ServiceError(
                f"{self._copy}: cannot be read ({error.strerror}): set [matcher] publish on the primary to a file on a "
                "shared file system, and mount it here at this path"
            ) from error
        changed = database.take_published(self._copy, data)
        self._seen = found
        log.info(line("copy-taken", path=self._copy, changed=changed))

    def _send(self, database: DaemonDatabase) -> None:
        endpoints = [one for one in map(parse, self._config.replica.primary) if one]
        settings = self._config.matcher
        while waiting := database.oldest_out(MESSAGES):
            last, request, left_out = batched(waiting)
            for size in left_out:
                log.warning(line("not-forwarded", bytes=size, most=BYTES))
            answers = ask_in_order(
                endpoints,
                request,
                matcher_uid=settings.uid,
                credential=credential_settings(settings),
                timeout_s=TIMEOUT_S,
            )
            _, reply = next(answers)
            if reply.get("kind") != "ok":
                raise ProtocolError(f"the primary refuses forwarded messages: {reply.get('reason')}")
            database.drop_out(last)


def batched(waiting: Sequence[tuple[int, str]]) -> tuple[int, Mapping[str, Any], Sequence[int]]:
    """Return the number of the last handled message, a request with the messages, and the sizes of omitted messages.

    The request contains as many of the first messages as fit. A message is left out if it is too large even for a
    request of its own; such messages were written by a release that did not limit the size of metadata.
    """
    entries: list[Any] = []
    left_out: list[int] = []
    size, last = 0, 0
    for number, text in waiting:
        length = len(text.encode()) + 1
        if length <= BYTES:
            size += length
            if size > BYTES:
                break
            entries.append(json.loads(text))
        else:
            left_out.append(length)
        last = number
    return last, {"v": protocol.VERSION, "kind": "forward", "entries": entries}, left_out
