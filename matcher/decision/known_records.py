# SPDX-License-Identifier: Apache-2.0
"""Records for decisions: read from the database's text, checked, and as small as possible.

A bad record, written by hand or by another release, must not affect the others.
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

TERMS = 65_536  # distinct terms that are remembered; beyond, equal ones may be kept several times


class UnreadableError(ValueError):
    """A record that decisions cannot use; the message, one line, names the value and the problem."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context in which a record is valid; None does not restrict."""

    cluster: str | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    processors: int | None = None
    memory: int | None = None
    placement: str | None = None
    openmpi: tuple[str, ...] | None = None
    predicted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """All values of a record that the guards check: records with equal terms are refused together, or not at all.

    Equal terms are one object, even if they come from another process: `_the_terms` makes them.

    `names`: names of the record's variables. `problem`: why the plugin would not set them. `quarantined_for`: ids of
    the users for whom the record is quarantined.
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
    """The part of a record that decisions need, with the attribute names of Record.

    Secrets were masked when it was stored. A record for the whole cluster has no metadata. `subject`: the quantity that
    its gain is about, "" for its application's run time.
    """

    id: int
    created_at: float
    gain: float
    gain_low: float
    terms: Terms
    values: tuple[str, ...]  # values of the variables
    metadata: JobMetadata | None
    subject: str = ""

    @classmethod
    def of(cls, record: LinkableRecord) -> Known:
        """Return the record that `linkable` was called on."""
        gain_low, values, subject = record.more
        assert isinstance(record.label, Terms)  # noqa: S101
        return cls(record.id, record.created_at, record.gain, gain_low, record.label, values, record.metadata, subject)

    def linkable(self, metadata: JobMetadata) -> LinkableRecord:
        """Return the compact form that the engine keeps: there may be a million records."""
        more = (self.gain_low, self.values, self.subject)
        return LinkableRecord(self.id, metadata, self.created_at, self.gain, self.terms, more)

    @property
    def component(self) -> str:
        """Component that the record tunes."""
        return self.terms.component

    @property
    def scope(self) -> Scope:
        """Scope of the record: an application or the whole cluster."""
        return self.terms.scope

    @property
    def status(self) -> RecordStatus:
        """Status of the record."""
        return self.terms.status

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.terms.names

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that a job gets."""
        return dict(zip(self.terms.names, self.values, strict=True))

    @property
    def user(self) -> str:
        """Owner of the job that was tuned."""
        return (self.metadata and self.metadata.user) or "?"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Context(_Strict):
    """The JSON form of Context, in which a value may be missing but not null."""

    cluster: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    processors: int = 1
    memory: int = 0
    placement: str = ""
    openmpi: tuple[str, ...] = ()
    predicted: bool = False


class _Shared(_Strict):
    """Columns of a row with values that many rows share."""

    component: str
    context: JsonText[_Context]
    conflicts: JsonText[tuple[str, ...]]
    quarantined_for: JsonText[tuple[int, ...]]


class _Own(_Strict, from_attributes=True):
    """Columns of a row with values that differ from row to row, without the job's metadata."""

    created_at: FiniteFloat
    environment: JsonText[dict[str, str]]
    gain: FiniteFloat
    gain_low: FiniteFloat


def read(row: RecordText) -> Known:
    """Return the record in a row. Raises UnreadableError."""
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
    """Return the variables, and check the row's numbers. Raises ValidationError."""
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
    """Yield id and record; None for retired records, and for those that cannot be read, which are logged."""
    for text in records:
        record = None
        if text.status != RecordStatus.RETIRED:
            try:
                record = read(text)
            except UnreadableError as error:
                log.warning(line("record-unreadable", record=text.id, error=error))
        yield text.id, record
