# SPDX-License-Identifier: Apache-2.0
"""Render a report as plain text from `campaign_overview.describe(..., detailed=True)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reprise.database.entities import Json
from reprise.tuner.report import sentences, words

WIDTH = 100  # maximum number of characters in a line, unless a name is longer
BAR = 24  # length of the longest bar in characters
SHOWN = 12  # maximum number of a parameter's values to show; if there are more, they are sampled evenly


def render(described: Json) -> str:
    """Return the text report for a campaign's description."""
    title = f"Campaign {described['campaign']}: {words.printable(described['name'])}"
    parts = [title, "=" * len(title), "", sentences.conclusion(described), ""]
    parts += _pairs(sentences.facts(described))
    parts += _section("Results", _results(described))
    details = described["details"]
    for problem in described["problems"]:
        of = details["problems"][problem["problem"]]
        if of["trajectory"]:
            parts += _section(words.printable(problem["problem"]), _problem(of))
    if described["remarks"]:
        parts += _section("Remarks", sentences.remarks(described))
    parts += _section("Noise", sentences.noise(described))
    parts += _section("Cost", [*_cost(details["cost"]), "", *sentences.cost(described)])
    parts += _section("Record", sentences.record(described))
    parts += _section(
        "To repeat it", [*_pairs(sentences.repeat(described)), "", sentences.campaign_file(described).rstrip()]
    )
    return "\n".join(parts) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", title, "-" * len(title), *lines]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}" for name, value in pairs]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table; columns whose index is in `right` are right-aligned."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            f"{cell:>{width}}" if column in right else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return [line(head), *(line(row) for row in rows)]


def _results(described: Json) -> list[str]:
    rows = [
        [row[key] for key in ("problem", "default", "tuned", "gain", "trials")] for row in sentences.results(described)
    ]
    head = ("problem", "default", "tuned", "gain in % (95 % bounds)", "trials")
    lines = _table(head, rows) if rows else ["no problem was started"]
    lines += ["", *(f"{row['problem']}: {row['outcome']}" for row in sentences.results(described) if row["outcome"])]
    return lines


def _problem(of: Json) -> list[str]:
    unit = of["unit"]
    lines = [f"{sentences.counts(of)}."]
    if of["best_so_far"]:
        steps = [f"{one['evaluations']}: {words.single(one['value'], unit)}" for one in of["best_so_far"]]
        lines += ["", "Lowest value by number of search trials", *_wrapped(steps)]
    if of["best_points"]:
        lines += ["", *_table(("best means", "runs", "settings"), sentences.best_points(of), (0, 1))]
    for effect in of["effects"]:
        lines += ["", *_effect(effect, unit)]
    if of["drift"]:
        lines += ["", sentences.drift(of["drift"])]
    if of["failures"]:
        lines += ["", *sentences.failures(of)]
    return lines


def _effect(effect: Json, unit: str) -> list[str]:
    shown = effect["values"]
    if len(shown) > SHOWN:
        step = (len(shown) - 1) / (SHOWN - 1)
        shown = [shown[round(number * step)] for number in range(SHOWN)]
    longest = max(one["median"] for one in shown)
    rows = [
        [
            words.shown(one["value"]),
            str(one["points"]),
            words.single(one["median"], unit),
            f"{words.single(one['low'], unit)} to {words.single(one['high'], unit)}",
            "#" * max(1, round(BAR * one["median"] / longest)) if longest > 0 and one["median"] > 0 else "",
        ]
        for one in shown
    ]
    return _table((words.shown(effect["name"]), "points", "median", "middle half", ""), rows, (1, 2))


def _cost(cost: Json) -> list[str]:
    rows: list[list[Any]] = [
        [one["role"], one["state"], str(one["trials"]), words.hours(one["node_hours"])] for one in cost["by"]
    ]
    return _table(("role", "state", "trials", "node-hours"), rows, (2, 3)) if rows else ["no trial was started"]


def _wrapped(pieces: Sequence[str]) -> list[str]:
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) + 2 > WIDTH - 2:
            lines.append("")
        lines[-1] += ("   " if lines[-1] else "  ") + piece
    return lines
