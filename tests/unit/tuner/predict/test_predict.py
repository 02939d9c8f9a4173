# SPDX-License-Identifier: Apache-2.0
"""Test predictions: a model's training data, its estimated accuracy, what it refuses, and what it chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reprise.database.entities import Campaign, Prediction, Trial, TrialRole, TrialState
from reprise.database.facade import Database
from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.predict import accuracy_gate, boosted_model, train, training_rows
from reprise.tuner.predict.boosted_model import Quality
from reprise.tuner.predict.predicted_search import Oracle, search
from reprise.tuner.predict.training_rows import Row

ENGINES = ("xgboost", "scikit-learn")
SPACE = Space(
    (Parameter("cb", ("automatic", "enable", "disable"), "category"), Parameter("buffer", (1, 2, 4, 8), "log"))
)
DEFAULT: Parametrization = {"cb": "automatic", "buffer": 4}
BEST: Parametrization = {"cb": "disable", "buffer": 8}


def seconds(configuration: Mapping[str, float], point: Parametrization) -> float:
    """Return the run time on an invented file system, where `disable`, large buffers and more nodes (up to 4) help."""
    way = {"automatic": 1.0, "enable": 0.6, "disable": 1.5}[str(point["cb"])]
    rate = 100 * math.pow(min(configuration["nodes"], 4), 0.7) * way
    return configuration["volume"] / (rate * (1 + 0.2 * math.log2(float(point["buffer"]))))


def made(
    of: Callable[[Mapping[str, float], Parametrization], float] = seconds, noise: float = 0.02, seed: int = 1
) -> list[Row]:
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for volume in (64.0, 128.0, 256.0, 512.0):
        for nodes in (1.0, 2.0, 4.0):
            for point in SPACE.points:
                configuration = {"volume": volume, "nodes": nodes}
                took = of(configuration, point) * math.exp(noise * rng.standard_normal())
                found.append(Row(configuration, point, {"write": took}, len(found)))
    return found


def stored(found: list[Row], name: str = "scikit-learn", refused: str = "") -> Prediction:
    settings = dict(boosted_model.SETTINGS[name])
    made_of = training_rows.to_json(found)
    return Prediction("s3d", "romio", "1", "write", 0.0, f"{name} 1", settings, made_of, 12, 1.0, 0.9, refused, 7)


def test_errors_follow_their_textbook_definitions() -> None:
    assert boosted_model.mdape([100, 200], [110, 150]) == 17.5
    assert boosted_model.r_squared([1, 2, 3], [1, 2, 3]) == 1.0
    assert boosted_model.r_squared([1, 2, 3], [3, 2, 1]) == -3.0
    assert boosted_model.r_squared([2, 2], [1, 3]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_model_of_learnable_data_is_accurate_and_passes_the_gate(name: str) -> None:
    found = made()
    quality = boosted_model.quality(found, "write", name)
    assert quality.mdape is not None and quality.mdape < 15 and quality.r2 is not None and quality.r2 > 0.7
    assert accuracy_gate.refused(found, quality) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_model_of_mere_noise_is_refused(name: str) -> None:
    found = made(lambda configuration, _: configuration["volume"], noise=1.0)
    assert accuracy_gate.refused(found, boosted_model.quality(found, "write", name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_the_same_rows_make_the_same_model(name: str) -> None:
    asked = [({"volume": 100.0, "nodes": 3.0}, point) for point in SPACE.points]
    one, other = (boosted_model.Model(made(), "write", name).rates(asked) for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_no_configuration_is_on_both_sides_of_a_split(monkeypatch: pytest.MonkeyPatch) -> None:
    found = made()
    learned: list[set[Any]] = []

    class Spy(boosted_model.Model):
        def __init__(self, rows_: list[Row], *more: Any) -> None:
            learned.append({row.key for row in rows_})
            super().__init__(rows_, *more)

        def rates(self, asked: Any) -> list[float]:
            assert not learned[-1] & {tuple(sorted(configuration.items())) for configuration, _ in asked}
            return super().rates(asked)

    monkeypatch.setattr(boosted_model, "Model", Spy)
    assert boosted_model.quality(found, "write", "scikit-learn").mdape is not None
    assert len(learned) == boosted_model.FOLDS and all(len(keys) < 12 for keys in learned)


@pytest.mark.parametrize(
    ("quality", "count", "said"),
    [
        (Quality(8.01, 0.90), 96, ""),
        (Quality(23.72, 0.50), 96, "its median error is 23.7 %"),
        (Quality(10.0, -0.20), 96, "its R² is -0.20"),
        (Quality(None, None), 96, "its median error is"),
        (Quality(1.0, 0.99), 39, "39 trials are too few"),
        (Quality(1.0, 0.99), 12, "1 configurations are too few"),
    ],
)
def test_the_gate_refuses_inaccurate_models_and_too_little_data(quality: Quality, count: int, said: str) -> None:
    why = accuracy_gate.refused(made()[:count], quality)
    assert why.startswith(said) and bool(why) == bool(said)


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({"volume": 100.0, "nodes": 3.0}, ""),
        ({"volume": 1024.0, "nodes": 2.0}, "volume = 1024 is outside the range that was run, 64 to 512"),
        ({"volume": 100.0}, "the configuration lacks nodes"),
        ({"volume": 100.0, "nodes": 2.0, "nx": 3.0}, "nx is unknown to the model"),
    ],
)
def test_a_configuration_unlike_the_training_data_is_refused(configuration: dict[str, float], said: str) -> None:
    assert accuracy_gate.outside(made(), configuration).startswith(said)
    assert bool(accuracy_gate.outside(made(), configuration)) == bool(said)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_the_best_setting_of_a_size_that_was_never_run(name: str) -> None:
    oracle = Oracle({"write": stored(made(), name)}, {"write": 1.0, "read": 0.0}, {"volume": 200.0, "nodes": 3.0})
    found = search(oracle, SPACE, DEFAULT)
    assert found.point["cb"] == "disable" and found.gain > 0.2


@pytest.mark.slow
def test_if_the_default_is_best_the_search_returns_it_without_a_gain() -> None:
    oracle = Oracle({"write": stored(made())}, {"write": 1.0}, {"volume": 64.0, "nodes": 1.0})
    found = search(oracle, SPACE, BEST)
    assert found.point == BEST and found.gain == 0


@pytest.mark.parametrize(
    ("models", "configuration", "said"),
    [
        ({}, {"volume": 64.0, "nodes": 1.0}, "there is no model of write"),
        (
            {"write": stored(made(), refused="its R² is -0.20")},
            {"volume": 64.0, "nodes": 1.0},
            "model 7 .* R² is -0.20",
        ),
        ({"write": stored(made())}, {"volume": 63.0, "nodes": 1.0}, "model 7 .* outside the range that was run"),
    ],
)
def test_a_missing_or_refused_model_is_not_used(
    models: dict[str, Prediction], configuration: dict[str, float], said: str
) -> None:
    with pytest.raises(TunerError, match=said):
        Oracle(models, {"write": 1.0}, configuration)


def put(database: Database, settings: dict[str, Any], found: list[Row], version: str = "1") -> None:
    spec = {"definition": {"settings": settings}, "size": {"nodes": 2, "tasks_per_node": 4}}
    number = database.add_campaign(Campaign("c", "romio", version, 0.0, spec, {}))
    for at, row in enumerate(found):
        trial = Trial(
            number, "p", at, TrialRole.SEARCH, row.point, TrialState.COMPLETE, 1.0, metrics=row.metrics, ordinal=at + 1
        )
        database.add_trial(trial)
    database.add_trial(Trial(number, "p", len(found), TrialRole.SEARCH, DEFAULT, TrialState.FAILED))


def test_trials_of_the_familys_campaigns_are_collected_with_their_configurations(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        put(database, {"family": "s3d", "features": {"nx": 8}}, made()[:2], version="0")
        put(database, {"family": "s3d", "features": {"nx": 16, "volume": 5}}, made()[:3])
        put(database, {"family": "btio"}, made()[:4])
        put(database, {"family": "s3d", "features": {"nx": 32, "volume": 5}}, [])
        campaign, found = training_rows.collect(database, "s3d")
        assert campaign is not None and campaign.component_version == "1"
        numbers = {"nodes": 2, "tasks_per_node": 4, "tasks": 8, "nx": 16, "volume": 5}
        assert [row.configuration for row in found] == [numbers] * 3
        assert training_rows.collect(database, "s3d", "ompio") == (None, [])
        assert training_rows.from_json(training_rows.to_json(found)) == found


def test_training_stores_every_model_with_its_data_and_the_reason_for_a_refusal(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", create=True) as database:
        put(database, {"family": "s3d", "features": {"volume": 5}}, made()[:12])
        (first,) = train.train(database, "s3d", None, 1.0, "scikit-learn")
        (second,) = train.train(database, "s3d", None, 2.0, "scikit-learn")
        assert first.refused.startswith("1 configurations are too few") and len(first.rows) == 12
        assert [one.id for one in database.predictions("s3d")] == [second.id, first.id]
        assert {part: one.id for part, one in train.newest(database, "s3d", "romio", "1").items()} == {
            "write": second.id
        }
        assert train.newest(database, "s3d", "romio", "2") == {}
        with pytest.raises(TunerError, match="no campaign belongs to it"):
            train.train(database, "bt", None, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_size_between_two_measured_sizes_is_treated_as_the_nearer_one(name: str) -> None:
    """A model trained on two and four nodes must change its prediction in the middle, at three, and not at four."""
    seen = [
        Row(
            {"volume": 8.0, "nodes": float(nodes)}, {"cb": cb}, {"write": 1.0 if nodes == 2 or cb == "disable" else 9.0}
        )
        for nodes in (2, 4)
        for cb in ("enable", "disable")
        for _ in range(10)
    ]
    fitted = boosted_model.Model(seen, "write", name)
    at = {
        nodes: fitted.rates([({"volume": 8.0, "nodes": nodes}, {"cb": "enable"})])[0] for nodes in (2.0, 2.9, 3.1, 4.0)
    }
    assert at[2.9] == pytest.approx(at[2.0]) and at[3.1] == pytest.approx(at[4.0]) and at[2.0] > 2 * at[4.0]
