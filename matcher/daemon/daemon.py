# SPDX-License-Identifier: Apache-2.0
"""Main function of the daemon (`reprise serve`): it starts, runs and stops the sockets, the service and the journal."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from reprise import __version__
from reprise.config import Config, ConfigError
from reprise.database.campaign_progress import Progress
from reprise.database.for_daemon import DaemonDatabase
from reprise.database.store import size_on_disk
from reprise.eventlog import line, log_to
from reprise.matcher.daemon import garbage_pauses
from reprise.matcher.daemon.background import Background
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.journal import Journal
from reprise.matcher.daemon.listener import listen, listen_tcp, remove_socket
from reprise.matcher.daemon.metrics import Gauges, Metrics
from reprise.matcher.daemon.peer import Peer, UnixPeer, credential_greeter
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.quiet_time import Quiet
from reprise.matcher.daemon.replica import Publisher, Replica
from reprise.matcher.daemon.server import FRAME_BYTES, Server
from reprise.matcher.daemon.service import Service
from reprise.matcher.daemon.told_admins import Admins
from reprise.matcher.daemon.turns import Room, Rounds
from reprise.matcher.linkage.linkage_model import LinkageError
from reprise.matcher.wire.credentials import credential_settings
from reprise.matcher.wire.methods import offered
from reprise.notify.notifier import Notifier
from reprise.systemd import keep_watchdog_calm, notify, passed_listener

if TYPE_CHECKING:
    from reprise.matcher.daemon.prometheus import MetricsServer

log = logging.getLogger(__name__)

# Interval after which a thread releases the interpreter lock if another thread wants it. It is short so that requests,
# which may have to acquire the lock ten times, are not delayed while records are read.
SWITCH_INTERVAL_S = 0.00005


def run(load_config: Callable[[], Config]) -> None:
    """Run the daemon until SIGTERM.

    Raises ConfigError, LinkageError, DatabaseError or ServiceError if the daemon cannot start.
    """
    log_to(sys.stderr)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    garbage_pauses.tolerate()
    basis = Basis(load_config)
    config = basis.config
    metrics = _metrics(config)
    queue = Queue()
    quiet = Quiet(queue)
    notifier = Notifier(lambda: basis.config.notify)
    admins = Admins(lambda: basis.config, notifier.tell)
    service = Service(basis, queue.put, quiet.put, metrics=metrics, admins=admins)
    journal = Journal(
        config.database.path,
        queue,
        basis.use_records,
        version=__version__,
        retention_days=config.matcher.retention_days,
        on_look=service.watch.look,
        admins=admins,
    )
    passed = passed_listener(os.environ, (socket.AF_UNIX,))
    listener = passed or listen(config.matcher.socket)
    inode = config.matcher.socket.stat().st_ino if passed is None else None
    over_tcp = metrics_server = None
    try:
        metrics_server = _metrics_server(basis, service, queue, metrics)
        over_tcp = listen_tcp(config.matcher.listen) if config.matcher.listen else None
        with asyncio.Runner() as runner:
            # the loop handles signals until the last write is done, so that a second SIGTERM cannot interrupt the
            # writes
            journal.start(basis.load_records())
            if metrics_server:
                metrics_server.start()
            background = [Background(name, config.database.path, step) for name, step in _steps(config)]
            for one in background:
                one.start()
            try:
                runner.run(_serve(config, service, journal, quiet, metrics, listener, over_tcp))
            finally:
                for one in background:
                    one.stop()
                journal.stop()
                notifier.stop()
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        listener.close()
        if over_tcp:
            over_tcp.close()
        if metrics_server:
            metrics_server.stop()
        if inode is not None:  # a socket that was passed by the service manager is not removed
            remove_socket(config.matcher.socket, inode)


def _metrics(config: Config) -> Metrics:
    """Return the counters; import the Prometheus library only if metrics are configured."""
    if not config.matcher.metrics:
        return Metrics()
    from reprise.matcher.daemon.prometheus import Counted

    return Counted()


def _metrics_server(basis: Basis, service: Service, queue: Queue, metrics: Metrics) -> MetricsServer | None:
    """Return the HTTP server for metrics; None if not configured. Raises ServiceError if it cannot listen."""
    config = basis.config
    if not config.matcher.metrics:
        return None
    from reprise.matcher.daemon.prometheus import Counted, MetricsServer

    assert isinstance(metrics, Counted)  # noqa: S101
    path = config.database.path

    def counted() -> Mapping[tuple[str, str], int]:
        with DaemonDatabase.open(path, read_only=True) as database:
            return database.record_counts()

    def rows() -> Mapping[str, int]:
        with DaemonDatabase.open(path, read_only=True) as database:
            return database.about_rows()

    def newest() -> float | None:
        with DaemonDatabase.open(path, read_only=True) as database:
            return database.newest_record_at()

    def campaigns() -> Progress:
        with DaemonDatabase.open(path, read_only=True) as database:
            return database.campaign_progress()

    metrics.look_up(
        Gauges(
            records_known=lambda: len(basis.knowledge),
            records=counted,
            rows=rows,
            newest=newest,
            campaigns=campaigns,
            writes_waiting=lambda: len(queue),
            waiting_bytes=lambda: queue.bytes,
            writes_dropped=lambda: queue.dropped,
            stored_short=lambda: service.volume.shortened,
            not_stored=lambda: service.volume.unstored,
            quarantines=lambda: service.watch.quarantines,
            mode=lambda: basis.config.matcher.mode,
            holdout=lambda: basis.config.matcher.holdout,
            database_bytes=lambda: size_on_disk(path),
        )
    )
    return MetricsServer(config.matcher.metrics, metrics.registry)


def _steps(config: Config) -> Iterator[tuple[str, Callable[[DaemonDatabase], object]]]:
    """Yield the configured background tasks, each as a name and a function that is called once a second."""
    if config.matcher.publish:
        yield "publisher", Publisher(config.matcher.publish).step
    if config.replica.records:
        yield "replica", Replica(config, config.replica.records).step


async def _serve(
    config: Config,
    service: Service,
    journal: Journal,
    quiet: Quiet,
    metrics: Metrics,
    listener: socket.socket,
    over_tcp: socket.socket | None,
) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def begin_stop() -> None:
        notify(os.environ, "STOPPING=1")
        stop.set()

    def reload() -> None:
        try:
            service.reload()
            log.info(line("reloaded"))
        except (ConfigError, LinkageError) as error:
            log.warning(line("reload-failed", error=error))
        journal.reload()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin_stop)
    loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, reload))

    room, rounds = Room(FRAME_BYTES), Rounds()

    def server(on: socket.socket, greet: Callable[[socket.socket], Peer]) -> Server:
        return Server(
            on,
            greet,
            service.answer,
            quiet,
            max_connections=config.matcher.max_connections,
            timeout_s=config.matcher.request_timeout_s,
            room=room,
            rounds=rounds,
            is_over=service.is_over,
            count=service.count,
            metrics=metrics,
        )

    servers = [server(listener, UnixPeer)]
    if over_tcp:
        methods = offered(credential_settings(config.matcher))
        servers.append(server(over_tcp, credential_greeter(methods)))
        names = ",".join(methods)
        log.info(line("serving-tcp", address=config.matcher.listen, uid=os.geteuid(), credentials=names))
    watchdog = asyncio.create_task(keep_watchdog_calm(os.environ))
    log.info(line("serving", version=__version__, socket=listener.getsockname(), database=config.database.path))
    notify(os.environ, "READY=1")
    await asyncio.gather(*(server.serve(stop) for server in servers))
    watchdog.cancel()
