# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs nothing else, from `overview.describe(..., detailed=True)` alone."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from database.model import Json
from templates import render as rendered
from tuner.report import plots, story, words

MANY = 40  # problems; where there are more, each has one picture only, which takes a twentieth of a second


def render(described: Json) -> str:
    """The whole page."""
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
        conclusion=story.conclusion(described),
        gain=gain and words.gain({"gain": gain["gain"], "gain_low": gain["low"], "gain_high": gain["high"]}),
        facts=story.facts(described),
        overview=_picture(plots.gains(problems)) if len(compared) > 1 else "",
        results=story.results(described),
        problems=[_problem(problem, found[problem["problem"]], len(begun) > MANY) for problem in begun],
        remarks=story.remarks(described),
        noise=story.noise(described),
        noise_picture=_picture(plots.noise(repeated)) if repeated else "",
        drift=_picture(plots.drift(drifts)) if drifts else "",
        cost=story.cost(described),
        cost_picture=_picture(plots.cost(cost["by"])) if cost["node_hours"] else "",
        cost_rows=[(one["role"], one["state"], one["trials"], words.hours(one["node_hours"])) for one in cost["by"]],
        record=story.record(described),
        repeat=story.repeat(described),
        campaign_file=story.campaign_file(described),
    )


def _problem(problem: Json, of: Json, only_one: bool) -> dict[str, Any]:
    default, unit = problem["default"], of["unit"]
    pictures = [
        (_picture(plots.trajectory(of, default)), "Every trial in the order in which they ended; dashed: the default")
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
        "counts": story.counts(of),
        "pictures": pictures,
        "best": story.best_points(of),
        "drift": story.drift(of["drift"]) if of["drift"] else "",
        "failures": story.failures(of),
    }


def _about(effect: Json) -> str:
    return f"{words.shown(effect['name'])}: median and middle half of the points with each value, and the best of them"


def _picture(svg: str) -> Markup:
    """matplotlib has escaped every name in it."""
    return Markup(svg)  # noqa: S704
