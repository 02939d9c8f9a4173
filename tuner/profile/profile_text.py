# SPDX-License-Identifier: Apache-2.0
"""Format a profile, and the verdicts on which components are worth trying, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reprise.tuner.profile.profile_values import Profile
from reprise.tuner.profile.verdicts import Verdict, overall

ROWS = 8  # maximum number of rows in a table
SUMMARY_PARTS = 4
LEAST_IN_SUMMARY = 0.005  # minimum share of the run time for an entry in the summary
LEAST = 0.001  # minimum share of the run time for a row of a table
UNITS = ("B", "KiB", "MiB", "GiB")


def size(count: int) -> str:
    """Return a number of bytes as text in a suitable unit, such as `64 KiB`."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if value >= 10 or value == int(value) else f"{value:.1f} {UNITS[unit]}"


def summary(profile: Profile) -> str:
    """Return one line with the largest shares of a profile's run time."""
    spent = {**profile.shares, "waiting for other ranks": profile.waiting}
    largest = sorted(((share, name) for name, share in spent.items() if share >= LEAST_IN_SUMMARY), reverse=True)[
        :SUMMARY_PARTS
    ]
    parts = ", ".join(f"{share:.0%} {name}" for share, name in largest)
    return f"{parts} (of {profile.elapsed_s:.0f} s, {profile.layout})"


def lines(profile: Profile, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of text that show a profile and its verdicts."""
    yield from head(profile)
    yield ""
    yield from _tables(profile)
    if profile.remarks:
        yield from ("note: " + one for one in profile.remarks)
        yield ""
    known = [one for one in verdicts if one.known]
    for one in known:
        yield f"{one.component}: {one.words}"
    silent = [one.component for one in verdicts if not one.known]
    if silent:
        yield f"not judged, since they do not declare what they touch: {', '.join(silent)}"
    if known:
        yield overall(verdicts)


def head(profile: Profile) -> Iterator[str]:
    """Yield lines with the programs, their run time, and the shares of the run time."""
    slowest = profile.slowest
    yield f"{', '.join(profile.programs)}: {profile.elapsed_s:.1f} s, {profile.layout}"
    who = f"rank {slowest.rank} on {slowest.host}" if slowest.rank is not None else f"a process on {slowest.host}"
    yield f"slowest: {who}, {slowest.wall_s:.1f} s, including {slowest.waiting_s:.1f} s waiting for other ranks"
    for name, share in sorted(profile.shares.items(), key=lambda one: (-one[1], one[0])):
        if share >= LEAST:
            yield f"  {share:6.1%}  {name}"
    if profile.waiting >= LEAST:
        yield f"  {profile.waiting:6.1%}  waiting for other ranks"


def _tables(profile: Profile) -> Iterator[str]:
    least = LEAST * profile.elapsed_s
    rows = [one for one in profile.collectives if one.time_s >= least][:ROWS]
    if rows:
        yield "collectives               ranks nodes     up to     calls      time   waiting"
        for one in rows:
            yield (
                f"  {one.kind:22} {one.ranks:6} {one.nodes:5} {size(one.bytes + 1):>9} {one.calls:9} "
                f"{one.time_s:8.2f} s {one.waiting_s:7.2f} s"
            )
        yield ""
    messages = [one for one in profile.messages if one.time_s >= least][:ROWS]
    if messages:
        yield "messages                              up to     calls      time   waiting"
        for each in messages:
            yield (
                f"  {each.where:34} {size(each.bytes + 1):>9} {each.calls:7} "
                f"{each.time_s:8.2f} s {each.waiting_s:7.2f} s"
            )
        yield ""
    files = [one for one in profile.files if one.time_s >= least][:ROWS]
    if files:
        yield "files                                 up to     calls  in order      time"
        for file in files:
            calls = file.sequential_calls + file.other_calls
            what = f"{file.op} on {file.filesystem}{' below MPI-IO' if file.mpi else ''}"
            ordered = file.sequential_calls / calls if calls else 0.0
            yield f"  {what:34} {size(file.bytes + 1):>9} {calls:7} {ordered:9.0%} {file.time_s:8.2f} s"
        yield ""
