# SPDX-License-Identifier: Apache-2.0
"""Decision whether a model is accurate enough for predictions, and for which configurations it may be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprise.tuner.predict.boosted_model import Quality
from reprise.tuner.predict.training_rows import Row

MDAPE_MOST = 20.0
"""Maximum median error in percent; Agarwal et al. 2019 call this accuracy good."""
R2_LEAST = 0.5
CONFIGURATIONS_LEAST = 4
TRIALS_LEAST = 40


def refused(rows: Sequence[Row], found: Quality) -> str:
    """Return why a model must not be used, in one line; empty if it may be used."""
    configurations = len({row.key for row in rows})
    if configurations < CONFIGURATIONS_LEAST:
        return (
            f"{configurations} configurations are too few; {CONFIGURATIONS_LEAST} are needed: run campaigns "
            "of more configurations"
        )
    if len(rows) < TRIALS_LEAST:
        return f"{len(rows)} trials are too few; {TRIALS_LEAST} are needed: run campaigns of more configurations"
    if found.mdape is None or found.mdape > MDAPE_MOST:
        return (
            f"its median error is {found.mdape or 0:.1f} %, over {MDAPE_MOST:g} %: run campaigns of more configurations"
        )
    if found.r2 is None or found.r2 < R2_LEAST:
        return f"its R² is {0 if found.r2 is None else found.r2:.2f}, below {R2_LEAST:g}: run more varied campaigns"
    return ""


def outside(rows: Sequence[Row], configuration: Mapping[str, float]) -> str:
    """Return why this configuration is outside the training data, in one line; empty if it is not."""
    names = {name for row in rows for name in row.configuration}
    for name in sorted(names | set(configuration)):
        seen = [row.configuration[name] for row in rows if name in row.configuration]
        if name not in configuration:
            return f"the configuration lacks {name}, which the model needs: add it to `features`"
        if not seen:
            return f"{name} is unknown to the model: leave it out of `features`, or run campaigns with it"
        low, high = min(seen), max(seen)
        if not low <= configuration[name] <= high:  # trees cannot extrapolate
            return (
                f"{name} = {configuration[name]:g} is outside the range that was run, {low:g} to {high:g}: run a "
                "campaign"
            )
    return ""
