# SPDX-License-Identifier: Apache-2.0
"""Delivery of a notification by processes of their own, one for each way of sending.

A separate process can be ended at its time limit, whatever hangs in it: the resolver, a server, or a command of the
site. It takes no time from the threads of a daemon. Its command line and its environment have no secrets: it reads
passwords and tokens from the files that the settings name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.config import Notify, NotifyChannel
from reprise.notify import bounded_process
from reprise.notify.notification import Notification

START_S = 10.0
"""Seconds that a process may take in addition to `timeout_s`, because a busy host starts Python slowly."""
OUTPUT_LIMIT = 1000  # characters of the reason that a process prints
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""Environment variables of the daemon that its processes, and commands of the site, keep."""


@dataclass(frozen=True)
class Failure:
    """A way of sending that failed, and why."""

    by: NotifyChannel
    why: str


def deliver(settings: Notify, notification: Notification) -> Sequence[Failure]:
    """Send a notification in each configured way, one after the other. Return the ways that failed."""
    told = [(channel, _sent_by(channel, settings, notification)) for channel in settings.channels]
    return [Failure(channel, why) for channel, why in told if why]


def _sent_by(channel: NotifyChannel, settings: Notify, notification: Notification) -> str:
    """Send a notification in one way; return "", or the reason for a failure."""
    order: dict[str, Any] = {
        "channel": channel,
        "settings": settings.model_dump(mode="json"),
        "notification": notification.as_json(),
    }
    command = [sys.executable, "-I", "-m", "reprise.notify"]
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    limit_s = settings.timeout_s + START_S
    try:
        ended = bounded_process.run(command, json.dumps(order).encode(), limit_s, environment, reads=True)
    except OSError as error:
        return f"no process could be started: {error.strerror or error}"
    if ended is None:
        return f"not sent within {limit_s:g} s"
    if ended.status != 0:
        return f"the sending process ended with status {ended.status}"
    return ended.output.decode(errors="replace").strip()[:OUTPUT_LIMIT]
