# SPDX-License-Identifier: Apache-2.0
"""Patterns, reports and rounds for the tests of the council."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from reprise.matcher.council.access_pattern import Pattern, pattern_of
from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.window_council import Council, Decision

HOSTS = ("ion1", "ion2", "ion3", "ion4")


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - not used for security


def pattern(text: str) -> Pattern:
    found = pattern_of(text)
    assert found
    return found


WRITES = pattern("write/shared/strided/16K")
READS = pattern("read/shared/strided/16K")


def report(
    host: str,
    window: int,
    bandwidth: float = 100.0,
    context: Pattern | None = WRITES,
    load: float | None = None,
    opted_out: bool = False,
) -> Report:
    return Report(host, context, round(bandwidth * 10**6), bandwidth, window, load, opted_out)


def council(settings: CouncilSettings, hosts: tuple[str, ...] = HOSTS[:1], seed: int = 1) -> Council:
    return Council(settings, seeded(seed), hosts)


def rounds(
    of: Council, count: int, bandwidth: Callable[[int], float] | Mapping[int, float], hosts: tuple[str, ...] = HOSTS[:1]
) -> list[Decision]:
    """Let all hosts report the bandwidth of the window in force, round after round."""
    rate = bandwidth if callable(bandwidth) else bandwidth.__getitem__
    decisions = []
    for now in range(count):
        for host in hosts:
            of.round.receive(report(host, of.window, rate(of.window)), now)
        assert of.round.is_over(now)
        decisions.append(of.decide())
    return decisions
