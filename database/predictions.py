# SPDX-License-Identifier: Apache-2.0
"""Storage of models that predict the cost of settings."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.entities import Prediction
from reprise.database.errors import NotFoundError
from reprise.database.row_codec import Table
from reprise.database.store import Store

PREDICTION = Table("prediction", Prediction, as_given=True)


class Predictions(Store):
    """The stored models of `reprise tune predict`. Models are never replaced; each new model gets a new id."""

    def add_prediction(self, prediction: Prediction) -> int:
        """Add a model and return its id."""
        with self._write() as connection:
            return PREDICTION.add(connection, prediction)

    def prediction(self, prediction_id: int) -> Prediction:
        """Return the model with this id. Raise NotFoundError if there is none."""
        rows = self._read("SELECT * FROM prediction WHERE id = ?", (prediction_id,))
        if not rows:
            raise NotFoundError(f"no model with id {prediction_id}: `reprise tune predict show` lists all models")
        return PREDICTION.decode(rows[0])

    def predictions(self, family: str | None = None) -> Sequence[Prediction]:
        """Return all models, or the models of one family, newest first."""
        rows = self._read(
            "SELECT * FROM prediction WHERE :family IS NULL OR family = :family ORDER BY id DESC", {"family": family}
        )
        return [PREDICTION.decode(row) for row in rows]
