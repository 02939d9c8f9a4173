# SPDX-License-Identifier: Apache-2.0
"""Test the curve in a record's parametrization: it is read as it was written, and nothing else is taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.arbiter.bandwidth_curve import measured
from reprise.matcher.arbiter.record_curve import SAMPLES, curve_in, with_samples
from reprise.matcher.errors import ArbiterError
from tests.examples import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["0", "1", "4", "x"]), inner),
    max_leaves=8,
)


def test_a_curve_is_read_as_it_was_written_through_json() -> None:
    samples = {4: [902.1, 895.7], 0: [210.5, 214.0], 1: [300.0]}
    stored = json.loads(json.dumps(with_samples({"forwarders": 4}, samples), sort_keys=True))
    assert (stored["forwarders"], curve_in(stored)) == (4, measured(samples))


def test_a_combination_has_its_curve_in_the_part_of_the_component() -> None:
    part = {"version": "1", "parametrization": with_samples({"forwarders": 4}, {4: [902.1]})}
    other = {"version": "1", "parametrization": with_samples({}, {1: [1.0]})}
    assert curve_in({"parts": {"forwarders": part, "romio": other}}) == measured({4: [902.1]})


@pytest.mark.parametrize(
    "parametrization", [{}, {"forwarders": 4}, {"parts": {"romio": {}}}, {"parts": {"forwarders": 1}}]
)
def test_a_record_without_bandwidths_has_no_curve(parametrization: dict[str, Any]) -> None:
    assert curve_in(parametrization) is None


@pytest.mark.parametrize(
    "stored",
    [
        1,
        [],
        {},
        {"1": 9.5},
        {"x": [1.0]},
        {"-1": [1.0]},
        {"01": [1.0]},
        {"1": []},
        {"1": "9"},
        {"1": [True]},
        {"1": [0]},
    ],
)
def test_what_is_not_a_curve_is_refused_in_one_line(stored: Any) -> None:
    with pytest.raises(ArbiterError) as caught:
        curve_in({SAMPLES: stored})
    assert "\n" not in str(caught.value)


@given(JSON)
@settings(max_examples=examples(300), deadline=None)
def test_whatever_a_record_has_is_a_curve_or_refused(stored: Any) -> None:
    try:
        found = curve_in({SAMPLES: stored})
    except ArbiterError:
        return
    assert found is None if stored is None else found is not None


def test_samples_that_are_no_curve_are_not_written() -> None:
    with pytest.raises(ArbiterError):
        with_samples({}, {4: []})
