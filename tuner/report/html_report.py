# SPDX-License-Identifier: Apache-2.0
"""Render a report as one self-contained HTML page from `campaign_overview.describe(..., detailed=True)`."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from reprise.database.entities import Json
from reprise.templates import render as rendered
from reprise.tuner.report import plots, sentences, words

MANY = 40  # above this number of problems, each gets only one picture, since drawing a picture takes 0.05 s


def render(described: Json) -> str:
    """Return the HTML page for a campaign's description."""
    details = described["details"]
    problems, found = described["problems"], details["problems"]
    begun = [problem for problem in problems if found[problem["problem"]]["trajectory"]]
    compared = [problem for problem in problems if problem["comparison"]]
    drifts = [of["drift"] for of in found.values() if of["drift"]]
    repeated = [one for of in found.values() for one in of["repeated"]]
    cost = details["cost"]
    gain = described["gain"]
    return rendered(
        "report.html.j2",
        number=described["campaign"],
        name=words.printable(described["name"]),
        state=described["state"],
        conclusion=sentences.conclusion(described),
        gain=gain and sentences.gain(gain),
        gain_of=gain and gain["of"],
        facts=sentences.facts(described),
        overview=_picture(plots.gains(problems)) if len(compared) > 1 else "",
        results=sentences.results(described),
        problems=[_problem(problem, found[problem["problem"]], len(begun) > MANY) for problem in begun],
        remarks=sentences.remarks(described),
        noise=sentences.noise(described),
        noise_picture=_picture(plots.noise(repeated)) if repeated else "",
        drift=_picture(plots.drift(drifts)) if drifts else "",
        cost=sentences.cost(described),
        cost_picture=_picture(plots.cost(cost["by"])) if cost["node_hours"] else "",
        cost_rows=[(one["role"], one["state"], one["trials"], words.hours(one["node_hours"])) for one in cost["by"]],
        record=sentences.record(described),
        repeat=sentences.repeat(described),
        campaign_file=sentences.campaign_file(described),
    )


def _problem(problem: Json, of: Json, only_one: bool) -> dict[str, Any]:
    default, unit = problem["default"], of["unit"]
    pictures = [
        (
            _picture(plots.trajectory(of, default)),
            "All trials in the order in which they ended; dashed: the default",
        )
    ]
    if of["best_so_far"] and not only_one:
        evaluations = sum(one["role"] == "search" for one in of["trajectory"])
        picture = _picture(plots.best_so_far(of, default, evaluations))
        pictures.append(
            (picture, "The lowest value so far; a single run may be luck, so the winner is chosen by its mean")
        )
    if not only_one:
        pictures += [(_picture(plots.effect(effect, unit)), _about(effect)) for effect in of["effects"]]
    return {
        "name": words.printable(problem["problem"]),
        "counts": sentences.counts(of),
        "pictures": pictures,
        "best": sentences.best_points(of),
        "drift": sentences.drift(of["drift"]) if of["drift"] else "",
        "failures": sentences.failures(of),
    }


def _about(effect: Json) -> str:
    return f"{words.shown(effect['name'])}: median and middle half of the points with each value, and the best of them"


def _picture(svg: str) -> Markup:
    """Mark a picture as safe markup; Matplotlib has escaped every name in it."""
    return Markup(svg)  # noqa: S704
