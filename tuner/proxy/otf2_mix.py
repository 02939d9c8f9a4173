# SPDX-License-Identifier: Apache-2.0
"""Make a mix from an OTF2 archive written by EZTrace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy import otf2_archive, otf2_counts
from reprise.tuner.proxy.mix import Mix
from reprise.tuner.proxy.mix_check import check
from reprise.tuner.proxy.otf2_archive import Archive
from reprise.tuner.proxy.otf2_calls import RankCalls
from reprise.tuner.proxy.trace_mix import joined
from reprise.tuner.proxy.witness_trace import Trace

CALLS_MAX = 5_000_000
"""Maximum number of calls on all ranks, which limits memory to 2 GB: a call takes some 400 bytes (measured)."""


def mix_of(path: Path, warn: Callable[[str], None]) -> Mix:
    """Make a mix from an archive, given its anchor file `NAME.otf2`; report assumptions about sizes through `warn`.

    Raises:
        ProxyError: The library that reads archives is missing; or the archive is damaged, is too large, belongs to a
            program without MPI, or lacks data that a replay needs.
    """
    try:
        with otf2_archive.opened(path) as archive:
            ranks = _ranks(archive)
            even = otf2_counts.fill(ranks, archive.definitions)
        mix = joined([Trace(rank, len(ranks), one.events) for rank, one in enumerate(ranks)], "otf2")
        check(mix)
    except OSError as error:
        raise ProxyError(f"{path}: cannot be read: {error.filename}: {error.strerror}") from error
    except ProxyError as error:
        raise ProxyError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    for kind, count in sorted(even.items()):
        warn(f"{path}: calls of MPI_{kind.capitalize()} with each rank's sum only, distributed evenly: {count}")
    return mix


def _ranks(archive: Archive) -> list[RankCalls]:
    definitions = archive.definitions
    ranks: list[RankCalls] = []
    left = CALLS_MAX
    for number, location in enumerate(definitions.ranks):
        records = archive.records(location)
        if records is None:
            raise ProxyError(f"rank {number} has no events: record a complete run")
        one = RankCalls(number, definitions)
        for record in records:
            one.take(record)
            if len(one.events) > left:
                raise ProxyError(f"more than {CALLS_MAX} calls: record a shorter run")
        one.end()
        left -= len(one.events)
        ranks.append(one)
    for location in definitions.others:
        if any(record.kind not in ("enter", "leave") for record in archive.records(location) or ()):
            raise ProxyError(
                f"location {location}, another thread of a rank, calls MPI: a replay has one thread per rank"
            )
    if all(len(one.events) <= 2 for one in ranks):
        raise ProxyError("no rank calls MPI between MPI_Init and MPI_Finalize: record a program that communicates")
    return ranks
