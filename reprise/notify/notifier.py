# SPDX-License-Identifier: Apache-2.0
"""Thread that delivers notifications, so that whoever sends one never waits."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from reprise.config import Notify
from reprise.eventlog import Throttle, line
from reprise.notify.delivery import Failure, deliver
from reprise.notify.notification import Notification

log = logging.getLogger(__name__)

WAITING = 50
"""Maximum number of notifications that wait for delivery; further ones are dropped.

An hour's worth of all events is 60 by default, and one delivery takes at most three times `timeout_s`.
"""
STOP_S = 2.0  # seconds that the last notifications may take when the daemon stops; systemd kills it after 15 s in all
HOUR_S = 3600.0

Deliver = Callable[[Notify, Notification], Sequence[Failure]]


class Notifier:
    """Sender of notifications. `tell` never blocks and never raises; failures are one line each in the log.

    `settings` returns the settings in force, which may change while the notifier runs. The thread starts with the first
    notification.
    """

    def __init__(
        self,
        settings: Callable[[], Notify],
        deliver: Deliver = deliver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._deliver = deliver
        self._clock = clock
        self._queue: queue.Queue[Notification | None] = queue.Queue(WAITING)
        self._sent: dict[str, deque[float]] = {}
        self._left_out: dict[str, int] = {}
        self._throttle = Throttle(60.0)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def tell(self, notification: Notification) -> None:
        """Queue a notification, unless the settings do not ask for it or too many are waiting."""
        if not self._settings().wants(notification.event):
            return
        try:
            self._queue.put_nowait(notification)
            self._start()
        except (queue.Full, RuntimeError) as error:  # RuntimeError: no thread can be started
            self._left_out[notification.event] = self._left_out.get(notification.event, 0) + 1
            why = "too many notifications wait" if isinstance(error, queue.Full) else str(error)
            self._throttle.warning(log, "notify-failed", about=notification.event, error=why)

    def stop(self) -> None:
        """Deliver what is waiting, for at most STOP_S seconds."""
        if self._thread:
            until = time.monotonic() + STOP_S
            with contextlib.suppress(queue.Full):  # the thread is a daemon: it ends with the process
                self._queue.put(None, timeout=STOP_S)
                self._thread.join(until - time.monotonic())

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notify", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while notification := self._queue.get():
            try:
                self._send(notification)
            except Exception as error:  # a bug must not end the thread
                self._throttle.warning(log, "notify-failed", trace=True, error=error)

    def _send(self, notification: Notification) -> None:
        settings, event = self._settings(), notification.event
        if not self._may_send(event, settings.per_hour):
            self._left_out[event] = self._left_out.get(event, 0) + 1
            self._throttle.warning(log, "notify-failed", about=event, error="over notify.per_hour")
            return
        notification = dataclasses.replace(notification, left_out=self._left_out.pop(event, 0))
        failures = self._deliver(settings, notification)
        for failure in failures:
            log.warning(line("notify-failed", about=event, by=failure.by, error=failure.why))
        if len(failures) < len(settings.channels):
            log.info(line("notified", about=event))

    def _may_send(self, event: str, per_hour: int) -> bool:
        now, sent = self._clock(), self._sent.setdefault(event, deque())
        while sent and sent[0] <= now - HOUR_S:
            sent.popleft()
        if len(sent) >= per_hour:
            return False
        sent.append(now)
        return True
