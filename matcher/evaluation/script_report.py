# SPDX-License-Identifier: Apache-2.0
"""Report of an evaluation on users' own scripts, as JSON for programs and as tables for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.matcher.evaluation.evaluation_report import Table, described, percent
from reprise.matcher.evaluation.script_folder import FoundScript
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.evaluation.script_scenarios import ONE_SITE, STRANGERS
from reprise.matcher.evaluation.script_verdicts import Judged, Outcome, judged, measure
from reprise.matcher.linkage import Model
from reprise.matcher.submission.masked_metadata import masked

EXAMPLES = 12
_MEANING = {
    "recall": "a variant has a record, and the job matches it",
    "confused": "a variant has a record, and the job matches another application's",
    "own other": "only other applications of the same user have records, and the job matches one",
    "strangers": "the user has no record, and the job matches another user's",
    "generic strangers": "likewise, and the program's name does not identify it",
}


@dataclass(frozen=True)
class ScriptReport:
    """Results of a model's evaluation on a folder of scripts."""

    model: str
    threshold: float
    scripts: int
    owners: int
    seeds: int
    judged: tuple[Judged, ...]

    @classmethod
    def of(cls, model: Model, found: Sequence[FoundScript], seeds: int) -> ScriptReport:
        """Evaluate `model` on the scripts with the seeds 0 to `seeds` - 1, and return the report."""
        scripts = [LabelledScript(script) for script in found]
        owners = len({script.owner for script in found})
        answers = tuple(judged(model, scripts, range(seeds)))
        return cls(model.label, model.threshold, len(found), owners, seeds, answers)

    @classmethod
    def joined(cls, reports: Sequence[ScriptReport]) -> ScriptReport:
        """Combine reports on scripts of different owners into one.

        The reports' models must have the same name; the threshold is that of the first report.
        """
        first = reports[0]
        return cls(
            first.model,
            first.threshold,
            sum(one.scripts for one in reports),
            sum(one.owners for one in reports),
            first.seeds,
            tuple(answer for one in reports for answer in one.judged),
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with the measures in `ScriptMeasures`, each with its interval and number of jobs."""
        head = {"model": self.model, "threshold": self.threshold, "seeds": self.seeds}
        shares = measure(self.judged)
        return {
            **head,
            "scripts": self.scripts,
            "owners": self.owners,
            **{field.name: getattr(shares, field.name).to_json() for field in dataclasses.fields(shares)},
        }

    @property
    def headline(self) -> str:
        """One line that states the model, the scripts and the seeds."""
        return (
            f"Model {self.model}, threshold {self.threshold:g}, {self.scripts} scripts of {self.owners} owners, "
            f"{self._sites()}, seeds 0 to {self.seeds - 1}. Percent, with 95 % confidence intervals."
        )

    def _sites(self) -> str:
        names = sorted({one.site for one in self.judged} - {STRANGERS, ONE_SITE})
        return f"sites {', '.join(names)}" if names else ONE_SITE

    def tables(self) -> list[Table]:
        """Return two tables: the measures, and examples of jobs that matched a record of another application."""
        shares = measure(self.judged)
        rows = [(name, meaning, *_cells(getattr(shares, name.replace(" ", "_")))) for name, meaning in _MEANING.items()]
        examples = list(_examples(self.judged))
        return [
            Table("", ("measure", "share of the jobs for which", "jobs", "percent"), rows),
            Table("matched another application's record", ("kind", "for example", "nearest record", "score"), examples),
        ]


def _cells(share: Any) -> tuple[str, str]:
    return str(share.n), percent(share)


def _examples(judged: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """Yield table rows for up to EXAMPLES wrong matches with the highest scores, each of a different script."""
    wrong = [one for one in judged if one.outcome is Outcome.WRONG]
    seen: set[str] = set()
    for one in sorted(wrong, key=lambda one: (-one.score, one.asking.script.script.path)):
        path = one.asking.script.script.path
        if path not in seen and len(seen) < EXAMPLES and one.given is not None:
            seen.add(path)
            asking, given = masked(one.asking.job), masked(one.given.script.metadata)
            yield one.asking.kind, described(asking), described(given), f"{one.score:.3f}"
