# SPDX-License-Identifier: Apache-2.0
"""Records in the compact form that decisions use, read from the database's text and checked.

An invalid record, written by hand or by another release, is skipped and does not affect other records.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import isfinite
from posixpath import dirname
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError
from pydantic import Json as JsonText

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.database.entities import RecordStatus, RecordText, Scope
from reprise.database.gain_subject import subject_in
from reprise.database.record_io_kinds import kinds_in_text
from reprise.eventlog import line
from reprise.matcher.arbiter import job_variables
from reprise.matcher.detection.record_patterns import known_kinds
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.submission.metadata import NOT_QUICK, JobMetadata
from reprise.matcher.wire.protocol import environment_problem

log = logging.getLogger(__name__)

NO_VARIABLES: Mapping[str, Mapping[str, str]] = {}
_PATH = re.compile(r"(?:^|[=:,;\s\"'])(/[^\s:,;=\"']+)")
TERMS = 65_536  # maximum number of cached `Terms`; if there are more, equal `Terms` may be different objects


class UnreadableError(ValueError):
    """A record cannot be used for decisions; the message is one line that names the value and the problem."""


@dataclass(frozen=True, slots=True)
class Context:
    """Context in which a record is valid; a value of None matches every job."""

    cluster: str | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    processors: int | None = None
    memory: int | None = None
    placement: str | None = None
    openmpi: tuple[str, ...] | None = None
    mpich: tuple[str, ...] | None = None
    predicted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """All values of a record that the guards check: for one job, they refuse all records with equal terms, or none.

    Equal terms are usually the same object, even if they were unpickled from another process, because `_the_terms`
    caches up to TERMS of them.

    `names` are the names of the record's variables. `problem` is the reason why the plugin would not set these
    variables, if any. `quarantined_for` are the ids of the users for whom the record is quarantined. `places` are the
    directories of the files that the values name.
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
    places: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _the_terms, tuple(getattr(self, field.name) for field in fields(self))


@lru_cache(maxsize=TERMS)
def _the_terms(*values: Any) -> Terms:
    return Terms(*values)


@dataclass(frozen=True, slots=True)
class Known:
    """The part of a record that decisions need, with the attribute names of Record.

    Secrets were masked when the record was stored. A record for the whole cluster has no metadata. `subject` is the
    quantity to which the gain refers, "" for the application's run time.
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
        """Return the record whose compact form (see `linkable`) is `record`."""
        gain_low, values, subject = record.more
        assert isinstance(record.label, Terms)  # noqa: S101
        return cls(record.id, record.created_at, record.gain, gain_low, record.label, values, record.metadata, subject)

    def linkable(self, metadata: JobMetadata) -> LinkableRecord:
        """Return the record in the engine's compact form, which saves memory if there are a million records."""
        more = (self.gain_low, self.values, self.subject)
        return LinkableRecord(self.id, metadata, self.created_at, self.gain, self.terms, more)

    @property
    def component(self) -> str:
        """Name of the component that the record tunes."""
        return self.terms.component

    @property
    def scope(self) -> Scope:
        """Scope of the record, which is an application or the whole cluster."""
        return self.terms.scope

    @property
    def status(self) -> RecordStatus:
        """Status of the record, such as active or retired."""
        return self.terms.status

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables that a job gets."""
        return self.terms.names

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that a job gets, with their values."""
        return dict(zip(self.terms.names, self.values, strict=True))

    @property
    def user(self) -> str:
        """Owner of the job that the record was tuned for; "?" if unknown."""
        return (self.metadata and self.metadata.user) or "?"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Context(_Strict):
    """JSON form of Context, in which a value may be absent but not null."""

    cluster: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    processors: int = 1
    memory: int = 0
    placement: str = ""
    openmpi: tuple[str, ...] = ()
    mpich: tuple[str, ...] = ()
    predicted: bool = False


class _Shared(_Strict):
    """Columns whose values many rows have in common, so that `_terms` checks each combination only once."""

    component: str
    context: JsonText[_Context]
    conflicts: JsonText[tuple[str, ...]]
    quarantined_for: JsonText[tuple[int, ...]]


class _Own(_Strict, from_attributes=True):
    """Columns whose values differ from row to row, except the job's metadata."""

    created_at: FiniteFloat
    environment: JsonText[dict[str, str]]
    gain: FiniteFloat
    gain_low: FiniteFloat


def read(row: RecordText, forwarding: Mapping[str, Mapping[str, str]] = NO_VARIABLES) -> Known:
    """Return the record in a row of the database. Raises UnreadableError if it cannot be used for decisions.

    `forwarding` are the site's variables for jobs that use I/O forwarders, by library (see `job_variables`).
    """
    where = ""
    try:
        environment = _environment(row)
        problem = environment_problem(environment)
        library = environment.get(PRELOAD_VARIABLE, "")
        if library in job_variables.LIBRARIES:
            environment |= forwarding.get(library, {})
            problem = problem or (None if library in forwarding else job_variables.NOT_CONFIGURED)
        names, values = tuple(environment), tuple(environment.values())
        shared = (row.component, row.scope, row.status, row.context, row.conflicts, row.quarantined_for)
        terms = _terms(*shared, names, row.gain_low > 0, problem, _places(values))
        where = "metadata."
        metadata = JobMetadata.from_text(row.metadata) if terms.scope is Scope.APPLICATION else None
        if metadata and (kinds := known_kinds(kinds_in_text(row.io_kinds))):
            metadata = replace(metadata, io_patterns=kinds)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UnreadableError(f"{where}{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    return Known(row.id, row.created_at, row.gain, row.gain_low, terms, values, metadata, subject_in(row.subject))


def _places(values: Iterable[str]) -> tuple[str, ...]:
    """Return the directories of the absolute paths in the values of variables, sorted."""
    return tuple(sorted({dirname(path) for value in values if "/" in value for path in _PATH.findall(value)}))


_quick_environment = msgspec.json.Decoder(dict[str, str])


def _environment(row: RecordText) -> dict[str, str]:
    """Return a row's variables, after checking that its numbers are finite. Raises ValidationError."""
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
    places: tuple[str, ...],
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
        places,
    )


def readable(
    records: Iterable[RecordText], forwarding: Mapping[str, Mapping[str, str]] = NO_VARIABLES
) -> Iterator[tuple[int, Known | None]]:
    """Yield each record's id with the record, or with None if the record is retired or unreadable (which is logged).

    `forwarding` is passed to `read`.
    """
    for text in records:
        record = None
        if text.status != RecordStatus.RETIRED:
            try:
                record = read(text, forwarding)
            except UnreadableError as error:
                log.warning(line("record-unreadable", record=text.id, error=error))
        yield text.id, record
