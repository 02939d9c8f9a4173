# SPDX-License-Identifier: Apache-2.0
"""Test that an invalid record, written by hand, is logged and left out, and that the other records are used."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from reprise.database.entities import Record, RecordStatus, Scope
from reprise.matcher.decision.known_records import UnreadableError, read, readable
from reprise.matcher.submission.metadata import JobMetadata
from tests.unit.matcher_daemon import job, record, text_of


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
        ({"context": {"cluster": None}}, "context.cluster"),
        ({"environment": {"OMPI_MCA_x": 1}}, "environment.OMPI_MCA_x"),
        ({"conflicts": [1]}, "conflicts.0"),
        ({"gain": "much"}, "gain"),
        ({"created_at": float("inf")}, "created_at"),
    ],
)
def test_a_record_with_a_wrong_value_is_left_out_and_the_others_serve(changes: dict[str, Any], named: str) -> None:
    bad, good = text_of(record(id=1, **changes)), text_of(record(id=2))
    with pytest.raises(UnreadableError, match=rf"^{named}: "):
        read(bad)
    assert [number for number, known in readable([bad, good]) if known] == [2]


def test_a_retired_record_with_errors_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    retired = text_of(record(id=3, gain="much", status=RecordStatus.RETIRED))
    assert list(readable([retired])) == [(3, None)]
    assert not caplog.records


@pytest.mark.parametrize("scope", Scope)
def test_a_record_written_by_a_campaign_is_read(scope: Scope) -> None:
    written = record(id=5, scope=scope, **({"metadata": {}} if scope is Scope.CLUSTER else {}))
    known = read(text_of(written))
    assert (known.id, known.scope, known.status) == (5, scope, RecordStatus.ACTIVE)
    assert (known.environment, known.gain, known.gain_low) == (written.environment, 0.3, 0.28)
    assert known.metadata == (job() if scope is Scope.APPLICATION else None)


def test_keys_of_a_newer_release_are_ignored() -> None:
    newer: Record = record(**metadata(energy=3))
    newer = dataclasses.replace(newer, context={**newer.context, "gpus": 2})
    assert read(text_of(newer)).terms.context.nodes == 4


@pytest.mark.parametrize(
    ("written", "meant"),
    [({"nodes": "4"}, {"nodes": 4}), ({"submit_time": "5"}, {"submit_time": 5.0}), ({"energy": float("nan")}, {})],
)
def test_unambiguous_values_of_another_type_are_converted(written: dict[str, Any], meant: dict[str, Any]) -> None:
    known = read(text_of(record(**metadata(**written))))
    assert known.metadata == dataclasses.replace(job(), **meant)


SLOWLY = TypeAdapter(JobMetadata)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from([4.0, "4", 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*job().to_json(), "energy"]), JSON, max_size=3))
def test_fast_and_slow_readers_agree(changes: dict[str, Any]) -> None:
    text = json.dumps({"user": "alice"} | changes)
    assert attempt(lambda: JobMetadata.from_text(text)) == attempt(lambda: SLOWLY.validate_json(text))


def attempt(reading: Callable[[], JobMetadata]) -> str:
    """Return the result of `reading` as text, or the location of its first validation error."""
    try:
        return repr(reading())
    except ValidationError as error:
        return str(error.errors()[0]["loc"])
