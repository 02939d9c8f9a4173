# SPDX-License-Identifier: Apache-2.0
"""Test that detectors are trained, exported without a change of their answers, judged and chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection.detector_file import parse, text_of
from reprise.matcher.detection.detector_inputs import AS_MEASURED, RELATIVE, inputs
from reprise.matcher.detection.detector_scores import probabilities, yeo_johnson
from reprise.tuner.detection import candidate_detectors
from reprise.tuner.detection.detector_quality import Quality, detect_ms, quality
from reprise.tuner.detection.detector_training import Judged, Rows, candidates, chosen, with_evidence
from reprise.tuner.detection.labelled_rows import Row, split
from reprise.tuner.detection.training_table import HEADINGS, cells, document
from tests.unit.detection_values import KIB, detector, rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def of_sizes() -> Rows:
    return Rows(*split(rows([32 * KIB, 256 * KIB]), 1), rows([64 * KIB, 128 * KIB], seed=2))


@pytest.fixture(scope="module")
def judged(of_sizes: Rows) -> Iterator[list[Judged]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidate_detectors, "FOREST_TREES", 20)
        patch.setattr(candidate_detectors, "STEPS", 2000)
        yield list(candidates(of_sizes, 1))


def test_all_methods_are_compared_with_both_kinds_of_inputs(judged: list[Judged]) -> None:
    methods = list(candidate_detectors.METHODS)
    assert [one.detector.name for one in judged] == [*methods, *(f"{name} relative" for name in methods)]
    assert {tuple(one.detector.inputs) for one in judged} == {AS_MEASURED, RELATIVE}
    assert [one.detector.name for one in judged if not one.ships] == [
        "histogram boosting",
        "histogram boosting relative",
    ]


def test_detectors_know_patterns_with_sizes_that_they_were_not_trained_with(judged: list[Judged]) -> None:
    best = chosen(judged)
    assert best.ships and best.validation.wrong == min(one.validation.wrong for one in judged if one.ships) == 0
    assert best.test.accuracy == 1 and best.test.right == 1


def test_a_written_detector_gives_the_same_answers(judged: list[Judged], of_sizes: Rows) -> None:
    for one in (one for one in judged if one.ships):
        again = parse(text_of(with_evidence(one, judged, of_sizes, {"grid": "made up"})), "x")
        assert [again.detect(row.features) for row in of_sizes.validation] == [
            one.detector.detect(row.features) for row in of_sizes.validation
        ]
        assert again.evidence["data"] == {"grid": "made up"} and again.evidence["validation"]["rows"] == 192


def fitted(names: tuple[str, ...], of_sizes: Rows) -> tuple[Any, Any]:
    values = np.array([inputs(names, row.features) for row in of_sizes.training])
    return values, np.array([list(AccessClass).index(row.known) for row in of_sizes.training])


def test_exported_trees_of_xgboost_have_its_probabilities(of_sizes: Rows) -> None:
    from xgboost import XGBClassifier

    from reprise.tuner.detection.exported_scores import boosted_trees

    for names in (AS_MEASURED, RELATIVE):
        values, known = fitted(names, of_sizes)
        model = XGBClassifier(n_estimators=20, base_score=0.5, n_jobs=1).fit(values, known)
        found = [probabilities(boosted_trees(model).scores(row), 1.0) for row in values.tolist()]
        assert np.allclose(found, model.predict_proba(values), atol=1e-5)


def test_an_exported_network_has_the_probabilities_of_scikit_learn(of_sizes: Rows) -> None:
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import PowerTransformer, StandardScaler

    from reprise.tuner.detection.exported_scores import network

    values, known = fitted(RELATIVE, of_sizes)
    powers = PowerTransformer(standardize=False).fit(values)
    scaler = StandardScaler().fit(powers.transform(values))
    model = MLPClassifier((5, 5), max_iter=300, tol=0.01, random_state=1).fit(
        scaler.transform(powers.transform(values)), known
    )
    found = [probabilities(network(powers, scaler, model).scores(row), 1.0) for row in values.tolist()]
    assert np.allclose(found, model.predict_proba(scaler.transform(powers.transform(values))), atol=1e-9)


def test_an_exported_tree_has_the_leaves_of_scikit_learn(of_sizes: Rows) -> None:
    from sklearn.tree import DecisionTreeClassifier

    from reprise.tuner.detection.exported_scores import forest

    values, known = fitted(AS_MEASURED, of_sizes)
    model = DecisionTreeClassifier(max_depth=1).fit(values, known)  # a leaf with two classes
    scores = forest([model])
    for row in values.tolist():
        found, expected = probabilities(scores.scores(row), 1.0), model.predict_proba([row])[0]
        assert np.allclose(found, expected, atol=0.05)


def test_the_transformation_is_that_of_scikit_learn() -> None:
    from sklearn.preprocessing import PowerTransformer

    values = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 100.0])
    transformer = PowerTransformer(standardize=False).fit(values[:, None])
    for power in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        transformer.lambdas_ = np.array([power])
        expected = transformer.transform(values[:, None])[:, 0]
        assert [yeo_johnson(float(value), power) for value in values] == pytest.approx(expected.tolist())


def test_quality_counts_wrong_and_unknown_answers() -> None:
    one = detector()
    some = rows([32 * KIB], seconds=1)  # 4 rows of each class
    first = quality(one, some)
    assert (first.rows, first.wrong, first.answered_wrong, first.accuracy) == (12, 0, 0, 1)
    swapped = [
        Row(row.run, {AccessClass.SHARED_STRIDED: AccessClass.INDIVIDUAL}.get(row.known, row.known), row.features)
        for row in some
    ]
    found = quality(one, swapped)
    assert found.wrong == 4 and found.answered_wrong + found.unknown >= 4
    assert found.log_loss == pytest.approx((8 * -math.log(0.98) + 4 * -math.log(0.01)) / 12)
    assert found.calibration_error == pytest.approx(abs(0.98 - 8 / 12))
    none = quality(replace(one, least=1.0), some)
    assert (none.unknown, none.answered_wrong, none.right, none.accuracy) == (12, 0, 0, 1)


def test_the_fewest_errors_decide_and_then_unknown_answers_and_the_log_loss() -> None:
    def one(name: str, wrong: int, unknown: int, log_loss: float) -> Judged:
        found = Quality(100, wrong, 0, unknown, log_loss, 0.0)
        return Judged(replace(detector(), name=name), found, found)

    assert (
        chosen([one("a", 1, 0, 0.1), one("b", 0, 2, 0.1), one("c", 0, 1, 0.3), one("d", 0, 1, 0.2)]).detector.name
        == "d"
    )


def test_a_label_is_found_within_five_milliseconds(judged: list[Judged], of_sizes: Rows) -> None:
    assert detect_ms(chosen(judged).detector, of_sizes.validation) <= 5


def test_the_table_has_a_row_for_each_detector(judged: list[Judged]) -> None:
    assert [len(row) for row in cells(judged)] == [len(HEADINGS)] * len(judged)
    assert [one["detector"] for one in document(judged)] == [row[0] for row in cells(judged)]
