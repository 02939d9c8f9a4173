# SPDX-License-Identifier: Apache-2.0
"""Main function of the council (`reprise council`): a loop that talks with forwarders, and a thread for files.

The thread alone uses the database and the council's directory. If their file systems hang, decisions are still made.
Forwarders never wait for the council: they use the window that they have.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from reprise import __version__
from reprise.config import Config, host_and_port
from reprise.database.errors import DatabaseError
from reprise.database.for_daemon import DaemonDatabase
from reprise.database.job_patterns import Seen
from reprise.eventlog import Throttle, line, log_to
from reprise.matcher.council import learned_windows, recorded_metrics
from reprise.matcher.council.council_settings import CouncilSettings, Learner
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.window_council import Council
from reprise.matcher.daemon.listener import bind, listen
from reprise.matcher.detection import detector_file
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.matcher.detection.seen_patterns import SeenPatterns
from reprise.matcher.errors import ServiceError
from reprise.matcher.windows.council_credentials import configured_proof
from reprise.matcher.windows.council_files import CouncilFiles
from reprise.matcher.windows.council_server import CouncilServer
from reprise.matcher.windows.deliberation import Deliberation
from reprise.matcher.windows.job_consent import Consents
from reprise.matcher.windows.report_message import LONGEST
from reprise.systemd import keep_watchdog_calm, notify

log = logging.getLogger(__name__)

WORK_S = 1.0
"""Seconds between two turns of the thread: it records reports and looks up new jobs."""
STORE_S = 10.0
"""Seconds between two times at which the knowledge is stored; a council that is killed loses no more."""
WAITING_LINES = 100_000
"""Maximum number of recorded reports that wait for a file system that hangs; further ones are dropped."""
BUSY_TIMEOUT_S = 1.0
BACKLOG = 512
MEGABYTE = 10**6


def run(config: Config) -> None:
    """Run the council until SIGTERM. Raise ServiceError, CouncilError or DetectorError if it cannot start."""
    log_to(sys.stderr)
    if not config.council.listen:
        raise ServiceError("council.listen is empty: state the address at which forwarders report")
    settings = council_settings(config)
    detector = detector_file.read(config.council.detector or detector_file.SHIPPED)
    files = CouncilFiles(config.council.directory, config.council.record_mb * MEGABYTE)
    files.hold()
    try:
        learned = files.learned(settings)
        council = Council(settings, Random(), learned=learned)  # noqa: S311 - not used for security
        log.info(line("detector", name=detector.name, file=config.council.detector))
        log.info(line("learned", patterns=len(council.contexts), microseconds=council.window))
        asyncio.run(_serve(config, council, detector, files))
    finally:
        files.release()


def council_settings(config: Config) -> CouncilSettings:
    """Return the settings of the learner in the configuration."""
    of = config.council
    return CouncilSettings(learner=Learner(of.learner), harm_share=of.harm, timeout=of.timeout_s)


class _Keeper:
    """Work of the thread: files and database."""

    def __init__(self, config: Config, files: CouncilFiles, consents: Consents) -> None:
        self.failures = 0
        self._files = files
        self._consents = consents
        self._lines: list[str] = []
        self._dropped = 0
        self._path = config.database.path
        self._cluster = config.site.cluster
        self._throttle = Throttle()

    def record(self, report: Report) -> None:
        """Note a report, to be written by the next turn."""
        if len(self._lines) < WAITING_LINES:
            self._lines.append(recorded_metrics.line(round(time.time(), 3), report))

    async def work(self, council: Council, seen: SeenPatterns, stop: asyncio.Event) -> None:
        """Write and look up until `stop`, and store the knowledge and the jobs' patterns at the end."""
        loop = asyncio.get_running_loop()
        stored_at = time.monotonic()
        with ThreadPoolExecutor(1, "files") as thread:
            while True:
                is_last = stop.is_set()
                document = None
                patterns: Sequence[Seen] = ()
                if is_last or time.monotonic() - stored_at >= STORE_S:
                    document, stored_at = learned_windows.document(council.learned), time.monotonic()
                    patterns = seen.taken()
                lines, self._lines = self._lines, []
                wanted = self._consents.wanted(time.monotonic())
                found = await loop.run_in_executor(thread, self._turn, lines, document, patterns, wanted)
                if found is not None:
                    self._consents.learned(wanted, found)
                if is_last:
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), WORK_S)

    def _turn(
        self,
        lines: Sequence[str],
        document: dict[str, Any] | None,
        patterns: Sequence[Seen],
        wanted: Sequence[int],
    ) -> Mapping[int, AbstractSet[str]] | None:
        try:
            self._files.record(lines)
            if document:
                self._files.store(document)
        except OSError as error:
            self.failures += 1
            self._throttle.warning(log, "not-written", directory=self._files.path, error=error)
        self._keep(patterns)
        return self._verdicts(wanted)

    def _keep(self, patterns: Sequence[Seen]) -> None:
        """Store jobs' patterns. If the database cannot be written, they are lost: no job needs them."""
        if not patterns or not self._path.exists():
            return
        try:
            with DaemonDatabase.open(self._path, busy_timeout_s=BUSY_TIMEOUT_S) as database:
                database.add_job_patterns(self._cluster, patterns, time.time())
        except DatabaseError as error:
            self._throttle.warning(log, "patterns-not-stored", error=error)

    def _verdicts(self, wanted: Sequence[int]) -> Mapping[int, AbstractSet[str]] | None:
        """Return the verdicts of jobs; None if the database cannot be read, so that new jobs are not explored on."""
        if not wanted or not self._path.exists():
            return {}
        try:
            database = DaemonDatabase.open(self._path, read_only=True, busy_timeout_s=BUSY_TIMEOUT_S)
            try:
                return database.verdicts_of(self._cluster, wanted)
            finally:
                database.close()
        except DatabaseError as error:
            self._throttle.warning(log, "database-failed", error=error)
            return None


async def _serve(config: Config, council: Council, detector: LearnedDetector, files: CouncilFiles) -> None:
    settings = config.council
    stop = asyncio.Event()

    def begin_stop() -> None:
        notify(os.environ, "STOPPING=1")
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin_stop)
    consents = Consents(settings.explore)
    keeper = _Keeper(config, files, consents)
    deliberation = Deliberation(council, detector, consents)
    server = CouncilServer(deliberation, configured_proof(config), keeper.record)
    listener = await asyncio.start_server(server.talk, sock=_listening(settings.listen), limit=LONGEST, backlog=BACKLOG)
    metrics = None
    if settings.metrics:
        from reprise.matcher.daemon.prometheus import MetricsServer
        from reprise.matcher.windows.council_metrics import registry

        metrics = MetricsServer(settings.metrics, registry(server, lambda: keeper.failures), "council.metrics")
        metrics.start()
    watchdog = asyncio.create_task(keep_watchdog_calm(os.environ))
    log.info(line("deliberating", version=__version__, listen=settings.listen, auth=settings.auth))
    notify(os.environ, "READY=1")
    tasks = [asyncio.create_task(server.decide()), asyncio.create_task(keeper.work(council, deliberation.seen, stop))]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    listener.close()
    server.close()
    stop.set()
    await tasks[1]
    for task in (tasks[0], watchdog):
        task.cancel()
    if metrics:
        metrics.stop()
    for task in done:
        task.result()  # raises the exception of a task that has failed, so that systemd starts the council again


def _listening(address: str) -> socket.socket:
    """Return a listening socket. Raise ServiceError."""
    if address.startswith("/"):
        return listen(Path(address))
    host, port = host_and_port(address)
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        bind(made, host, port)
    except OSError as error:
        made.close()
        raise ServiceError(
            f"{address}: the council cannot listen there ({error.strerror or error}): set council.listen to an address "
            "of this host and a free port"
        ) from error
    return made
