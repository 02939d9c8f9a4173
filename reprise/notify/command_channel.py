# SPDX-License-Identifier: Apache-2.0
"""Send a notification with a command of the site, which gets it as JSON on its standard input."""

from __future__ import annotations

import json
import os

from reprise.config import Notify
from reprise.notify import bounded_process
from reprise.notify.notification import Notification
from reprise.notify.notify_error import NotifyError

EVENT = "REPRISE_EVENT"
"""Environment variable with the event; nothing that a user chose is in the arguments or the environment."""


def send(settings: Notify, notification: Notification) -> None:
    """Run the command. Raise NotifyError if it fails."""
    program, body = settings.command[0], json.dumps(notification.as_json()).encode()
    environment = {**os.environ, EVENT: notification.event}
    try:
        ended = bounded_process.run(settings.command, body, settings.timeout_s, environment)
    except OSError as error:
        raise NotifyError(f"{program} cannot be run: {error.strerror}") from error
    if ended is None:
        raise NotifyError(f"{program} did not end within {settings.timeout_s:g} s")
    if ended.status != 0:
        raise NotifyError(f"{program} ended with status {ended.status}")
