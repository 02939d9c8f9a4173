# SPDX-License-Identifier: Apache-2.0
"""Test the inputs of detectors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import Features
from reprise.matcher.detection.detector_inputs import AS_MEASURED, INPUTS, RELATIVE, inputs, problem

STRIDED = Features(Operation.READ, 1, 65536, 4096, 32768, 98304)


def test_all_inputs_are_those_as_measured_or_relative() -> None:
    assert set(INPUTS) == {*AS_MEASURED, *RELATIVE}


def test_features_are_inputs_as_they_are() -> None:
    assert inputs(AS_MEASURED, STRIDED) == [1, 65536, 4096, 32768, 98304]


def test_relative_inputs_are_logarithms_of_mean_requests() -> None:
    assert inputs(RELATIVE, STRIDED) == [0, 2]
    assert inputs(RELATIVE, Features(Operation.READ, 8, 10, 10, 10, 0)) == [3, 0]


@given(st.integers(1, 1000), st.floats(1, 1e6))
def test_relative_inputs_do_not_depend_on_the_size_of_requests(files: int, factor: float) -> None:
    small = Features(Operation.READ, files, 65536, 4096, 32768, 98304)
    large = Features(Operation.READ, files, 65536 * factor, 4096 * factor, 32768 * factor, 98304 * factor)
    assert inputs(RELATIVE, small) == pytest.approx(inputs(RELATIVE, large))


@pytest.mark.parametrize("name", AS_MEASURED)
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -1, True, "12", [], 2**65])
def test_a_feature_that_is_no_number_is_a_problem(name: str, value: Any) -> None:
    assert problem(STRIDED) == ""
    found = problem(replace(STRIDED, **{name: value}))
    assert found.startswith(name) and "\n" not in found


@pytest.mark.parametrize(
    "features",
    [
        replace(STRIDED, files=0),
        replace(STRIDED, request_min=0),
        replace(STRIDED, request_max=0, request_min=0, request_mean=0),
        replace(STRIDED, request_min=40000),
        replace(STRIDED, request_mean=70000),
    ],
)
def test_features_that_contradict_each_other_are_a_problem(features: Features) -> None:
    assert problem(features)
