# SPDX-License-Identifier: Apache-2.0
"""What the model `site` compares, without the weights, which a calibration finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import Floats
from reprise.matcher.linkage.linkage_model import Model

NAME, VERSION = "site", 1
BITS_DECIMALS = 2

_PATH = {"comparer": "soft-tfidf", "separators": "/_.-", "digits": False, "inner_threshold": 0.9}
_NAME = {"comparer": "levenshtein", "digits": False}
FIELDS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("user", ({"feature": "user", "comparer": "exact"},)),
    ("account", ({"feature": "account", "comparer": "exact"},)),
    ("partition", ({"feature": "partition", "comparer": "exact"},)),
    ("job name", ({"feature": "job_name", **_NAME},)),
    ("program", ({"feature": "program", **_NAME}, {"feature": "executable", **_PATH})),
    (
        "options",
        ({"feature": "options", "comparer": "options"}, {"feature": "option_keys", "comparer": "options"}),
    ),
    ("modules", ({"feature": "modules", **_PATH},)),
    ("directory", ({"feature": "directory", **_PATH},)),
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
FEATURES: tuple[str, ...] = tuple(part["feature"] for _, parts in FIELDS for part in parts)
PREFER = ("nodes",)

_BENDS = np.array([0, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
KNOTS: tuple[Floats, ...] = tuple(
    np.array([0.0, 1.0]) if part["comparer"] == "exact" else _BENDS for _, parts in FIELDS for part in parts
)


def model(
    weights: Weights, *, threshold: float, evidence: Mapping[str, Any], name: str = NAME, version: int = VERSION
) -> Model:
    """The model with these weights, in bits rounded to BITS_DECIMALS."""
    bits = iter(zip(weights.knots, weights.curves, weights.unknown, strict=True))

    def weighted(part: Mapping[str, Any]) -> dict[str, Any]:
        knots, curve, unknown = next(bits)
        return {
            **part,
            "curve": _bends(knots, np.round(curve, BITS_DECIMALS)),
            "unknown": round(unknown, BITS_DECIMALS),
        }

    return Model.model_validate(
        {
            "name": name,
            "version": version,
            "threshold": threshold,
            "scoring": "log-odds",
            "prior": round(weights.prior, BITS_DECIMALS),
            "prefer": PREFER,
            "evidence": dict(evidence),
            "fields": [{"name": field, "parts": [weighted(part) for part in parts]} for field, parts in FIELDS],
        }
    )


def _bends(knots: Floats, curve: Floats) -> tuple[tuple[float, float], ...]:
    """The points of the curve without those on a straight line between others."""
    points = list(zip(knots.tolist(), curve.tolist(), strict=True))
    slopes = np.diff(curve) / np.diff(knots)
    bends = [True, *(np.abs(np.diff(slopes)) > 1e-9).tolist(), True]
    return tuple(point for point, bend in zip(points, bends, strict=True) if bend)


def unweighted() -> Model:
    """The model with weights that mean nothing."""
    flat = tuple(np.zeros(len(knots)) for knots in KNOTS)
    return model(Weights(0.0, KNOTS, flat, (0.0,) * len(KNOTS)), threshold=0.5, evidence={"text": "none"})
