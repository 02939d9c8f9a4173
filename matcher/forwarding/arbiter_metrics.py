# SPDX-License-Identifier: Apache-2.0
"""Metrics of the arbiter for Prometheus. No label names a job or a user."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reprise import __version__
from reprise.matcher.forwarding.arbitration import Arbitration


def registry(arbitration: Arbitration) -> CollectorRegistry:
    """Return a registry of metrics whose values are looked up on each request."""
    made = CollectorRegistry()
    made.register(_LookedUp(arbitration))
    ProcessCollector(registry=made)
    return made


class _LookedUp(Collector):
    def __init__(self, arbitration: Arbitration) -> None:
        self._arbitration = arbitration

    def describe(self) -> list[Metric]:
        return []  # prevents registration from looking up all values

    def collect(self) -> Iterator[Metric]:
        state, counts = self._arbitration.state, self._arbitration.counts
        works = GaugeMetricFamily(
            "reprise_arbiter_forwarder_up", "1 if the forwarder accepts connections.", labels=["address"]
        )
        for address, is_up, _ in self._arbitration.health.states:
            works.add_metric([address], float(is_up))
        yield works
        names = state.names.values()
        served = GaugeMetricFamily(
            "reprise_arbiter_forwarder_jobs", "Jobs that the forwarder serves.", labels=["address"]
        )
        for address in state.forwarders:
            served.add_metric([address], sum(address in of_job for of_job in names))
        yield served
        jobs = GaugeMetricFamily("reprise_arbiter_jobs", "Running jobs with the library.", labels=["access"])
        jobs.add_metric(["forwarded"], sum(map(bool, names)))
        jobs.add_metric(["direct"], sum(not of_job for of_job in names))
        yield jobs
        yield CounterMetricFamily("reprise_arbiter_decisions", "Decisions on who serves whom.", counts.decisions)
        yield CounterMetricFamily("reprise_arbiter_decision_seconds", "Time that decisions took.", counts.seconds)
        yield CounterMetricFamily(
            "reprise_arbiter_changes", "Running jobs whose forwarders were changed.", counts.changes
        )
        yield CounterMetricFamily(
            "reprise_arbiter_queue_failures", "Failures to read Slurm's queue.", counts.queue_failures
        )
        yield CounterMetricFamily("reprise_arbiter_map_failures", "Failures to write a map.", counts.write_failures)
        build = GaugeMetricFamily("reprise_build_info", "1, labelled with the version.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build
