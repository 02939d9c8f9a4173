# SPDX-License-Identifier: Apache-2.0
"""Records as decisions need them: read from the database's text, checked, and as small as can be.

One that was written by hand, or by another release, must not stop the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError
from pydantic import Json as JsonText

from reprise.database.entities import RecordStatus, RecordText, Scope
from reprise.database.gain_subject import subject_in
from reprise.eventlog import line
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.submission.metadata import NOT_QUICK, JobMetadata
from reprise.matcher.wire.protocol import environment_problem

log = logging.getLogger(__name__)

TERMS = 65_536  # different ones that are remembered; where there are more, equal ones are kept several times


class UnreadableError(ValueError):
    """A record that decisions cannot use, in one line: which of its values, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Context:
    """Where a record holds; what is None does not restrict."""

    cluster: str | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    processors: int | None = None
    placement: str | None = None
    openmpi: tuple[str, ...] | None = None
    predicted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """All that the guards look at of a record: records of the same terms are refused together, or not at all.

    Equal terms are one object, from another process too: they are made by `_the_terms`.

    `names` are those of its variables; `problem` is why the plugin would not set them; `quarantined_for` are the ids of
    the users for whom it is set aside.
    """

    component: str
    scope: Scope
    status: RecordStatus
    context: Context
    conflicts: tuple[str, ...]
    names: tuple[str, ...]
    gains: bool
    problem: str | None
    quarantined_for: frozenset[int] = frozenset()

    def __reduce__(self) -> tuple[Any, ...]:
        return _the_terms, tuple(getattr(self, field.name) for field in fields(self))


@lru_cache(maxsize=TERMS)
def _the_terms(*values: Any) -> Terms:
    return Terms(*values)


@dataclass(frozen=True, slots=True)
class Known:
    """What decisions need of a record, with the names of Record. Secrets were masked as it was stored. A cluster's has
    no metadata. `subject`: what its gain is of, "" for its application's run time."""

    id: int
    created_at: float
    gain: float
    gain_low: float
    terms: Terms
    values: tuple[str, ...]  # of the variables
    metadata: JobMetadata | None
    subject: str = ""

    @classmethod
    def of(cls, record: LinkableRecord) -> Known:
        """What `linkable` was made of."""
        gain_low, values, subject = record.more
        assert isinstance(record.label, Terms)  # noqa: S101
        return cls(record.id, record.created_at, record.gain, gain_low, record.label, values, record.metadata, subject)

    def linkable(self, metadata: JobMetadata) -> LinkableRecord:
        """As the engine keeps it: there may be a million."""
        more = (self.gain_low, self.values, self.subject)
        return LinkableRecord(self.id, metadata, self.created_at, self.gain, self.terms, more)

    @property
    def component(self) -> str:
        return self.terms.component

    @property
    def scope(self) -> Scope:
        return self.terms.scope

    @property
    def status(self) -> RecordStatus:
        return self.terms.status

    @property
    def names(self) -> tuple[str, ...]:
        """Of the variables."""
        return self.terms.names

    @property
    def environment(self) -> Mapping[str, str]:
        return dict(zip(self.terms.names, self.values, strict=True))

    @property
    def user(self) -> str:
        """Whose job it was."""
        return (self.metadata and self.metadata.user) or "?"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Context(_Strict):
    """As Context, but that what is there must not be null."""

    cluster: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    processors: int = 1
    placement: str = ""
    openmpi: tuple[str, ...] = ()
    predicted: bool = False


class _Shared(_Strict):
    """Of a row, what is the same in many."""

    component: str
    context: JsonText[_Context]
    conflicts: JsonText[tuple[str, ...]]
    quarantined_for: JsonText[tuple[int, ...]]


class _Own(_Strict, from_attributes=True):
    """Of a row, what is its own, beside the job's metadata."""

    created_at: FiniteFloat
    environment: JsonText[dict[str, str]]
    gain: FiniteFloat
    gain_low: FiniteFloat


def read(row: RecordText) -> Known:
    """The record in a row. Raises UnreadableError."""
    where = ""
    try:
        environment = _environment(row)
        names, values = tuple(environment), tuple(environment.values())
        shared = (row.component, row.scope, row.status, row.context, row.conflicts, row.quarantined_for)
        terms = _terms(*shared, names, row.gain_low > 0, environment_problem(environment))
        where = "metadata."
        metadata = JobMetadata.from_text(row.metadata) if terms.scope is Scope.APPLICATION else None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UnreadableError(f"{where}{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    return Known(row.id, row.created_at, row.gain, row.gain_low, terms, values, metadata, subject_in(row.subject))


_quick_environment = msgspec.json.Decoder(dict[str, str])


def _environment(row: RecordText) -> dict[str, str]:
    """The variables, where the row's numbers are fine too. Raises ValidationError."""
    try:
        if isfinite(row.created_at) and isfinite(row.gain) and isfinite(row.gain_low):
            return _quick_environment.decode(row.environment)
    except NOT_QUICK:
        pass
    return _Own.model_validate(row).environment


@lru_cache(maxsize=TERMS)
def _terms(
    component: str,
    scope: str,
    status: str,
    context: str,
    conflicts: str,
    quarantined_for: str,
    names: tuple[str, ...],
    gains: bool,
    problem: str | None,
) -> Terms:
    shared = _Shared.model_validate(
        {"component": component, "context": context, "conflicts": conflicts, "quarantined_for": quarantined_for}
    )
    where = Context(**shared.context.model_dump(exclude_unset=True))
    return _the_terms(
        component,
        Scope(scope),
        RecordStatus(status),
        where,
        shared.conflicts,
        names,
        gains,
        problem,
        frozenset(shared.quarantined_for),
    )


def readable(records: Iterable[RecordText]) -> Iterator[tuple[int, Known | None]]:
    """The records by their ids; None for the retired ones, and for those that cannot be read, which are logged."""
    for text in records:
        record = None
        if text.status != RecordStatus.RETIRED:
            try:
                record = read(text)
            except UnreadableError as error:
                log.warning(line("record-unreadable", record=text.id, error=error))
        yield text.id, record
