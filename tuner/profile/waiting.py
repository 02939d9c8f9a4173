# SPDX-License-Identifier: Apache-2.0
"""Compute, from sampled calls, the share of each rank's communication time in which it waited for late ranks.

While the program runs, ranks exchange no data for this purpose. Afterwards, the times of a call on all its ranks are
compared. A rank that arrived early waited until the last rank arrived; the rest of the call's time is transfer. The
clocks of hosts are trusted unless they contradict causality: no rank leaves an allreduce before the last rank has
arrived. If the sampled calls contradict a host's clock, its times are corrected by the middle of the range of possible
errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reprise.tuner.profile.process_report import ProcessReport, Sampled

FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("reduce", "gather", "gatherv")
MUTUAL = (
    "barrier",
    "allreduce",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce_scatter",
    "reduce_scatter_block",
)  # no rank leaves before the last rank has arrived
EXCHANGES = ("sendrecv", "sendrecv_replace")

Call = tuple[int, Sampled]  # index of the report, and the call with its times corrected for the host's clock error


@dataclass(frozen=True)
class Waiting:
    """Waiting of one rank for other ranks, by kind of collective; the key "p2p" is for messages.

    `shares`: share of the calls' time in which the rank waited. `calls`: number of calls for which waiting was
    measured.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)


def measure(reports: Sequence[ProcessReport]) -> tuple[Sequence[Waiting], Mapping[str, float]]:
    """Return the `Waiting` of each report's rank, and the seconds by which hosts' clocks are ahead of the first rank's.

    The reports must be from one run of one MPI program, with one report per rank.
    """
    shifts = _shifts(reports)
    collectives = _grouped(reports, "collective_samples", shifts)
    messages = _grouped(reports, "message_samples", shifts)
    waited: list[dict[str, list[tuple[int, int]]]] = [defaultdict(list) for _ in reports]
    for calls in collectives:
        for index, call, wait in _collective(calls, reports):
            waited[index][call.kind].append((wait, call.left - call.blocked))
    for index, pairs in _messages(messages):
        waited[index]["p2p"].extend(pairs)
    found = []
    for one in waited:
        sums = {kind: (sum(wait for wait, _ in pairs), sum(all_ for _, all_ in pairs)) for kind, pairs in one.items()}
        shares = {kind: min(1.0, wait / all_) if all_ > 0 else 0.0 for kind, (wait, all_) in sums.items()}
        found.append(Waiting(shares, {kind: len(pairs) for kind, pairs in one.items()}))
    return found, {host: shift / 1e9 for host, shift in shifts.items() if shift}


def _grouped(reports: Sequence[ProcessReport], name: str, shifts: Mapping[str, int]) -> list[list[Call]]:
    """Return groups of sampled calls that are parts of the same communication, such as a collective on all its ranks.

    All ranks sampled the calls whose key is a multiple of the largest stride of any rank; other samples are ignored.
    """
    samples = [getattr(one.mpi, name) for one in reports if one.mpi]
    stride = max((one.stride for one in samples), default=1)
    groups: dict[str, list[Call]] = defaultdict(list)
    for index, one in enumerate(reports):
        if one.mpi is None:
            continue
        shift = shifts.get(one.host, 0)
        for call in getattr(one.mpi, name).calls:
            if int(call.key, 16) % stride == 0:
                times = {"arrived": call.arrived - shift, "blocked": call.blocked - shift, "left": call.left - shift}
                groups[call.key].append((index, call._replace(**times)))
    return [calls for calls in groups.values() if len(calls) > 1]


def _base(kind: str) -> str:
    """Return the name of the blocking variant of a collective."""
    return kind[1:] if kind[1:] in FROM_ROOT + TO_ROOT + MUTUAL and kind.startswith("i") else kind


def _collective(calls: Sequence[Call], reports: Sequence[ProcessReport]) -> list[tuple[int, Sampled, int]]:
    kind = _base(calls[0][1].kind)
    last = max(call.arrived for _, call in calls)
    roots = [one.arrived for at, one in calls if (mpi := reports[at].mpi) and mpi.rank == one.other]
    found = []
    for index, call in calls:
        mpi = reports[index].mpi
        is_root = mpi is not None and call.other == mpi.rank
        # For kinds without a rule here, it is unknown which ranks a call waits for, so its waiting counts as 0.
        until = last if kind in MUTUAL else call.blocked
        if kind in FROM_ROOT:
            until = roots[0] if roots and not is_root else call.blocked
        elif kind in TO_ROOT and is_root:
            until = last
        found.append((index, call, _within(call, until)))
    return found


def _within(call: Sampled, until: int) -> int:
    """Return the nanoseconds for which a call waited for an event at the time `until`."""
    return max(0, min(until, call.left) - call.blocked)


def _messages(groups: Sequence[Sequence[Call]]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return the waiting time and the total time of each call that completes messages, by index of the report.

    A call that completes several messages counts once.
    """
    spans: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    for calls in groups:
        sends = [one for one in calls if one[1].is_send]
        receives = [one for one in calls if not one[1].is_send]
        if len(sends) != 1 or len(receives) != 1:
            continue
        (source, sent), (target, received) = sends[0], receives[0]
        _keep(spans[target], received, _within(received, sent.arrived))
        if sent.kind not in EXCHANGES:  # the waiting of a sendrecv is that of its receive
            is_held = sent.blocked < received.arrived < sent.left
            _keep(spans[source], sent, received.arrived - sent.blocked if is_held else 0)
    return [(index, [(wait, end - begin) for (begin, end), wait in one.items()]) for index, one in spans.items()]


def _keep(spans: dict[tuple[int, int], int], call: Sampled, wait: int) -> None:
    span = (call.blocked, call.left)
    spans[span] = max(spans.get(span, 0), wait)


def _shifts(reports: Sequence[ProcessReport]) -> dict[str, int]:
    """Return the nanoseconds by which each host's clock is ahead of the clock of the first rank's host.

    The result is 0 for a clock that the sampled calls do not contradict.
    """
    first = next((one.host for one in reports if one.mpi and one.mpi.rank == 0), "")
    bounds: dict[str, tuple[int, int]] = {}
    for calls in _grouped(reports, "collective_samples", {}):
        if _base(calls[0][1].kind) not in MUTUAL:
            continue
        hosts: dict[str, list[Sampled]] = defaultdict(list)
        for index, call in calls:
            hosts[reports[index].host].append(call)
        if first not in hosts:
            continue
        for host, own in hosts.items():
            low = max(call.arrived for call in own) - min(call.left for call in hosts[first])
            high = min(call.left for call in own) - max(call.arrived for call in hosts[first])
            before = bounds.get(host, (low, high))
            bounds[host] = max(low, before[0]), min(high, before[1])
    return {host: 0 if low <= 0 <= high else (low + high) // 2 for host, (low, high) in bounds.items() if host != first}
