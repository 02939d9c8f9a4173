# SPDX-License-Identifier: Apache-2.0
"""Training of a family's models: one for each part of the objective, on all existing trials."""

from __future__ import annotations

import dataclasses

from reprise.database.entities import Prediction
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.errors import TunerError
from reprise.tuner.predict import accuracy_gate, boosted_model, training_rows


def train(
    database: TunerDatabase, family: str, component: str | None, now: float, engine: str = ""
) -> list[Prediction]:
    """Train and store a new model for each part of the objective, with its training data and accuracy.

    Raise TunerError if there is nothing to learn from.
    """
    campaign, found = training_rows.collect(database, family, component)
    if campaign is None:
        raise TunerError(
            f"family {family!r}: no campaign belongs to it: set `family` in the settings of campaigns that tune it"
        )
    targets = training_rows.metrics_of(found)
    if not targets:
        raise TunerError(
            f"family {family!r}: no trial has times of reading and writing: set `objective.parts` in the "
            "settings of its campaigns"
        )
    name = engine or boosted_model.engine()
    made = []
    for target in targets:
        quality = boosted_model.quality(found, target, name)
        one = Prediction(
            family=family,
            component=campaign.component,
            component_version=campaign.component_version,
            target=target,
            created_at=now,
            engine=boosted_model.version(name),
            settings=dict(boosted_model.SETTINGS[name]),
            rows=training_rows.to_json(found),
            configurations=len({row.key for row in found}),
            mdape=quality.mdape,
            r2=quality.r2,
            refused=accuracy_gate.refused(found, quality),
        )
        made.append(dataclasses.replace(one, id=database.add_prediction(one)))
    return made


def newest(database: TunerDatabase, family: str, component: str, component_version: str) -> dict[str, Prediction]:
    """Return the newest model of each part of the objective that was trained for this component and version."""
    found: dict[str, Prediction] = {}
    for one in database.predictions(family):
        if (one.component, one.component_version) == (component, component_version):
            found.setdefault(one.target, one)
    return found
