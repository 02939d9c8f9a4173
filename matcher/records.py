# SPDX-License-Identifier: Apache-2.0
"""Is a record what decisions need? One that was written by hand, or by another release, must not stop the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from database.model import Record, Scope
from matcher.metadata import JobMetadata


class _Context(BaseModel):
    cluster: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    openmpi: Sequence[str] = ()


class _Needed(BaseModel):
    """What linkage and guards read of a record, beside its metadata."""

    model_config = ConfigDict(from_attributes=True)

    component: str
    created_at: FiniteFloat
    context: _Context
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    gain: FiniteFloat
    gain_low: FiniteFloat


def problem(record: Record) -> str | None:
    """What is wrong with the record, None if nothing."""
    try:
        _Needed.model_validate(record, strict=True)
    except ValidationError as error:
        return _told(error)
    try:
        if record.scope is Scope.APPLICATION:
            JobMetadata.from_json(record.metadata)
    except ValidationError as error:
        return f"metadata.{_told(error)}"
    return None


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
