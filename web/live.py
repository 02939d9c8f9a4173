# SPDX-License-Identifier: Apache-2.0
"""Server-sent events of a running campaign; one is sent for each change soon after the change is in the database."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

LOOK_S = 1.0
# seconds between comments in the event stream, because proxies close a connection after a minute without data
ALIVE_S = 15.0
LASTING_S = 600.0  # seconds after which the browser must reconnect, so that the user's rights are checked again
# maximum number of pages that can follow campaigns at the same time; for each, the database is read once a second
WATCHERS = 64
ENDED = ("complete", "failed")


class Watchers:
    """Counter of the pages that are following campaigns."""

    def __init__(self) -> None:
        self.count = 0


async def events(
    look: Callable[[], dict[str, Any]],
    gone: Callable[[], Any],
    watchers: Watchers,
    look_s: float = LOOK_S,
    lasting_s: float = LASTING_S,
) -> AsyncIterator[str]:
    """Yield an event `progress` with the value of `look` whenever it changes, and `end` when the campaign has ended.

    The stream also ends if `gone` returns true, that is, when the browser has disconnected. After `lasting_s` seconds,
    it ends in any case, because by then the token may have expired, or the user may have left the group that may see
    campaigns.
    """
    watchers.count += 1
    try:
        before, silent = "", 0.0
        last = time.monotonic() + lasting_s
        while time.monotonic() < last and not await gone():
            told = await run_in_threadpool(look)
            text = json.dumps(told)
            if text != before:
                yield f"event: progress\ndata: {text}\n\n"
                before, silent = text, 0.0
            elif silent >= ALIVE_S:
                yield ": alive\n\n"
                silent = 0.0
            if told["state"] in ENDED:
                yield "event: end\ndata: {}\n\n"
                return
            await asyncio.sleep(look_s)
            silent += look_s
    finally:
        watchers.count -= 1
