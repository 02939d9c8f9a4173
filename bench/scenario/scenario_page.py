# SPDX-License-Identifier: Apache-2.0
"""The scenario's report, a single HTML file made from the tables of `bench.scenario.result_tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from bench.scenario.result_tables import Result
from reprise.tuner.report import plots

TEMPLATE = Path(__file__).parent / "scenario.html.j2"
THESIS_QUALITY = {
    (False, False): (0.73, 25.61, 13),
    (False, True): (0.74, 24.73, 15),
    (True, False): (0.80, 25.93, 148),
    (True, True): (0.93, 29.27, 190),
}
"""Robert 2021, table 7.4: median score, gain in %, and number of jobs, by (application right, nodes right)."""
THESIS_USERS = (("1", 0.78, 23.85), ("2", 0.87, 27.40), ("3", 0.88, 26.24))
"""The mean score and the mean gain in % of each user in Robert 2021."""
HEADLINES = (
    ("median gain over the default", "gain_median", "28.4 %"),
    ("mean gain", "gain_mean", "26.1 %"),
    ("the oracle's median gain", "oracle_gain_median", "not published"),
    ("right application", "right_application", "92 %"),
    ("right number of nodes", "right_nodes", "56 %"),
    ("jobs of unknown applications that were matched", "unknown_matched", "not tried"),
)

Rows = Sequence[Sequence[str]]


def render(told: Mapping[str, Any], results: Sequence[Result]) -> str:
    """Return the report as HTML."""
    pictures = [
        (by_job(results), "Gain of each job over the default (dots), and that of the best setting (line)"),
        (over_score(results), "Gain and score of each job; squares: jobs tuned by a campaign"),
    ]
    pages = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return pages.from_string(TEMPLATE.read_text()).render(
        jobs=len(results),
        campaigns=told["campaigns"],
        machine=told["machine"],
        minutes=told["minutes"],
        pictures=[(Markup(svg), caption) for svg, caption in pictures],  # noqa: S704 - made by this program
        headlines=headlines(told, len(results)),
        quality=quality(told),
        users=users(told),
        scores=[(f"{row['from']:.2f} to {row['to']:.2f}", *_three(row)) for row in told["by_score"]],
        groups=groups(told),
    )


def headlines(told: Mapping[str, Any], jobs: int) -> Rows:
    """Return the rows of the table of the main results."""
    rows = [(name, percent(told[key]), thesis) for name, key, thesis in HEADLINES]
    slowed = f"{told['slowed']} of {jobs} beyond noise ({told['slower_at_all']} at all)"
    return [*rows, ("jobs slowed", slowed, "7 of 366 at all")]


def quality(told: Mapping[str, Any]) -> Rows:
    """Return the rows of the table by quality of the match."""
    rows: list[tuple[str, ...]] = []
    for row in told["by_quality"]:
        if row["application"] is None:
            rows.append(("given nothing", "", *_three(row), "", ""))
            continue
        score, gain, jobs = THESIS_QUALITY[row["application"], row["nodes"]]
        words = ["yes" if row[key] else "no" for key in ("application", "nodes")]
        rows.append((*words, *_three(row), f"{score:.2f}, {gain:.1f} %", str(jobs)))
    return rows


def users(told: Mapping[str, Any]) -> Rows:
    """Return the rows of the table by user."""
    rows = [
        (user, str(of["jobs"]), number(of["score_mean"]), percent(of["gain_mean"]), percent(of["gain_median"]))
        for user, of in told["by_user"].items()
    ]
    return rows + [
        (f"thesis, user {name}", "", f"{score:.2f}", f"{gain:.1f} %", "") for name, score, gain in THESIS_USERS
    ]


def groups(told: Mapping[str, Any]) -> Rows:
    """Return the rows of the table of jobs that were not tuned themselves, or whose own record is left out."""
    never, left, alone = told["never_tuned"], told["own_record_left_out"], told["without_a_record"]
    return [
        (
            "never tuned themselves",
            str(never["jobs"]),
            percent(never["right_application"]),
            percent(never["right_nodes"]),
            percent(never["gain_median"]),
        ),
        (
            "tuned, own record left out",
            str(left["of_jobs"]),
            percent(left["right_application"]),
            percent(left["right_nodes"]),
            "",
        ),
        ("of applications without a record", str(alone["jobs"]), "", "", percent(alone["gain_median"])),
    ]


def by_job(results: Sequence[Result]) -> str:
    """Return the picture of the gain of each job, as SVG."""
    ordered = sorted(results, key=lambda one: one.gain)
    with plots.figure("Gain of each job over the default") as (axes, finish):
        places = range(1, len(ordered) + 1)
        oracles = [100 * one.oracle for one in ordered]
        axes.plot(places, oracles, "_", color=plots.COLOURS["tuned"], markersize=7, label="best setting")
        axes.plot(places, [100 * one.gain for one in ordered], "o", color=plots.COLOURS["search"], markersize=3.5)
        plots.level(axes, 0.0, "ink")
        axes.set_xlabel("job, by gain")
        axes.set_ylabel("gain, %")
        return finish()


def over_score(results: Sequence[Result]) -> str:
    """Return the picture of gain against score, as SVG."""
    with plots.figure("Gain over score") as (axes, finish):
        for own, marker, colour, label in (
            (True, "s", "default", "tuned itself"),
            (False, "o", "search", "matched with another"),
        ):
            chosen = [one for one in results if one.own == own and one.match]
            if chosen:
                scores, gains = [one.score for one in chosen], [100 * one.gain for one in chosen]
                axes.plot(scores, gains, marker, color=plots.COLOURS[colour], markersize=3.5, label=label)
        plots.level(axes, 0.0, "ink")
        axes.set_xlabel("score")
        axes.set_ylabel("gain, %")
        plots.legend(axes)
        return finish()


def percent(value: float | None) -> str:
    """Format a share (0 to 1) in percent; None becomes the empty string."""
    return "" if value is None else f"{100 * value:.1f} %"


def number(value: float | None) -> str:
    """Format a number with two decimal places; None becomes the empty string."""
    return "" if value is None else f"{value:.2f}"


def _three(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return number(row["score_median"]), percent(row["gain_median"]), str(row["jobs"])
