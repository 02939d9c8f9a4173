# SPDX-License-Identifier: Apache-2.0
"""Which values of a component are tried where each costs a run of an application."""

from __future__ import annotations

from reprise.tuner.application.tried_values import tried_space
from reprise.tuner.components.component_file import read
from reprise.tuner.components.described_component import Description


def described(**parameters: object) -> Description:
    definition = {"name": "x", "version": "1", "description": "x", "kind": "application", "parameters": parameters}
    return read(definition, {})


def test_of_a_number_three_values_are_tried_as_far_apart_as_there_is_room_for() -> None:
    found = tried_space(described(size={"default": 0, "min": 1, "max": 9, "step": 1}))
    assert found == {"size": [1, 5, 9]}
    assert tried_space(described(size={"default": 2, "values": [1, 2, 3]})) == {"size": [1, 3]}
    assert tried_space(described(size={"default": 1, "values": list(range(1, 10))}), 1) == {"size": [6]}


def test_of_what_has_no_order_the_first_four_are_tried() -> None:
    found = tried_space(described(kind={"type": "str", "default": "a", "values": list("abcdef")}))
    assert found == {"kind": ["b", "c", "d", "e"]}


def test_what_no_job_can_be_given_and_what_has_one_value_is_left_alone() -> None:
    found = tried_space(
        described(word={"via": "argument", "default": 1, "values": [1, 2]}, fixed={"default": 3, "values": [3]})
    )
    assert found == {}
