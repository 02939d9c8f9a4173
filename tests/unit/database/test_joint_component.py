# SPDX-License-Identifier: Apache-2.0
"""Test which files a record names, so that `reprise db check` examines all of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from reprise.database.joint_component import artifacts_of
from tests.unit.matcher_daemon import record


@pytest.mark.parametrize(
    ("parametrization", "found"),
    [
        ({}, ["a"]),
        ({"other_artifacts": ["b", "a"]}, ["a", "b"]),
        ({"parts": {"x": {"artifact": "c", "parametrization": {"other_artifacts": ["d"]}}}}, ["a", "c", "d"]),
        ({"other_artifacts": "b", "parts": {"x": None, "y": {"parametrization": 3}}}, ["a"]),
    ],
)
def test_every_file_of_a_record_is_named_once(parametrization: dict[str, Any], found: list[str]) -> None:
    one = dataclasses.replace(record(), parametrization=parametrization, artifact_sha256="a")
    assert artifacts_of(one) == found
