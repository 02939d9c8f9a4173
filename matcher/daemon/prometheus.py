# SPDX-License-Identifier: Apache-2.0
"""Metrics in the Prometheus text format, served over HTTP from separate threads."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from reprise import __version__
from reprise.config import host_and_port
from reprise.database.campaign_progress import Progress
from reprise.database.errors import DatabaseError
from reprise.matcher.daemon.listener import bind
from reprise.matcher.daemon.metrics import Gauges, Metrics
from reprise.matcher.errors import ServiceError

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MODES = ("on", "observe", "off")
CLIENT_S = 10.0
"""Seconds of silence after which a client is disconnected."""
CLIENTS = 64
"""Maximum number of connected clients, each with a thread and a descriptor; beyond it, the oldest is disconnected."""


class Counted(Metrics):
    """Counters that are registered with Prometheus's client library."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = (
            "reprise_decisions_total",
            "reprise_requests_refused_total",
            "reprise_outcomes_total",
            "reprise_answers_late_total",
        )
        self._decisions = Counter(names[0], "Decisions by verdict.", ["verdict"], registry=self.registry)
        self._seconds = Histogram(
            "reprise_decision_seconds", "Time from request to decision.", buckets=BUCKETS, registry=self.registry
        )
        self._refused = Counter(names[1], "Requests that were not answered.", ["why"], registry=self.registry)
        self._late = Counter(names[3], "Answers sent after the client had disconnected.", registry=self.registry)
        self._reported = Counter(names[2], "Job reports by state.", ["state"], registry=self.registry)
        self._ended = Counter(
            "reprise_jobs_ended_total", "Jobs that ended, by verdict.", ["verdict", "failed"], registry=self.registry
        )
        ProcessCollector(registry=self.registry)

    def decided(self, verdict: str, seconds: float) -> None:
        """Count a decision that took `seconds`."""
        self._decisions.labels(verdict).inc()
        self._seconds.observe(seconds)

    def refused(self, why: str) -> None:
        """Count a request that was not answered, by reason."""
        self._refused.labels(why).inc()

    def late(self) -> None:
        """Count an answer that came after its client had disconnected."""
        self._late.inc()

    def reported(self, state: str, verdict: str, failed: bool | None) -> None:
        """Count a job's report of its start, first step or end."""
        self._reported.labels(state).inc()
        if failed is not None:
            self._ended.labels(verdict, str(failed).lower()).inc()

    def look_up(self, gauges: Gauges) -> None:
        """Also export the metrics in `gauges`, whose values are looked up on each request."""
        self.registry.register(_LookedUp(gauges))


class _LookedUp(Collector):
    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def describe(self) -> list[Metric]:
        return []  # prevents registration from looking up all values

    def collect(self) -> Iterator[Metric]:
        of = self._gauges
        yield GaugeMetricFamily("reprise_records_known", "Records that decisions are based on.", of.records_known())
        records = GaugeMetricFamily("reprise_records", "Records in the database.", labels=["component", "status"])
        with contextlib.suppress(DatabaseError):  # metrics that cannot be read are left out
            for (component, status), count in sorted(of.records().items()):
                records.add_metric([component, status], count)
            newest = of.newest()
            if newest is not None:
                age = max(0.0, time.time() - newest)
                yield GaugeMetricFamily("reprise_newest_record_age_seconds", "Age of the newest record.", age)
        yield records
        rows = GaugeMetricFamily("reprise_rows", "Approximate number of rows of a table.", labels=["table"])
        with contextlib.suppress(DatabaseError):
            for table, count in of.rows().items():
                rows.add_metric([table], count)
        yield rows
        with contextlib.suppress(DatabaseError):
            yield from _of_campaigns(of.campaigns())
        yield GaugeMetricFamily("reprise_writes_waiting", "Writes that wait for the database.", of.writes_waiting())
        yield GaugeMetricFamily("reprise_writes_waiting_bytes", "Memory that waiting writes take.", of.waiting_bytes())
        yield CounterMetricFamily("reprise_writes_dropped", "Writes that were given up.", of.writes_dropped())
        yield CounterMetricFamily(
            "reprise_decisions_stored_short",
            "Decisions stored without details: their user is over the daily volume.",
            of.stored_short(),
        )
        yield CounterMetricFamily(
            "reprise_writes_not_stored",
            "Decisions and reports not stored: their user is far over the daily volume.",
            of.not_stored(),
        )
        yield CounterMetricFamily(
            "reprise_quarantines", "Quarantines of a record, for a user or for all.", of.quarantines()
        )
        mode = GaugeMetricFamily("reprise_mode", "1 for the configured mode, 0 for other modes.", labels=["mode"])
        for name in MODES:
            mode.add_metric([name], float(of.mode() == name))
        yield mode
        yield GaugeMetricFamily("reprise_holdout_ratio", "Share of matched jobs to hold out.", of.holdout())
        with contextlib.suppress(OSError):
            yield GaugeMetricFamily("reprise_database_bytes", "Size of the database's files.", of.database_bytes())
        build = GaugeMetricFamily("reprise_build_info", "1, labelled with the version.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build


def _of_campaigns(progress: Progress) -> Iterator[Metric]:
    yield GaugeMetricFamily("reprise_campaigns_running", "Campaigns that are stored as running.", progress.running)
    now = time.time()
    for name, what, at in (
        ("silence", "Longest time since the sign of life of a running campaign's coordinator.", progress.alive_at),
        ("standstill", "Longest time in which a running campaign has ended no trial.", progress.trial_at),
    ):
        seconds = 0.0 if at is None else max(0.0, now - at)
        yield GaugeMetricFamily(f"reprise_campaign_{name}_seconds", what, seconds)


class MetricsServer:
    """HTTP server of `/metrics`, with its own threads."""

    def __init__(self, address: str, registry: CollectorRegistry, setting: str = "matcher.metrics") -> None:
        """Listen on `address`, which `setting` states. Raises ServiceError if that fails."""
        host, port = host_and_port(address)

        class Handler(BaseHTTPRequestHandler):
            timeout = CLIENT_S

            def do_GET(self) -> None:
                found = self.path.split("?")[0] == "/metrics"
                body = generate_latest(registry) if found else b"see /metrics\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", CONTENT_TYPE_PLAIN_0_0_4 if found else "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep requests out of the daemon's log."""

        latest: deque[socket.socket] = deque()

        class Listening(ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

            def server_bind(self) -> None:
                bind(self.socket, host, port)
                self.server_address = self.socket.getsockname()

            def get_request(self) -> tuple[socket.socket, Any]:
                connection, where = super().get_request()
                latest.append(connection)
                if len(latest) > CLIENTS:
                    with contextlib.suppress(OSError):  # the client has nearly always disconnected already
                        latest.popleft().shutdown(socket.SHUT_RDWR)
                return connection, where

            def handle_error(self, *_: object) -> None:
                """Ignore errors of clients that have disconnected."""

        try:
            self._server = Listening((host, port), Handler)
        except OSError as error:
            raise ServiceError(
                f"{address}: metrics cannot be served there ({error.strerror or error}): set {setting} to an address "
                "of this host and a free port, or to '' for no metrics"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    def start(self) -> None:
        """Start serving requests, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, and close the listening socket."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
