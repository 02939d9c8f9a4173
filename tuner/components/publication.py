# SPDX-License-Identifier: Apache-2.0
"""Publication of a winner, with variables and a hints file for jobs, or the reason why jobs cannot get its settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprise.allowlist import is_allowed
from reprise.database.gain_subject import GAIN_OF
from reprise.templates import render
from reprise.tuner.components.described_component import Description, Objective, Via
from reprise.tuner.components.trial_inputs import Parts, parts
from reprise.tuner.model import artifacts
from reprise.tuner.model.component import Comparison, Publication

KIND = "hints"
TRIAL_DIRECTORY = "{directory}"


def publication(
    description: Description, before: Parts, comparison: Comparison, directory: Path, cluster: str
) -> Publication | None:
    """Return a winner's publication, or None if it is not better than the default beyond noise.

    `before` are the inputs of the default's trials. If the winner differs from the default in inputs that no variable
    can set, the publication has no environment, since jobs with only some of the measured settings would not achieve
    the gain; `note` gives the reason. If the default and the winner share inputs that no variable can set, jobs must
    have these inputs themselves; `note` lists them.
    """
    if comparison.gain_low <= 0:
        return None
    after = parts(description, comparison.winner)
    missing = out_of_jobs_reach(before, after)
    environment = {} if missing else {n: v for n, v in after.environment.items() if _can_be_set(n, v)}
    artifact = None
    if after.hints and not missing:
        text = hints_file(description, after, [f"for {cluster}"])
        artifact = artifacts.publish(directory, text, KIND, ".hints")
        environment[description.activation.hints] = artifact.path
    if missing:
        note = f"no record: Reprise cannot set {'; '.join(missing)} in a job: add it to the job's script or options"
    else:
        shared = _shared(before, after)
        note = f"only for jobs that set {'; '.join(shared)} themselves" if shared else ""
    return Publication.of(
        comparison,
        parametrization={
            "parameters": dict(comparison.winner),
            **({"note": note} if note else {}),
            **({GAIN_OF: of} if (of := gain_of(description.objective)) else {}),
            **({"predicted": dict(description.predicted)} if description.predicted else {}),
        },
        environment=environment,
        conflicts=variables(description),
        artifact=artifact,
        note=note,
        context={"predicted": True} if description.predicted else {},
    )


def hints_file(description: Description, given: Parts, about: Sequence[str]) -> str:
    """Return the text of a hints file in ROMIO's format, with one name and value per line."""
    provenance = [f"Hints, made by Reprise ({description.name} {description.version})", *about]
    return render("hints.j2", provenance=provenance, hints=given.hints)


def variables(description: Description) -> list[str]:
    """Return the component's variables, and the variables that conflict with the component.

    A job whose user has set any of these variables gets no settings.
    """
    named = [name for p in description.parameters if p.via is Via.ENVIRONMENT for name in (p.name, *p.copies)]
    activation = description.activation
    hints = [name for name in (activation.hints, activation.hint_list) if name]
    return list(dict.fromkeys([*activation.environment, *hints, *named, *description.conflicts]))


def gain_of(objective: Objective) -> str:
    """Describe the quantity in which the gain was measured; return "" for the run time."""
    if not (objective.pattern or objective.function or objective.parts):
        return ""
    names = ", ".join(part.name for part in objective.parts if part.weight)
    return f"{names or 'a figure'} in the application's output ({objective.unit})"


def out_of_jobs_reach(before: Parts, after: Parts) -> list[str]:
    """Describe the changes from the default to the winner that the matcher cannot make to a job.

    These changes are new inputs in `after` that no variable can set, and inputs of `before` that jobs would have to
    omit.
    """
    was, now = _out_of_reach(before), _out_of_reach(after)
    taken = [f"no {name}" for name in before.environment if name not in after.environment]
    taken += ["no hints"] if before.hints and not after.hints else []
    gone = [f"no {text}" for what, text in was.items() if what not in now and what not in before.environment]
    return [text for what, text in now.items() if was.get(what) != text] + gone + taken


def _can_be_set(name: str, value: str) -> bool:
    return is_allowed(name) and TRIAL_DIRECTORY not in value


def _out_of_reach(given: Parts) -> dict[str, str]:
    """Describe the inputs that the matcher cannot set in a job; the keys are kinds of inputs and names of variables."""
    found = {
        "options": " ".join(given.options),
        "directives": ", ".join(f"`{line}`" for line in given.directives),
        "commands": ", ".join(f"`{line}`" for line in given.commands),
        "wrapper": " ".join(given.wrapper),
        "arguments": " ".join(given.arguments),
        "preload": ":".join(given.preload),
    }
    labels = {"wrapper": "the wrapper ", "arguments": "the arguments ", "preload": "LD_PRELOAD="}
    found = {what: labels.get(what, "") + text for what, text in found.items() if text}
    return found | {n: f"{n}={v}" for n, v in given.environment.items() if not _can_be_set(n, v)}


def _shared(before: Parts, after: Parts) -> list[str]:
    was = _out_of_reach(before)
    return [text for what, text in _out_of_reach(after).items() if was.get(what) == text]
