# SPDX-License-Identifier: Apache-2.0
"""Records that somebody wrote by hand: each is left out by name, and the others serve."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from database.model import Record, RecordStatus, Scope
from matcher.linkage.model import load
from matcher.records import problem
from matcher.service import knowledge_of
from reprise.config import Config
from tests.unit.matcher_daemon import job, record


def metadata(**changes: Any) -> dict[str, Any]:
    return {"metadata": job().to_json() | changes}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (metadata(job_name=5), "metadata.job_name"),
        (metadata(user=None), "metadata.user"),
        (metadata(nodes="four"), "metadata.nodes"),
        (metadata(submit_time=1e300), "metadata.submit_time"),
        (metadata(options=[1]), "metadata.options"),
        ({"metadata": {}}, "metadata.user"),
        ({"context": {"openmpi": "4.1.4"}}, "context.openmpi"),
        ({"context": {"nodes": "4"}}, "context.nodes"),
        ({"environment": {"OMPI_MCA_x": 1}}, "environment.OMPI_MCA_x"),
        ({"conflicts": [1]}, "conflicts.0"),
        ({"gain": "much"}, "gain"),
        ({"created_at": float("inf")}, "created_at"),
    ],
)
def test_a_record_with_a_wrong_value_is_left_out_and_the_others_serve(changes: dict[str, Any], named: str) -> None:
    bad, good = record(id=1, **changes), record(id=2)
    assert str(problem(bad)).startswith(f"{named}: ")
    assert list(knowledge_of([bad, good], load("thesis"), Config()).records) == [2]


def test_a_retired_record_is_nobodys_concern(caplog: pytest.LogCaptureFixture) -> None:
    assert not knowledge_of([record(gain="much", status=RecordStatus.RETIRED)], load("thesis"), Config()).records
    assert not caplog.records


@pytest.mark.parametrize("scope", Scope)
def test_a_record_as_campaigns_write_it_is_fine(scope: Scope) -> None:
    assert problem(record(scope=scope, **({"metadata": {}} if scope is Scope.CLUSTER else {}))) is None


def test_keys_of_a_newer_release_are_ignored() -> None:
    newer: Record = record(**metadata(energy=3))
    assert problem(dataclasses.replace(newer, context={**newer.context, "gpus": 2})) is None
