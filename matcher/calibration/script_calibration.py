# SPDX-License-Identifier: Apache-2.0
"""The calibration with a site's own batch scripts: fitted to those of half of their owners, judged on the others'."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reprise.matcher.calibration import script_pairs, site_template
from reprise.matcher.calibration.calibrate import FALSE_MATCHES, Calibration, calibrate
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.script_folder import FoundScript
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.evaluation.script_report import ScriptReport
from reprise.matcher.evaluation.script_verdicts import SEEDS, measure
from reprise.matcher.linkage.linkage_model import load

LEAST_OWNERS = 20
"""Owners with scripts that name a program. With fewer, an interval of the judged half spans most of what there is."""
LEAST_IN_HALF = 5
"""Owners with two scripts of one application in each half: only these say how often an application is recognised."""
WEIGHT = 1.0
"""What a pair of scripts counts, beside a made-up pair."""
_SPLIT = b"reprise match calibrate: half of "


@dataclass(frozen=True)
class ScriptCalibration:
    """`made` was fitted to the scripts of half of the owners. The reports are on the others' scripts: of the model
    that Reprise comes with, and of the one made."""

    made: Calibration
    fitted: tuple[FoundScript, ...]
    shipped: ScriptReport
    judged: ScriptReport


def is_fitted(owner: str) -> bool:
    """Whether weights are fitted to the scripts of `owner`, the same every time; else these scripts judge them."""
    return hashlib.sha256(_SPLIT + owner.encode(errors="surrogateescape")).digest()[0] % 2 == 0


def calibrate_to_scripts(
    found: Sequence[FoundScript],
    *,
    false_matches: float = FALSE_MATCHES,
    weight: float = WEIGHT,
    name: str = site_template.NAME,
    version: int = site_template.VERSION,
) -> ScriptCalibration:
    """A model fitted to made-up pairs and to pairs of these scripts, which count `weight` times each.

    The threshold is chosen as in `calibrate`. Raises MatcherError where the scripts are too few to fit to and to judge.
    """
    fitted = [script for script in found if is_fitted(script.owner)]
    held_back = [script for script in found if not is_fitted(script.owner)]
    labelled = [LabelledScript(script) for script in fitted]
    _check(labelled, [LabelledScript(script) for script in held_back])
    pairs = script_pairs.pairs(labelled)
    made = calibrate(None, scripts=pairs.times(weight), false_matches=false_matches, name=name, version=version)
    shipped, judged = (ScriptReport.of(model, held_back, len(SEEDS)) for model in (load("site"), made.model))
    evidence = made.model.evidence | {
        "scripts": {
            "owners_fitted": len({script.owner for script in fitted}),
            "scripts_fitted": len(fitted),
            "pairs": int(pairs.counts.sum()),
            "pairs_matched": int(pairs.matched.sum()),
            "pair_weight": weight,
        },
        "held_back_scripts": _percent(judged),
    }
    made = dataclasses.replace(made, model=made.model.model_copy(update={"evidence": evidence}))
    return ScriptCalibration(made, tuple(fitted), shipped, judged)


def _check(fitted: Sequence[LabelledScript], held_back: Sequence[LabelledScript]) -> None:
    owners = {one.script.owner for one in (*fitted, *held_back) if one.label.is_known}
    repeating = min(_repeating(fitted), _repeating(held_back))
    if len(owners) >= LEAST_OWNERS and repeating >= LEAST_IN_HALF:
        return
    has, needed = (
        (f"{len(owners)} owners have scripts that name a program", f"{LEAST_OWNERS} or more")
        if len(owners) < LEAST_OWNERS
        else (
            f"in one half of the owners, {repeating} have two scripts of one program",
            f"{LEAST_IN_HALF} or more in each half",
        )
    )
    raise MatcherError(
        f"{has}: weights are fitted to one half of the owners and judged on the other, which takes {needed}: take "
        "scripts of more users or more days, or calibrate with the jobs that sacct tells (--from-sacct)"
    )


def _repeating(scripts: Sequence[LabelledScript]) -> int:
    """How many owners have two scripts of one application."""
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
