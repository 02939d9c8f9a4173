# SPDX-License-Identifier: Apache-2.0
"""Process that sends one notification in one way. It prints nothing on success, and the reason for a failure."""

from __future__ import annotations

import json
import os
import sys

from reprise.config import Notify
from reprise.errors import RepriseError
from reprise.notify import command_channel, mail_channel, webhook_channel
from reprise.notify.notification import Notification

SEND = {"command": command_channel.send, "mail": mail_channel.send, "webhook": webhook_channel.send}


def main() -> None:
    """Read an order from standard input, and carry it out."""
    os.nice(19)  # the daemon's own priority is high
    order = json.load(sys.stdin)
    settings, notification = Notify.model_validate(order["settings"]), Notification(**order["notification"])
    try:
        SEND[order["channel"]](settings, notification)
    except RepriseError as error:
        sys.stdout.write(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
