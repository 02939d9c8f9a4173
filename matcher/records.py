# SPDX-License-Identifier: Apache-2.0
"""Is a record what decisions need? One that was written by hand, or by another release, must not stop the others."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from database.model import Json, Record, RecordStatus, Scope
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


@dataclass(frozen=True, slots=True)
class Known:
    """What decisions need of a record, and no more, since there may be a million. Names are as in Record."""

    id: int
    component: str
    scope: Scope
    status: RecordStatus
    created_at: float
    context: Json
    environment: Mapping[str, str]
    conflicts: Sequence[str]
    gain: float
    gain_low: float
    user: str  # whose job it was, and how it is called
    job: str

    @property
    def metadata(self) -> Json:
        """As the record's, but only what names the job."""
        return {"user": self.user, "program": self.job}

    @classmethod
    def of(cls, record: Record) -> Known:
        """`record`, which there is nothing wrong with."""
        return cls(
            id=record.id,
            component=sys.intern(record.component),
            scope=record.scope,
            status=record.status,
            created_at=record.created_at,
            context=record.context,
            environment=record.environment,
            conflicts=record.conflicts,
            gain=record.gain,
            gain_low=record.gain_low,
            user=sys.intern(record.metadata.get("user") or "?"),
            job=sys.intern(record.metadata.get("program") or record.metadata.get("job_name") or "a job"),
        )


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
