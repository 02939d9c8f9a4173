# SPDX-License-Identifier: Apache-2.0
"""Metrics of the council for Prometheus. No label names a job or a user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reprise import __version__
from reprise.matcher.council.window_council import Mode
from reprise.matcher.windows.council_server import CouncilServer

REASONS = ("credential", "flood", "full", "malformed", "silent")
"""Reasons to refuse a connection."""


def registry(server: CouncilServer, write_failures: Callable[[], int]) -> CollectorRegistry:
    """Return a registry of metrics whose values are looked up on each request."""
    made = CollectorRegistry()
    made.register(_LookedUp(server, write_failures))
    ProcessCollector(registry=made)
    return made


class _LookedUp(Collector):
    def __init__(self, server: CouncilServer, write_failures: Callable[[], int]) -> None:
        self._server = server
        self._write_failures = write_failures

    def describe(self) -> list[Metric]:
        return []  # prevents registration from looking up all values

    def collect(self) -> Iterator[Metric]:
        server, of = self._server, self._server.deliberation
        council, counts = of.council, of.counts
        yield GaugeMetricFamily("reprise_council_forwarders", "Forwarders that are connected.", server.members)
        window = GaugeMetricFamily("reprise_council_window_us", "Window in microseconds.", labels=["chosen"])
        window.add_metric(["announced"], council.window)
        window.add_metric(["by_vote"], council.learned.window)
        yield window
        yield GaugeMetricFamily("reprise_council_patterns", "Patterns that were learned.", len(council.contexts))
        yield GaugeMetricFamily(
            "reprise_council_opted_out",
            "Forwarders with a job that must not be explored on.",
            len(council.round.opted_out),
        )
        decisions = CounterMetricFamily("reprise_council_decisions", "Decisions, by mode.", labels=["mode"])
        for mode in Mode:
            decisions.add_metric([mode.value], counts.decisions[mode])
        yield decisions
        yield CounterMetricFamily(
            "reprise_council_wait_seconds", "Time from the first report of a round to the decision.", counts.waited_s
        )
        yield CounterMetricFamily("reprise_council_reports", "Reports of forwarders.", counts.reports)
        yield CounterMetricFamily("reprise_council_missed", "Reports that were missing at a timeout.", counts.missed)
        refused = CounterMetricFamily("reprise_council_refused", "Connections that were refused.", labels=["why"])
        for why in REASONS:
            refused.add_metric([why], server.refused[why])
        yield refused
        yield CounterMetricFamily(
            "reprise_council_write_failures", "Failures to write a file of the council.", self._write_failures()
        )
        build = GaugeMetricFamily("reprise_build_info", "1, labelled with the version.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build
