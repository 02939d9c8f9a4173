# SPDX-License-Identifier: Apache-2.0
"""Main function of the arbiter (`reprise arbiter`): one loop that polls, and one thread that works.

The thread alone uses the database and the directory of the maps. If their file systems hang, it waits, and the loop
still answers signals. Jobs never wait for the arbiter: they use the maps that they have.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from reprise import __version__
from reprise.config import Config
from reprise.database.errors import DatabaseError
from reprise.database.for_daemon import DaemonDatabase
from reprise.database.store import identity_of
from reprise.eventlog import Throttle, line, log_to
from reprise.matcher.arbiter.job_variables import BURST_LIBRARY, burst_map, of_jobs
from reprise.matcher.errors import ServiceError
from reprise.matcher.forwarding import forwarder_health, slurm_queue
from reprise.matcher.forwarding.arbitration import Arbitration
from reprise.matcher.forwarding.map_directory import MapDirectory
from reprise.matcher.forwarding.slurm_queue import Listing, QueueError
from reprise.systemd import keep_watchdog_calm, notify

if TYPE_CHECKING:
    from reprise.matcher.daemon.prometheus import MetricsServer

log = logging.getLogger(__name__)

POLL_S = 0.1
"""Seconds between two looks at the database, which take microseconds if nothing was written."""
ASK_S = 0.5
"""Minimum seconds between two calls of squeue, so that many starts do not burden slurmctld."""
FAILED_S = 5.0
"""Seconds until squeue is called again after it has failed."""
BUSY_TIMEOUT_S = 1.0
SHORTEST_SLEEP_S = 0.05


def run(config: Config) -> None:
    """Run the arbiter until SIGTERM. Raise ServiceError or DatabaseError if it cannot start."""
    log_to(sys.stderr)
    _check(config)
    maps = MapDirectory(config.forwarding.maps)
    maps.hold()
    metrics = None
    try:
        _write_burst_map(config, maps)
        worker = Worker(config, Arbitration(config, maps))
        worker.start()
        metrics = _metrics_server(config, worker.arbitration)
        if metrics:
            metrics.start()
        asyncio.run(_serve(config, worker))
    finally:
        if metrics:
            metrics.stop()
        maps.release()


def _write_burst_map(config: Config, maps: MapDirectory) -> None:
    try:
        maps.write_named(burst_map(config.forwarding), config.forwarding.forwarders)
        maps.write_variables(of_jobs(config.forwarding).get(BURST_LIBRARY, {}))
    except OSError as error:
        raise ServiceError(f"the map of burst buffers cannot be written ({error}): check forwarding.maps") from error


def _check(config: Config) -> None:
    if not config.forwarding.forwarders:
        raise ServiceError("forwarding.forwarders is empty, so there is nothing to share out: name the forwarders")
    if config.replica.records:
        raise ServiceError("this matcher is a replica: run the arbiter on the primary's host, which knows all jobs")


def _metrics_server(config: Config, arbitration: Arbitration) -> MetricsServer | None:
    """Return the HTTP server for metrics; None if it is not configured. Raise ServiceError if it cannot listen."""
    if not config.forwarding.metrics:
        return None
    from reprise.matcher.daemon.prometheus import MetricsServer
    from reprise.matcher.forwarding.arbiter_metrics import registry

    return MetricsServer(config.forwarding.metrics, registry(arbitration), "forwarding.metrics")


class Worker:
    """The work of the arbiter's thread."""

    def __init__(self, config: Config, arbitration: Arbitration) -> None:
        self.arbitration = arbitration
        self._path = config.database.path
        self._database: DaemonDatabase | None = None
        self._identity: tuple[int, int] | None = None
        self._throttle = Throttle()

    def start(self) -> None:
        """Open the database and take over from an arbiter that ended. Raise DatabaseError or ServiceError."""
        from scipy.special import stdtrit  # noqa: F401 (imported before the first decision, because it is slow to import)

        try:
            self.arbitration.resume(self._current())
        except OSError as error:
            raise ServiceError(f"the maps cannot be read ({error}): check forwarding.maps") from error

    def turn(self, listing: Listing | None, search: bool) -> bool:
        """Take what happened and do what follows; return whether Slurm's list is needed for a job that has started."""
        try:
            self.arbitration.step(self._read(listing, search))
        except Exception as error:  # a defect must not end the arbiter
            self._throttle.warning(log, "failed", trace=True, error=error)
        return self.arbitration.needs_listing

    def _read(self, listing: Listing | None, search: bool) -> DaemonDatabase | None:
        """Read what happened; return the database, or None if it cannot be used now."""
        try:
            database = self._current()
            self.arbitration.look(database)
            if listing:
                self.arbitration.take_listing(listing, database, search=search)
        except DatabaseError as error:
            self._throttle.warning(log, "database-failed", error=error)
            return None
        return database

    def stop(self) -> None:
        """Close the database."""
        if self._database:
            self._database.close()
            self._database = None

    def _current(self) -> DaemonDatabase:
        """Return the open database; open it again if its file was replaced. Raise DatabaseError."""
        identity = identity_of(self._path)
        if self._database and identity == self._identity:
            return self._database
        if self._database:
            log.warning(line("database-replaced", path=self._path))
            self.stop()
            self.arbitration.reopened()
        self._database, self._identity = DaemonDatabase.open(self._path, busy_timeout_s=BUSY_TIMEOUT_S), identity
        return self._database


class _Loop:
    """The loop's tasks: they wait for time to pass, for squeue and for forwarders, and have the thread work."""

    def __init__(self, config: Config, worker: Worker, ask: Callable[[], Listing]) -> None:
        self._settings = config.forwarding
        self._worker = worker
        self._ask = ask
        self._listing: tuple[Listing, bool] | None = None
        self._wanted = asyncio.Event()
        self._news = asyncio.Event()

    async def work(self, stop: asyncio.Event) -> None:
        """Have the thread work every POLL_S seconds, or at once if there are news, until `stop`."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "arbiter") as thread:
            while not stop.is_set():
                self._news.clear()
                listing, search = self._listing or (None, False)
                self._listing = None
                needs_listing = await loop.run_in_executor(thread, self._worker.turn, listing, search)
                (self._wanted.set if needs_listing else self._wanted.clear)()
                await _first_of(POLL_S, self._news, stop)
            await loop.run_in_executor(thread, self._worker.stop)

    async def ask_slurm(self) -> None:
        """Ask for Slurm's list every `queue_s` seconds, and soon after a job has started."""
        search_at = 0.0
        while True:
            search = time.monotonic() >= search_at
            self._wanted.clear()
            try:
                self._listing = (await asyncio.to_thread(self._ask), search)
                if search:
                    search_at = time.monotonic() + self._settings.queue_s
                self._news.set()
            except QueueError as error:
                self._worker.arbitration.queue_failed(error)
                await asyncio.sleep(FAILED_S)
            await asyncio.sleep(ASK_S)
            await _first_of(max(0.0, search_at - time.monotonic()), self._wanted)

    async def check_forwarders(self) -> None:
        """Check each forwarder when that is due."""
        arbitration = self._worker.arbitration
        while True:
            due = arbitration.health.due(time.monotonic())
            for address, error in zip(due, await asyncio.gather(*map(forwarder_health.check, due)), strict=True):
                arbitration.take_check(address, error)
            self._news.set()
            await asyncio.sleep(max(SHORTEST_SLEEP_S, arbitration.health.next_due() - time.monotonic()))


async def _first_of(seconds: float, *events: asyncio.Event) -> None:
    """Wait until one of the events is set, at most `seconds`."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _serve(config: Config, worker: Worker, ask: Callable[[], Listing] = slurm_queue.ask) -> None:
    stop = asyncio.Event()

    def begin_stop() -> None:
        notify(os.environ, "STOPPING=1")
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin_stop)
    tasks = _Loop(config, worker, ask)
    watchdog = asyncio.create_task(keep_watchdog_calm(os.environ))
    settings = config.forwarding
    log.info(line("arbitrating", version=__version__, forwarders=len(settings.forwarders), maps=settings.maps))
    notify(os.environ, "READY=1")
    work = asyncio.create_task(tasks.work(stop))
    waiting = [asyncio.create_task(tasks.ask_slurm()), asyncio.create_task(tasks.check_forwarders())]
    done, _ = await asyncio.wait([work, *waiting], return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    await work
    for task in (*waiting, watchdog):
        task.cancel()
    for task in done:
        task.result()  # raises the exception of a task that has failed, so that systemd starts the arbiter again
