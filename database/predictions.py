# SPDX-License-Identifier: Apache-2.0
"""Models that predict what a setting would take."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.database.entities import Prediction
from reprise.database.errors import NotFoundError
from reprise.database.row_codec import Table
from reprise.database.store import Store

PREDICTION = Table("prediction", Prediction, as_given=True)


class Predictions(Store):
    """What `reprise tune predict` trains. Nothing is ever replaced: a new model has a new id."""

    def add_prediction(self, prediction: Prediction) -> int:
        """Add a model and return its id."""
        with self._write() as connection:
            return int(connection.execute(PREDICTION.insert_sql, PREDICTION.encode(prediction)).lastrowid or 0)

    def prediction(self, prediction_id: int) -> Prediction:
        """The model with this id; raises NotFoundError."""
        rows = self._read("SELECT * FROM prediction WHERE id = ?", (prediction_id,))
        if not rows:
            raise NotFoundError(
                f"no model has the id {prediction_id}: `reprise tune predict show` lists those there are"
            )
        return PREDICTION.decode(rows[0])

    def predictions(self, family: str | None = None) -> Sequence[Prediction]:
        """All models, or those of a family, newest first."""
        rows = self._read(
            "SELECT * FROM prediction WHERE :family IS NULL OR family = :family ORDER BY id DESC", {"family": family}
        )
        return [PREDICTION.decode(row) for row in rows]
