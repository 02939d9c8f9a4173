# SPDX-License-Identifier: Apache-2.0
"""Calibration of a model with a site's own batch scripts.

The scripts' owners are divided into two halves. A model that is fitted to the scripts of one half is evaluated on the
scripts of the other half. The resulting model is fitted to all scripts.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.matcher.calibration import script_pairs, site_template
from reprise.matcher.calibration.calibrate import FALSE_MATCHES, Calibration, calibrate
from reprise.matcher.calibration.script_pairs import ScriptPairs
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.script_folder import FoundScript
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.evaluation.script_report import ScriptReport
from reprise.matcher.evaluation.script_verdicts import SEEDS, measure
from reprise.matcher.linkage.linkage_model import load

LEAST_OWNERS = 20
"""Minimum number of owners who have scripts that name a program. With fewer owners, the confidence intervals would be
too wide."""
LEAST_IN_HALF = 5
"""Minimum number of owners in each half who have two scripts of one application. Only the scripts of such owners show
how often an application is recognized."""
_SPLIT = b"reprise match calibrate: half of "


@dataclass(frozen=True)
class ScriptCalibration:
    """A model fitted to the scripts of all owners (`made`), and two reports on the scripts of both halves.

    `shipped` is the report on Reprise's model `site`. `judged` is the joint report on the two models that are each
    fitted to one half and evaluated on the other half.
    """

    made: Calibration
    shipped: ScriptReport
    judged: ScriptReport


def is_first_half(owner: str) -> bool:
    """Return whether an owner is in the first half, which depends only on the owner's name."""
    return hashlib.sha256(_SPLIT + owner.encode(errors="surrogateescape")).digest()[0] % 2 == 0


def calibrate_to_scripts(
    found: Sequence[FoundScript],
    *,
    false_matches: float = FALSE_MATCHES,
    name: str = site_template.NAME,
    version: int = site_template.VERSION,
) -> ScriptCalibration:
    """Fit a model to made-up pairs and to the pairs of these scripts, and return it with reports.

    The threshold is chosen as in `calibrate`. Raises MatcherError if there are too few scripts to fit and evaluate a
    model.
    """
    labelled = [LabelledScript(script) for script in found]
    first = [one for one in labelled if is_first_half(one.script.owner)]
    second = [one for one in labelled if not is_first_half(one.script.owner)]
    _check(first, second)

    def fitted(scripts: Sequence[LabelledScript]) -> tuple[Calibration, ScriptPairs]:
        pairs = script_pairs.pairs(scripts)
        return calibrate(None, scripts=pairs, false_matches=false_matches, name=name, version=version), pairs

    halves = ((first, second), (second, first))
    crossed = [(fitted(one)[0].model, [judge.script for judge in other]) for one, other in halves]
    judged = ScriptReport.joined([ScriptReport.of(model, half, len(SEEDS)) for model, half in crossed])
    shipped = ScriptReport.joined([ScriptReport.of(load("site"), half, len(SEEDS)) for _, half in crossed])
    made, pairs = fitted(labelled)
    evidence = made.model.evidence | {
        "scripts": {
            "owners": len({script.owner for script in found}),
            "scripts": len(found),
            "pairs": int(pairs.sure.counts.sum()),
            "pairs_matched": int(pairs.sure.matched.sum()),
            "pairs_doubtful": int(pairs.doubtful.counts.sum()),
            "share": script_pairs.SHARE,
            "doubt": script_pairs.DOUBT,
        },
        "halves_of_scripts": _percent(judged),
    }
    made = dataclasses.replace(made, model=made.model.model_copy(update={"evidence": evidence}))
    return ScriptCalibration(made, shipped, judged)


def _check(fitted: Sequence[LabelledScript], held_back: Sequence[LabelledScript]) -> None:
    owners = {one.script.owner for one in (*fitted, *held_back) if one.label.is_known}
    repeating = min(_repeating(fitted), _repeating(held_back))
    if len(owners) >= LEAST_OWNERS and repeating >= LEAST_IN_HALF:
        return
    has, needed = (
        (f"{len(owners)} owners have scripts that name a program", f"{LEAST_OWNERS} or more")
        if len(owners) < LEAST_OWNERS
        else (
            f"in one half of the owners, only {repeating} have two scripts of one program",
            f"{LEAST_IN_HALF} or more in each half",
        )
    )
    raise MatcherError(
        f"{has}: weights are fitted to one half of the owners and evaluated on the other, which requires {needed}: use "
        "scripts of more users or more days, or calibrate with jobs from sacct (--from-sacct)"
    )


def _repeating(scripts: Sequence[LabelledScript]) -> int:
    """Return the number of owners who have two scripts of one application."""
    seen: set[str] = set()
    owners = set()
    for one in scripts:
        if one.label.is_known:
            if one.application in seen:
                owners.add(one.script.owner)
            seen.add(one.application)
    return len(owners)


def _percent(report: ScriptReport) -> dict[str, Any]:
    shares = measure(report.judged)
    found = {field.name: getattr(shares, field.name).value for field in dataclasses.fields(shares)}
    counts = {"owners": report.owners, "scripts": report.scripts}
    return counts | {name: round(100 * value, 1) for name, value in found.items() if value is not None}
