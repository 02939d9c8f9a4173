# SPDX-License-Identifier: Apache-2.0
"""A campaign while it runs, as server-sent events: what is new, as soon as it is in the database."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

LOOK_S = 1.0
ALIVE_S = 15.0  # a proxy ends a connection on which nothing comes for a minute
LASTING_S = 600.0  # then a browser asks again by itself, and whether it still may is looked at anew
WATCHERS = 64  # pages that look on at once; each reads the database once a second
ENDED = ("complete", "failed")


class Watchers:
    """How many look on."""

    def __init__(self) -> None:
        self.count = 0


async def events(
    look: Callable[[], dict[str, Any]],
    gone: Callable[[], Any],
    watchers: Watchers,
    look_s: float = LOOK_S,
    lasting_s: float = LASTING_S,
) -> AsyncIterator[str]:
    """The events: `progress` with what `look` tells whenever that has changed, until the campaign has ended, whoever
    looks on has `gone`, or after `lasting_s`: a token may have expired, and a member have left the group."""
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
