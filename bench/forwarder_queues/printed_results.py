# SPDX-License-Identifier: Apache-2.0
"""Applications, bandwidths and results printed in section 5.6 of Bez 2020 (PhD thesis, UFRGS).

The curves of figure 5.8 are not printed as numbers. `LIVE` has the numbers that the text and table 5.3 do print, and
`live_curve` fills the gaps between them, as its docstring says. Bandwidths are in MB/s.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve, exact
from reprise.matcher.arbiter.forwarding_job import COUNTS, Job


class Application(NamedTuple):
    """A row of table 5.2: gigabytes written and read, compute nodes and processes."""

    written: float
    read: float
    nodes: int
    processes: int


APPLICATIONS: Mapping[str, Application] = {
    "BT-C": Application(6.3, 6.3, 32, 128),
    "BT-D": Application(126.5, 126.5, 64, 512),
    "HACC": Application(1.8, 0, 8, 64),
    "IOR-MPI": Application(16, 16, 16, 128),
    "POSIX-S": Application(16, 16, 16, 128),
    "POSIX-L": Application(32, 32, 64, 512),
    "MAD": Application(16.2, 16.2, 32, 64),
    "SIM": Application(19.6, 0, 16, 16),
    "S3D": Application(33.7, 0, 64, 512),
}

TABLE_5_3: Mapping[str, Mapping[int, float]] = {
    "BT-C": {0: 195.7, 1: 77.6},
    "BT-D": {1: 597.2, 2: 594.2},
    "IOR-MPI": {1: 268.4, 8: 5089.9},
    "POSIX-L": {2: 411.9},
    "MAD": {0: 255.9, 1: 77.8},
    "S3D": {0: 241.3, 2: 48.1},
}
"""Bandwidth of six applications by number of forwarders, as far as table 5.3 prints it."""
TABLE_5_3_NODES = 512
"""Compute nodes of the system that reproduce the STATIC column of table 5.3; any number from 384 to 767 does."""

LIVE: Mapping[str, Mapping[int, Sequence[float]]] = {
    "BT-C": {1: [77.6]},
    "BT-D": {1: [597.2], 2: [594.2]},
    "HACC": {1: [1250, 1250, 883.37, 898.7, 987.3], 8: [3850.7]},
    "IOR-MPI": {1: [268.4], 8: [5089.9]},
    "POSIX-S": {2: [180.5], 4: [1049.9]},
    "POSIX-L": {2: [411.9], 8: [1963.9]},
    "MAD": {1: [77.8]},
    "SIM": {2: [139.1, 123.1, 176.2]},
    "S3D": {2: [48.1], 8: [123.3, 110.0, 108.3]},
}
"""Bandwidths whose number of forwarders is printed, or follows from STATIC with 96 nodes and 12 forwarders.

3850.7 MB/s belong to the first HACC of the second queue, which had 8 forwarders and later 4. 180.5 and 1049.9 MB/s are
printed for "POSIX-L", but the only POSIX-L of that queue had 391.7 MB/s, so they belong to POSIX-S.
"""
LIVE_NODES = 96
LIVE_FORWARDERS = 12
LIVE_DELAY = 10.0
"""Seconds between two looks of a client at its forwarders."""

QUEUE_1: Mapping[str, int] = {"HACC": 4, "SIM": 3, "S3D": 3}
"""Jobs of the first queue; their order is not printed."""
QUEUE_2: Sequence[str] = (
    *("HACC", "IOR-MPI", "SIM", "IOR-MPI", "IOR-MPI", "POSIX-S", "POSIX-L"),
    *("BT-C", "MAD", "MAD", "S3D", "HACC", "HACC", "BT-D"),
)

PRINTED: Mapping[str, Mapping[str, float]] = {
    "queue_1": {"static": 4950, "mckp": 9180},
    "queue_2": {"static": 8410, "mckp": 16020},
}
"""Aggregate bandwidth of both queues."""
PRINTED_JOBS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "HACC": {"static": [1250, 1250, 883.37, 898.7], "mckp": [1510, 1660, 3470, 1900]},
    "SIM": {"static": [139.1, 123.1, 176.2], "mckp": [132.0, 120.6, 208.1]},
    "S3D": {"static": [123.3, 110.0, 108.3], "mckp": [121.7, 103.5, 108.9]},
}
"""Bandwidth of each job of the first queue."""


def table_5_3_jobs() -> list[Job]:
    """Return the six jobs of table 5.3, with the bandwidths printed there as their curves."""
    return [
        Job(name, APPLICATIONS[name].nodes, APPLICATIONS[name].processes, exact(points))
        for name, points in TABLE_5_3.items()
    ]


class Fill(StrEnum):
    """Assumption about the bandwidth for a number of forwarders between two printed numbers.

    It is a power of the number (POWER), equal to the bandwidth of the smaller number (LOW), or of the larger (HIGH).
    """

    POWER = "power"
    LOW = "low"
    HIGH = "high"


def live_curve(name: str, fill: Fill = Fill.POWER) -> BandwidthCurve:
    """Return an application's curve for 1, 2, 4 and 8 forwarders, as far as `LIVE` determines it.

    `fill` says what is assumed between two printed numbers. Below the smallest printed number, the power of the first
    two continues; above the largest, bandwidth is constant. An application with one printed number has a constant
    bandwidth.
    """
    known = {number: statistics.fmean(values) for number, values in LIVE[name].items()}
    return exact({number: _filled(known, number, fill) for number in COUNTS})


def _filled(known: Mapping[int, float], number: int, fill: Fill) -> float:
    numbers = sorted(known)
    if number in known:
        return known[number]
    if number > numbers[-1] or len(numbers) == 1:
        return known[numbers[-1]]
    low, high = next(pair for pair in itertools.pairwise(numbers) if number < pair[1])
    if number < low or fill is Fill.POWER:
        power = math.log(known[high] / known[low]) / math.log(high / low)
        return known[low] * math.pow(number / low, power)
    return known[low] if fill is Fill.LOW else known[high]
