# SPDX-License-Identifier: Apache-2.0
"""Write the sentences of the HTML and the text report from `campaign_overview.describe(..., detailed=True)`."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from reprise.database.entities import Json
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.report import words
from reprise.tuner.report.progress import percent
from reprise.tuner.steps import warm_start

MESSAGE = 200  # maximum number of characters of a failed trial's message to show


def conclusion(described: Json) -> str:
    """Return a sentence with the campaign's result."""
    from reprise.tuner.report import campaign_overview

    return words.printable(campaign_overview.last_words(described))


def facts(described: Json) -> list[tuple[str, str]]:
    """Return label/fact pairs on what was tuned, for whom, where, when and how."""
    definition, cost = described["details"]["definition"], described["details"]["cost"]
    application = described["application"]
    component = f"{described['component']} {described['component_version']}"
    count = len(described["problems"])
    pairs = [
        ("what", f"{words.printable(component)}, {count} problem{'' if count == 1 else 's'}"),
        ("for", _whom(application)),
        ("where", ", ".join(f"{name} {words.shown(value)}" for name, value in described["context"].items())),
        (
            "started",
            f"{words.moment(described['begun_at'])}; from first to last trial {words.hours(cost['wall_hours'])} h",
        ),
        ("cost", f"{words.hours(cost['node_hours'])} node-hours in {described['trials']} trials"),
        ("search", _search(definition)),
    ]
    if described["warm_start"]:
        pairs.append(("start", warm_start.in_words(described["warm_start"])))
    if described["silent_s"] is not None:
        pairs.append(("coordinator", f"last sign of life {words.span(described['silent_s'])} ago"))
    return pairs


def results(described: Json) -> list[dict[str, str]]:
    """Return one row of texts for each problem.

    The keys are `problem`, `default`, `tuned`, `gain`, `settings`, `trials` and `outcome`.
    """
    return [_result(problem) for problem in described["problems"]]


def counts(of: Json) -> str:
    """Return a text with the number of a problem's trials in each state, and of the repetitions in its search."""
    states = Counter(one["state"] for one in of["trajectory"])
    repeated = sum(one["run"] > 1 and one["role"] == "search" for one in of["trajectory"])
    parts = [f"{count} {state}" for state, count in states.items()]
    again = f"; repetitions in the search: {repeated}" if repeated else ""
    return f"{sum(states.values())} trials: {', '.join(parts)}{again}"


def best_points(of: Json) -> list[tuple[str, str, str]]:
    """Return the mean, number of runs and settings of each of the best points, as texts."""
    unit = of["unit"]
    return [
        (
            words.single(one["mean"], unit),
            str(one["n"]),
            words.settings(one["point"], of["usual"]) + " (the winner)" * one["won"],
        )
        for one in of["best_points"]
    ]


def drift(found: Json) -> str:
    """Return a sentence on the drift of the default, which shows whether the machine's speed changed."""
    verdict = "within noise" if found["within_noise"] else "beyond noise: the machine changed during the campaign"
    return (
        f"The default took {words.interval(found['before'])} before the search and {words.interval(found['after'])} "
        f"in the pairs with the winner ({percent(found['change'])}, {verdict})."
    )


def failures(of: Json) -> list[str]:
    """Return a line for each error message of failed trials, most frequent first."""
    failed = [(one, words.printable(one["message"])[:MESSAGE] or "no message") for one in of["failures"]]
    return [f"{one['trials']} {one['state']}, e.g. trial {one['number']}: {message}" for one, message in failed]


def noise(described: Json) -> list[str]:
    """Return sentences on the variation between runs with the same settings, and on the drift of the default."""
    found = described["details"]["noise"]
    drifts = [one["drift"] for one in described["details"]["problems"].values() if one["drift"]]
    if found["variation"] is None:
        return ["No point has been measured more than once: the noise is unknown."]
    lines = [
        f"Runs of the same settings differ by {100 * found['variation']:.2g} % (coefficient of variation, pooled over "
        f"{found['points']} repeated points)."
    ]
    if drifts:
        drifted = sum(not one["within_noise"] for one in drifts)
        lines.append(
            f"Between its runs before the search and those in the pairs with the winner, the default drifted beyond "
            f"noise in {drifted} of {len(drifts)} problem{'' if len(drifts) == 1 else 's'}."
        )
    return lines


def cost(described: Json) -> list[str]:
    """Return sentences on the campaign's total cost and on the savings from pruning."""
    found = described["details"]["cost"]
    lines = [
        f"{words.hours(found['node_hours'])} node-hours in all, {words.hours(found['wall_hours'])} h from first to "
        "last trial. Time in the queue costs nothing and is not counted."
    ]
    if pruned := found["pruning"]:
        saved = (
            f"about {words.hours(pruned['estimate'])} node-hours (estimated from trials that took longer)"
            if pruned["estimate"] is not None
            else f"at most {words.hours(pruned['most'])} node-hours (if each had run to the limit of all trials)"
        )
        lines.append(
            f"{_were(pruned['trials'])} stopped early after {words.hours(pruned['node_hours'])} node-hours: that "
            f"saved {saved}."
        )
    return lines


def record(described: Json) -> list[str]:
    """Return sentences on the campaign's records, with the environment variables that the records set in jobs."""
    if not described["records"]:
        why = described["note"] or ("none was written" if described["state"] == "complete" else "none so far")
        return [f"No record: {why.removeprefix('no record: ')}."]
    lines = []
    first = described["records"][0]["context"]
    apart = [name for name in first if any(one["context"].get(name) != first[name] for one in described["records"])]
    for found in described["records"]:
        own = ", ".join(f"{name} {words.shown(found['context'].get(name))}" for name in apart)
        whose = f" that have {own}" if own else ""
        lines.append(f"Record {found['record']} ({found['status']}) gives jobs{whose}:")
        lines += [f"  {name}={words.printable(value)}" for name, value in found["environment"].items()]
        if found["artifact"]:
            lines.append(f"The file is {found['artifact']}.")
        if of := found["gain"]["of"]:
            lines.append(f"Its gain, {gain(found['gain'])}, is a gain in {of}, not in a job's run time.")
    if described["note"]:
        lines.append(f"{described['note']}.")
    return lines


def gain(of_record: Json) -> str:
    """Return a record's gain with its bounds as text, in percent."""
    return words.gain({"gain": of_record["gain"], "gain_low": of_record["low"], "gain_high": of_record["high"]})


def remarks(described: Json) -> list[str]:
    """Return remarks on irregularities in the measurements."""
    return [f"{words.printable(one)}." for one in described["remarks"]]


def repeat(described: Json) -> list[tuple[str, str]]:
    """Return label/fact pairs needed to repeat the campaign: seed, versions, grid points, files and jobs."""
    details = described["details"]
    versions = ", ".join(f"{name} {version}" for name, version in details["versions"].items())
    grids = details["grids"]
    pairs = [("seed", str(details["definition"]["search"]["seed"]))]
    if versions:
        pairs.append(("versions", versions))
    if grids:
        pairs.append(("grid points", _some([f"{words.shown(key)}: {count}" for key, count in grids.items()])))
    return [*pairs, ("files", described["directory"]), ("jobs", described["job_name"])]


def campaign_file(described: Json) -> str:
    """Return the text of the campaign file with all defaults filled in."""
    definition = described["details"]["definition"]
    # Validation restores the order of keys, which the database sorts. It may fail for a file of another release, which
    # is then shown with sorted keys.
    with contextlib.suppress(ValidationError):
        definition = Definition.model_validate(definition).model_dump(mode="json")
    text: str = yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=100)
    return text


def _whom(application: Json | None) -> str:
    if application is None:
        return "every job on this machine that the record covers"
    return words.printable(f"jobs similar to {application['script']} of {application['user']}")


def _search(definition: Json) -> str:
    search = definition["search"]
    return (
        f"{search['method']}, {search['initial']} initial points, at most {search['budget']} trials for each problem; "
        f"noise: {definition['noise']['policy']}; pruning: {definition['pruning']['policy']}"
    )


def _result(problem: dict[str, Any]) -> dict[str, str]:
    found, best, default = problem["comparison"], problem["best"], problem["default"]
    row = {
        "problem": words.printable(problem["problem"]),
        "default": words.interval(default) if default else "",
        "tuned": "",
        "gain": "",
        "settings": "",
        "trials": _trials(problem),
        "outcome": _outcome(problem),
    }
    if found:
        row |= {"tuned": words.interval(found["tuned"]), "gain": words.gain(found)}
        row |= {
            "default": words.interval(found["default"]),
            "settings": words.settings(found["winner"], problem["usual"]),
        }
    elif best:
        row |= {
            "tuned": f"so far {words.single(best['mean'], best['unit'])}",
            "settings": words.settings(best["point"], problem["usual"]),
        }
        row["gain"] = "" if best["gain"] is None else f"so far {percent(best['gain'])}"
    return row


def _trials(problem: Json) -> str:
    extra = [f"{problem[state]} {state}" for state in ("failed", "pruned") if problem.get(state)]
    return ", ".join([str(problem["trials"]), *extra])


def _outcome(problem: Json) -> str:
    """Return a finished problem's winner or note, and why its search ended; for other problems, the phase."""
    if problem["phase"] != "done":
        return {"waiting": "not started"}.get(problem["phase"], f"in the {problem['phase']} phase")
    found = problem["comparison"]
    winner = words.settings(found["winner"], problem["usual"]) if found else problem["note"]
    return "; ".join(part for part in (winner, problem["stopped"]) if part)


def _were(trials: int) -> str:
    return "1 trial was" if trials == 1 else f"{trials} trials were"


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts) if len(texts) <= 6 else f"{', '.join(texts[:6])} and {len(texts) - 6} more"
