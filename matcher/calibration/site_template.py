# SPDX-License-Identifier: Apache-2.0
"""Fields of the model `site`; calibration determines their weights, except those of the fields in GIVEN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import Floats
from reprise.matcher.linkage.features import OF_IO
from reprise.matcher.linkage.linkage_model import Model

NAME, VERSION = "site", 3
BITS_DECIMALS = 2

_PATH = {"comparer": "soft-tfidf", "separators": "/_.-", "digits": False, "inner_threshold": 0.9}
_NAME = {"comparer": "levenshtein", "digits": False}
FIELDS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("user", ({"feature": "user", "comparer": "exact"},)),
    ("account", ({"feature": "account", "comparer": "exact"},)),
    ("partition", ({"feature": "partition", "comparer": "exact"},)),
    ("job name", ({"feature": "job_name", **_NAME},)),
    (
        "program",
        (
            {"feature": "program", **_NAME},
            {"feature": "program", "name": "program exactly", "comparer": "exact"},
            {"feature": "named_program", "name": "program by name", "comparer": "levenshtein"},
            {"feature": "script_program", "name": "program's script", "comparer": "exact"},
            {"feature": "programs", "comparer": "options"},
            {"feature": "executable", **_PATH},
        ),
    ),
    (
        "options",
        ({"feature": "options", "comparer": "options"}, {"feature": "option_keys", "comparer": "options"}),
    ),
    ("modules", ({"feature": "modules", **_PATH}, {"feature": "modules_loaded", "comparer": "exact"})),
    (
        "directory",
        (
            {"feature": "directory", **_PATH},
            {"feature": "own_project", "name": "user's project", "comparer": "exact"},
            {"feature": "own_place", "name": "user's directory of a program", "comparer": "exact"},
        ),
    ),
    (
        "size",
        (
            {"feature": "nodes", "comparer": "ratio"},
            {"feature": "tasks", "comparer": "ratio"},
            {"feature": "tasks_per_node", "comparer": "exact"},
        ),
    ),
    ("submit time", ({"feature": "hour", "comparer": "circular", "period": 24},)),
    ("script", ({"feature": "script", "comparer": "hamming"},)),
)
PROGRAM_FILE: dict[str, Any] = {
    "name": "program's file",
    "parts": (
        {"feature": "build_id", "comparer": "exact", "curve": ((0, 0), (1, 4)), "unknown": 0},
        {
            "feature": "functions",
            "comparer": "hamming",
            "curve": ((0, -5), (0.5, -2), (0.65, 0), (0.8, 6), (1, 9)),
            "unknown": 0,
        },
        {"feature": "imports", "comparer": "hamming", "curve": ((0, -4), (0.6, 0), (0.8, 4), (1, 8)), "unknown": 0},
        {
            "feature": "contents",
            "comparer": "hamming",
            "curve": ((0, -7), (0.1, -4.5), (0.3, -1), (0.45, 0), (0.6, 3), (0.75, 5), (0.85, 9.5), (1, 11)),
            "unknown": 0,
        },
    ),
}
"""Field that compares program files; its weights are given here because they cannot be fitted.

Neither made-up jobs nor scripts have program files. The curves are therefore fitted to builds and executables (`python
-m bench.recognition.masked_names --fit`) and rounded. The curve of `imports` is lowered, because imports overlap with
the other parts. An unknown file adds nothing.
"""
SAME_SCRIPT: dict[str, Any] = {
    "name": "same script",
    "parts": ({"feature": "own_script", "comparer": "exact", "curve": ((0, 0), (1, 10)), "unknown": 0},),
}
"""Field for a script that a user submits again in the same directory, with the weight that equal scripts add.

If the program is unknown, an equal script shows that both jobs belong to one application. The weight cannot be fitted,
because made-up jobs always have programs, and published scripts do not occur twice.
"""
IO_PATTERN: dict[str, Any] = {
    "name": "I/O pattern",
    "parts": tuple(
        {"feature": feature, "comparer": "exact", "curve": ((0, -0.5), (1, 0.5)), "unknown": 0} for feature in OF_IO
    ),
}
"""Field that compares the access patterns that I/O forwarders saw in earlier jobs with those of the tuned job.

The weights are a guess, since there are no data yet of jobs with patterns and known applications. There are three kinds
of reads, and three of writes, so that an agreement cannot prove much. If half of all pairs of jobs agree, and 85 % of
those of one application, an agreement is worth 0.8 bits, and a disagreement -1.7 bits. Both are limited to half a bit,
so that patterns at most double or halve the odds of a match. An unknown pattern adds nothing.
"""
GIVEN = (SAME_SCRIPT, PROGRAM_FILE, IO_PATTERN)
"""Fields whose weights are given, not fitted."""
FEATURES: tuple[str, ...] = tuple(part["feature"] for _, parts in FIELDS for part in parts)
PREFER = ("nodes",)

_BENDS = np.array([0, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
KNOTS: tuple[Floats, ...] = tuple(
    np.array([0.0, 1.0]) if part["comparer"] == "exact" else _BENDS for _, parts in FIELDS for part in parts
)


def model(
    weights: Weights, *, threshold: float, evidence: Mapping[str, Any], name: str = NAME, version: int = VERSION
) -> Model:
    """Return the model with these weights, rounded to BITS_DECIMALS decimals of a bit.

    In the model, an unknown value adds nothing: the bits of all unknown values are added to the prior, and the bits of
    each part's unknown value are subtracted from the part's curve.
    """
    bits = iter(zip(weights.knots, weights.curves, weights.unknown, strict=True))

    def weighted(part: Mapping[str, Any]) -> dict[str, Any]:
        knots, curve, unknown = next(bits)
        return {**part, "curve": _bends(knots, np.round(curve - unknown, BITS_DECIMALS)), "unknown": 0.0}

    return Model.model_validate(
        {
            "name": name,
            "version": version,
            "threshold": threshold,
            "scoring": "log-odds",
            "prior": round(weights.prior + sum(weights.unknown), BITS_DECIMALS),
            "prefer": PREFER,
            "evidence": dict(evidence),
            "fields": [
                *({"name": field, "parts": [weighted(part) for part in parts]} for field, parts in FIELDS),
                *GIVEN,
            ],
        }
    )


def weights(made: Model) -> Weights:
    """Return a model's weights; the model must have log-odds scoring, and FIELDS as its first fields."""
    parts = [part for field in made.fields[: len(FIELDS)] for part in field.parts]

    def curve(knots: Floats, points: Sequence[tuple[float, float]]) -> Floats:
        similarities, bits = zip(*points, strict=True)
        return np.asarray(np.interp(knots, similarities, bits), np.float64)

    curves = tuple(curve(knots, part.curve or ()) for knots, part in zip(KNOTS, parts, strict=True))
    return Weights(made.prior or 0.0, KNOTS, curves, tuple(part.unknown or 0.0 for part in parts))


def _bends(knots: Floats, curve: Floats) -> tuple[tuple[float, float], ...]:
    """Return the curve's two ends and the points between them at which its slope changes."""
    points = list(zip(knots.tolist(), curve.tolist(), strict=True))
    slopes = np.diff(curve) / np.diff(knots)
    bends = [True, *(np.abs(np.diff(slopes)) > 1e-9).tolist(), True]
    return tuple(point for point, bend in zip(points, bends, strict=True) if bend)


def unweighted() -> Model:
    """Return the model to fit: it has placeholders as weights, and only the fields whose weights are to be fitted."""
    flat = tuple(np.zeros(len(knots)) for knots in KNOTS)
    made = model(Weights(0.0, KNOTS, flat, (0.0,) * len(KNOTS)), threshold=0.5, evidence={"text": "none"})
    return made.model_copy(update={"fields": made.fields[: len(FIELDS)]})
