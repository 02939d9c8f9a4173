# SPDX-License-Identifier: Apache-2.0
"""The parts of a program's result, with their options, their measurement, and their lines of output."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.real import bars
from bench.real.catalogue import Program
from bench.real.comparing import Environment, Gain, gains
from bench.real.look_on_cluster import look
from bench.real.printed_rows import gain_row, look_rows, overhead_row, promise_rows, row
from bench.real.promises import Promise, promise
from bench.real.running import run_program
from bench.real.witnessing import overhead
from tests.cluster.machine import VirtualCluster


@dataclass(frozen=True)
class Part:
    """One part of a program's result.

    `asked` contains the options that determine the result, `measure` measures and returns the result, and `rows`
    formats a result as readable lines.
    """

    name: str
    asked: Mapping[str, Any]
    measure: Callable[[VirtualCluster, Program], Any]
    rows: Callable[[Program, Any], Sequence[str]]


def settings_for(program: Program, described: Mapping[str, Any], names: str = "") -> dict[str, Environment]:
    """Return the settings for programs of this program's kind, as environments by name.

    `names` is a comma-separated list of the settings to return, "" for all. Raises ValueError for an unknown name.
    """
    wanted = names.split(",") if names else list(described)
    if missing := [name for name in wanted if name not in described]:
        raise ValueError(f"bench/real/settings.toml has no {', '.join(missing)}: use some of {', '.join(described)}")
    return {name: described[name]["environment"] for name in wanted if program.kind in described[name]["kinds"]}


def rounded(gain: Gain) -> list[float]:
    """Return a gain and its bounds, rounded to four decimal places."""
    return [round(one, 4) for one in (gain.gain, gain.low, gain.high)]


def parts_for(program: Program, given: argparse.Namespace, described: Mapping[str, Any]) -> list[Part]:
    """Return the requested parts of a program, in the order in which they are measured."""
    settings = settings_for(program, described, given.settings)
    wanted = [
        (given.runs, _runs(given.runs)),
        (given.pairs and settings, _gains(given.pairs, settings)),
        (given.tune, _promise(given.tune, given.later)),
        (given.overhead, _overhead(given.overhead)),
        (given.look, _look(given.look, given.look_limit)),
    ]
    return [part for asked, part in wanted if asked]


def _runs(count: int) -> Part:
    def measure(cluster: VirtualCluster, program: Program) -> Any:
        return [run_program(cluster, program, {}) for _ in range(count)]

    return Part(bars.RUNS, {"runs": count}, measure, lambda program, seen: [row(program, seen)])


def _gains(pairs: int, settings: Mapping[str, Environment]) -> Part:
    def measure(cluster: VirtualCluster, program: Program) -> Any:
        order = random.Random(1)  # noqa: S311 - not used for security
        each = gains(lambda given: run_program(cluster, program, given), settings, pairs, order)
        return {name: rounded(gain) for name, gain in each.items()}

    def rows(program: Program, seen: Any) -> list[str]:
        return [gain_row(program, name, gain) for name, gain in seen.items()]

    return Part(bars.GAINS, {"pairs": pairs, "settings": settings}, measure, rows)


def _promise(pairs: int, later_s: float) -> Part:
    def measure(cluster: VirtualCluster, program: Program) -> Any:
        return promise(cluster, program, pairs, later_s).to_json()

    def rows(program: Program, seen: Any) -> list[str]:
        return promise_rows(program, Promise.of(seen))

    return Part(bars.PROMISE, {"pairs": pairs, "later_s": later_s}, measure, rows)


def _overhead(pairs: int) -> Part:
    def measure(cluster: VirtualCluster, program: Program) -> Any:
        return overhead(cluster, program, pairs)

    return Part(bars.OVERHEAD, {"pairs": pairs}, measure, lambda program, seen: [overhead_row(program, seen)])


def _look(pairs: int, limit_s: float) -> Part:
    def measure(cluster: VirtualCluster, program: Program) -> Any:
        return look(cluster, program, pairs, limit_s)

    return Part(bars.LOOK, {"pairs": pairs, "limit_s": limit_s}, measure, look_rows)
