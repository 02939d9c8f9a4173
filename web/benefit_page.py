# SPDX-License-Identifier: Apache-2.0
"""Report on the node-hours that settings have saved, as a self-contained page and as pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from reprise import __version__
from reprise.database.entities import UnmatchedClass
from reprise.matcher.support.explanation import when
from reprise.matcher.support.jobs import unmatched_classes
from reprise.matcher.support.staff import Reader
from reprise.templates import render as rendered
from reprise.tuner.report import plots

COLOUR_OF = {"apply": "tuned", "holdout": "bound", "observe": "search", "none": "default", "defer": "faint"}
HOURS = "{:,.1f}".format


def render(found: Mapping[str, Any], cluster: str, reader: Reader) -> str:
    """Return the page (HTML) for the values `found`, which `matcher.support.jobs.site_summary.read` returns."""
    benefit, decided = found["benefit"], sum(found["decisions"].values())
    known = benefit["saved"] is not None
    expected = unmatched_classes.Expected(**found["expected"])
    classes: Sequence[UnmatchedClass] = found["classes"]
    pictures = {name: Markup(draw()) for name, draw in drawings(found)}  # noqa: S704 (drawings escape names)
    return rendered(
        "benefit.html.j2",
        cluster=cluster,
        days=found["recent_days"],
        saved=HOURS(benefit["saved"]) if known else "",
        bounds=f"{HOURS(benefit['low'])} to {HOURS(benefit['high'])}" if known else "",
        conclusion=_conclusion(found),
        facts=[
            ("decisions", f"{decided:,}"),
            ("matched a record", "no decisions" if found["match_rate"] is None else f"{found['match_rate']:.1%}"),
            ("jobs with settings", f"{found['decisions'].get('apply', 0):,}"),
            ("held out, for comparison", f"{found['decisions'].get('holdout', 0):,}"),
            ("node-hours of jobs with settings", HOURS(benefit["node_hours"])),
            (
                "records",
                ", ".join(f"{count:,} {status}" for status, count in sorted(found["records"].items())) or "none",
            ),
        ],
        decisions_picture=pictures.get("decisions", ""),
        saved_picture=pictures.get("saved", ""),
        rows=[_row(row) for row in benefit["by_record"]],
        classes=[row[1:] for row in unmatched_classes.rows(classes, expected, reader)],
        expected=expected.text(),
        at=when(found["at"]),
        version=__version__,
    )


def drawings(found: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the name and the drawing function of each picture for which there are values."""
    if found["days"]:
        yield "decisions", partial(decisions, found["days"])
    measured = [row for row in found["benefit"]["by_record"] if row["saved"] is not None]
    if measured:
        yield "saved", partial(saved, measured)


def decisions(days: Sequence[Mapping[str, Any]]) -> str:
    """Return a picture of the number of decisions on each day, stacked by verdict."""
    from datetime import date

    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    with plots.figure("Decisions per day", wide=plots.WIDE * 1.6) as (axes, finish):
        below: dict[date, int] = {}
        for verdict, colour in COLOUR_OF.items():
            mine = {date.fromisoformat(one["day"]): one["decisions"] for one in days if one["verdict"] == verdict}
            if mine:
                bottoms = [below.get(day, 0) for day in mine]
                axes.bar(list(mine), list(mine.values()), bottom=bottoms, color=plots.COLOURS[colour], label=verdict)  # type: ignore[arg-type]
                below |= {day: below.get(day, 0) + count for day, count in mine.items()}
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axes.set_ylabel("decisions")
        plots.legend(axes)
        return finish()


def saved(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a picture of the node-hours that each record has saved, with 95 % bounds."""
    with plots.figure("Node-hours saved by record", high=0.7 + 0.3 * len(rows)) as (axes, finish):
        for place, row in enumerate(rows):
            colour = plots.COLOURS["tuned" if row["low"] > 0 else ("bad" if row["high"] < 0 else "default")]
            axes.hlines(place, row["low"], row["high"], color=colour, linewidth=1.5)
            axes.plot([row["saved"]], [place], "o", color=colour, markersize=4)
        axes.set_yticks(range(len(rows)), [f"record {row['record']}" for row in rows])
        axes.invert_yaxis()
        axes.axvline(0.0, color=plots.COLOURS["ink"], linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set_xlabel("node-hours saved (95 % bounds)")
        return finish()


def _conclusion(found: Mapping[str, Any]) -> str:
    benefit = found["benefit"]
    if not benefit["jobs"]:
        return f"No job with settings has ended in {found['recent_days']} days."
    if benefit["saved"] is None:
        return (
            "Savings are unknown, because no jobs are held out for comparison. Set matcher.holdout to a share of the "
            "matched jobs (default: 0.05)."
        )
    part = benefit["measured"] / benefit["node_hours"] if benefit["node_hours"] else 0.0
    return (
        f"{benefit['jobs']:,} jobs with settings have ended. Savings are measured for {part:.0%} of their node-hours."
    )


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    about = (str(row["record"]), f"{row['jobs']:,}", HOURS(row["node_hours"]))
    if row["saved"] is None:
        return (*about, "not measured", "")
    gain = f"{row['gain']:.1%} ({row['gain_low']:.1%} to {row['gain_high']:.1%})"
    return (*about, gain, f"{HOURS(row['saved'])} ({HOURS(row['low'])} to {HOURS(row['high'])})")
