# SPDX-License-Identifier: Apache-2.0
"""Timeline of the pool: the jobs that each forwarder served, its failures, and the number of jobs, in an interval."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Any

from reprise.database.entities import ForwarderShare, ForwarderState

MOMENTS = 240
"""Number of equal parts of the interval, at whose ends jobs are counted. A part is some four pixels of a wide chart."""


def timeline(
    configured: Sequence[str],
    shares: Sequence[ForwarderShare],
    states: Sequence[ForwarderState],
    since: float,
    until: float,
) -> dict[str, Any]:
    """Return the timeline from `since` to `until` (Unix seconds) as a JSON document.

    `shares` and `states` held at some time in the interval; they may have begun before it. The addresses of the pool,
    `configured`, come first; others follow if they served jobs or failed. Periods are in order of their beginnings, and
    `until` of a period is None if it has not ended.
    """
    jobs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    failures: dict[str, list[dict[str, Any]]] = defaultdict(list)
    direct = []
    for share in sorted(shares, key=lambda one: one.at):
        period = {"job": share.job_id, "from": share.at, "until": share.until}
        for address in share.forwarders:
            jobs[address].append({**period, "shared": share.shared})
        if not share.forwarders:
            direct.append(period)
    for state in sorted(states, key=lambda one: one.at):
        if not state.works:
            failures[state.address].append({"from": state.at, "until": state.until, "reason": state.reason})
    addresses = dict.fromkeys([*configured, *sorted({*jobs, *failures})])
    return {
        "since": since,
        "until": until,
        "forwarders": [{"address": one, "jobs": jobs[one], "failures": failures[one]} for one in addresses],
        "direct": direct,
        "counts": _counts(shares, since, until),
    }


def _counts(shares: Sequence[ForwarderShare], since: float, until: float) -> list[dict[str, Any]]:
    """Return the numbers of jobs with forwarders and with direct access at equally distant moments."""
    served = _ends([share for share in shares if share.forwarders])
    direct = _ends([share for share in shares if not share.forwarders])
    moments = [since + (until - since) * part / MOMENTS for part in range(MOMENTS + 1)]
    return [{"at": at, "forwarders": _running(served, at), "direct": _running(direct, at)} for at in moments]


def _ends(shares: Sequence[ForwarderShare]) -> tuple[list[float], list[float]]:
    """Return the sorted times at which shares begin, and at which they end."""
    return sorted(share.at for share in shares), sorted(share.until for share in shares if share.until is not None)


def _running(ends: tuple[list[float], list[float]], at: float) -> int:
    begun, ended = ends
    return bisect_right(begun, at) - bisect_right(ended, at)


def longest(told: Mapping[str, Any], most: int) -> tuple[dict[str, Any], int]:
    """Return a timeline with its `most` longest periods of jobs and of failures only, and the number of the others.

    A chart can draw a limited number of bars, and the shortest are the least visible.
    """

    def seconds(period: Mapping[str, Any]) -> float:
        end = told["until"] if period["until"] is None else min(period["until"], told["until"])
        return float(end - max(period["from"], told["since"]))

    kinds = ("jobs", "failures")
    periods = {kind: [period for row in told["forwarders"] for period in row[kind]] for kind in kinds}
    kept = {id(period) for kind in kinds for period in nlargest(most, periods[kind], key=seconds)}
    rows = [
        {**row, **{kind: [period for period in row[kind] if id(period) in kept] for kind in kinds}}
        for row in told["forwarders"]
    ]
    return {**told, "forwarders": rows}, sum(map(len, periods.values())) - len(kept)
