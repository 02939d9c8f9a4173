# SPDX-License-Identifier: Apache-2.0
"""The lines that the benchmark prints for each part of a program's result."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.real import bars
from bench.real.catalogue import Program
from bench.real.promises import Promise


def spread(seconds: Sequence[float]) -> float:
    """Return the longest time minus the shortest, as a share of the median."""
    return (max(seconds) - min(seconds)) / statistics.median(seconds)


def row(program: Program, seconds: Sequence[float]) -> str:
    """Return the line about a program's default runs, with median and spread."""
    median = statistics.median(seconds)
    return f"{program.name:18} {median:7.2f} s   spread {spread(seconds):6.1%}   {program.title}"


def gain_row(program: Program, setting: str, gain: Sequence[float]) -> str:
    """Return the line about a setting's gain and its bounds."""
    middle, low, high = gain
    beyond = "" if low <= 0 <= high else "   beyond noise"
    return f"{program.name:18} {setting:24} {middle:6.1%} ({low:.1%} to {high:.1%}){beyond}"


def overhead_row(program: Program, found: Mapping[str, Any]) -> str:
    """Return the line about the overhead of the witness, the library that `reprise tune profile` preloads."""
    middle, low, high = found["percent"]
    return f"{program.name:18} the witness costs {middle:.1f} % ({low:.1f} to {high:.1f} %)"


def promise_rows(program: Program, one: Promise) -> list[str]:
    """Return the lines about the promised gain and the gain measured afterwards."""
    rows = [] if one.promised else [f"{program.name:18} no gain was promised after {one.runs} runs"]
    gains = (("promised", one.promised), ("kept", one.kept), ("kept by communication", one.kept_part))
    rows += [gain_row(program, name, gain) for name, gain in gains if gain]
    if one.proxy_loss:
        loss, low, high = one.proxy_loss
        rows.append(f"{program.name:18} the proxy's best setting costs {loss:.1%} ({low:.1%} to {high:.1%})")
    return rows


def look_rows(program: Program, found: Mapping[str, Any]) -> list[str]:
    """Return the lines about a look (exhaustive search for gains), with the gains and the number of right verdicts."""
    rows = [gain_row(program, name, one["gain"]) for name, one in found["again"].items()]
    best, seen = found["best"], bars.judged(found)
    if best:
        rows.append(gain_row(program, f"best: {' and '.join(best['settings'])}", best["gain"]))
    wrong = f"wrongly worth trying: {_names(seen.false_yes)}; wrongly not worth trying: {_names(seen.false_no)}"
    return [*rows, f"{program.name:18} {found['runs']} runs, {len(seen.right)} verdicts right; {wrong}"]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
