# SPDX-License-Identifier: Apache-2.0
"""Test which values of a component are tried if each value costs a run of the application."""

from __future__ import annotations

import pytest

from reprise.tuner.application.tried_values import tried_presets, tried_space
from reprise.tuner.components.component_file import read
from reprise.tuner.components.described_component import Description
from reprise.tuner.errors import TunerError


def described(activation: object = None, presets: object = (), **parameters: object) -> Description:
    definition = {"name": "x", "version": "1", "description": "x", "kind": "application", "parameters": parameters}
    return read({**definition, "activation": activation or {}, "presets": presets}, {})


def test_at_most_three_values_of_a_number_are_tried_as_far_apart_as_possible() -> None:
    found = tried_space(described(SRO_SIZE={"default": 0, "min": 1, "max": 9, "step": 1}))
    assert found == {"SRO_SIZE": [1, 5, 9]}
    assert tried_space(described(SRO_SIZE={"default": 2, "values": [1, 2, 3]})) == {"SRO_SIZE": [1, 3]}
    assert tried_space(described(SRO_SIZE={"default": 1, "values": list(range(1, 10))}), 1) == {"SRO_SIZE": [6]}


def test_the_first_four_values_of_an_unordered_parameter_are_tried() -> None:
    found = tried_space(described(SRO_KIND={"type": "str", "default": "a", "values": list("abcdef")}))
    assert found == {"SRO_KIND": ["b", "c", "d", "e"]}


def test_parameters_with_one_value_or_that_jobs_cannot_be_given_are_not_tried() -> None:
    found = tried_space(
        described(word={"via": "argument", "default": 1, "values": [1, 2]}, SRO_FIXED={"default": 3, "values": [3]})
    )
    assert found == {}


def test_variables_that_the_plugin_does_not_set_in_jobs_are_not_tried() -> None:
    two = {"default": 1, "values": [1, 2]}
    copied = {"name": "OMPI_MCA_a", "copies": ["OTHER_A"], **two}
    found = tried_space(described(given={"name": "OMPI_MCA_b", **two}, copied=copied, UCX_TLS=two))
    assert found == {"given": [2]}


@pytest.mark.parametrize("way", ["hints", "hint_list"])
def test_hints_are_tried_where_the_plugin_sets_the_variable_that_they_are_in(way: str) -> None:
    hint = {"via": "hint", "default": 1, "values": [1, 2]}
    assert tried_space(described({way: "ROMIO_HINTS"}, size=hint)) == {"size": [2]}
    assert tried_space(described({way: "OTHER_HINTS"}, size=hint)) == {}


def test_the_values_of_presets_are_tried_in_the_order_of_the_grid() -> None:
    size = {"default": 1, "min": 1, "max": 9, "step": 1}
    found = described(presets=[{"SRO_SIZE": 4}], SRO_SIZE=size)
    assert tried_space(found) == {"SRO_SIZE": [2, 4, 6, 9]} and tried_presets(found) == [{"SRO_SIZE": 4}]


def test_a_preset_with_a_parameter_that_jobs_cannot_be_given_is_not_tried() -> None:
    two = {"default": 1, "values": [1, 2]}
    found = described(presets=[{"SRO_A": 2, "word": 2}], SRO_A=two, word={"via": "argument", **two})
    assert tried_presets(found) == [] and tried_space(found) == {"SRO_A": [2]}


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ({"SRO_B": 2}, "presets: 'SRO_B' is not a parameter: correct it"),
        ({"SRO_A": 3}, "presets: 3 is not a value of SRO_A: add it to the values, or correct it"),
    ],
)
def test_a_preset_that_is_not_on_the_grid_is_refused_in_one_line(preset: object, message: str) -> None:
    with pytest.raises(TunerError, match=message):
        described(presets=[preset], SRO_A={"default": 1, "values": [1, 2]})


@pytest.mark.parametrize("forbidden", [[{"SRO_A": 2, "SRO_B": 1}], ["SRO_A > SRO_B"]])
def test_a_preset_with_a_forbidden_combination_is_refused(forbidden: list[object]) -> None:
    numbers = {"default": 1, "values": [1, 2]}
    definition = {"name": "c", "version": "1", "description": "d", "kind": "application", "forbidden": forbidden}
    both = {**definition, "parameters": {"SRO_A": numbers, "SRO_B": numbers}}
    assert read({**both, "presets": [{"SRO_A": 2, "SRO_B": 2}]}, {}).presets
    with pytest.raises(TunerError, match=r"presets: SRO_A: 2 is one of the `forbidden` combinations"):
        read({**both, "presets": [{"SRO_A": 2}]}, {})
