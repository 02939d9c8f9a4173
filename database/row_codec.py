# SPDX-License-Identifier: Apache-2.0
"""Conversion of the dataclasses in `database.entities` to rows and back; a field's type determines how it is stored.

Mappings and sequences are stored as JSON text (sorted keys, no white space, no NaN). A Measurement takes five columns,
`<field>_mean` to `<field>_unit`. A boolean is 0 or 1. Every other value is stored unchanged in one column. Secrets in
users' text are masked here (`masked_columns`), so callers need not mask them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import itemgetter
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from reprise.database.connection import Connection, Row
from reprise.database.entities import Measurement
from reprise.database.errors import CorruptedError, InvalidValueError
from reprise.database.masked_columns import OURS
from reprise.database.masked_json import habits_of, masked_json, may_hold_secret
from reprise.database.secret_masking import masked_text
from reprise.database.secret_programs import NONE, Habits

T = TypeVar("T")
Cell = str | int | float | None

SHARED_LIMIT = 256  # maximum length of JSON texts that are decoded once for all rows with an equal text
AT_ONCE = (64, 8, 1)
"""Numbers of rows that one statement can insert. Inserting many rows with one statement is faster, because each
statement releases the interpreter lock and waits to get the lock back."""
MEASUREMENT_PARTS = tuple(field.name for field in dataclasses.fields(Measurement))


class Table(Generic[T]):
    """A table whose rows are instances of one dataclass; SQLite assigns numeric ids.

    `finite` means that the table's JSON never contains NaN or infinity, so a faster encoder, which does not check for
    them, is used. `as_given` means that keys in JSON keep their order, because the order has a meaning; otherwise keys
    are sorted, so that equal values yield equal texts.
    """

    def __init__(self, name: str, row_type: type[T], *, finite: bool = False, as_given: bool = False) -> None:
        self.name = name
        self._row_type = row_type
        hints = get_type_hints(row_type)
        self._fields: dict[str, Any] = {field.name: hints[field.name] for field in dataclasses.fields(row_type)}  # type: ignore[arg-type]
        given = [column for column in self.columns() if not (column == "id" and self._fields["id"] is int)]
        names, places = ", ".join(map(quoted, given)), ", ".join(f":{column}" for column in given)
        self.insert_sql = f"INSERT INTO {name} ({names}) VALUES ({places})"  # noqa: S608 (names of this module)
        self._cells = itemgetter(*given)
        one = f"({', '.join('?' * len(given))})"
        self._insert_sql = {
            count: f"INSERT INTO {name} ({names}) VALUES {', '.join([one] * count)}"  # noqa: S608 (the same)
            for count in AT_ONCE
        }
        self._json = {name for name, hint in self._fields.items() if _is_json(hint)}
        self._truths = {name for name, hint in self._fields.items() if hint is bool}
        ours = OURS.get(name, frozenset())
        self._of_users = {field for field, hint in self._fields.items() if _may_be_text(hint) and field not in ours}
        self._to_json = finite_to_json if finite else to_json_as_given if as_given else to_json
        self._decoders = [_decoder(name, hint) for name, hint in self._fields.items()]
        changes = ", ".join(f"{quoted(column)} = :{column}" for column in given)
        self.update_sql = f"UPDATE {name} SET {changes} WHERE id = :id"  # noqa: S608 (names of this module)

    def columns(self) -> list[str]:
        """Return the names of the columns, in the order of the dataclass's fields."""
        names: list[str] = []
        for name, hint in self._fields.items():
            names += [f"{name}_{part}" for part in MEASUREMENT_PARTS] if hint is Measurement else [name]
        return names

    def insert(self, connection: Connection, rows: Sequence[Mapping[str, Cell]]) -> None:
        """Insert rows that `encode` returned, several with each statement (AT_ONCE)."""
        begin = 0
        for count in AT_ONCE:
            while len(rows) - begin >= count:
                cells = [cell for row in rows[begin : begin + count] for cell in self._cells(row)]
                connection.execute(self._insert_sql[count], cells)
                begin += count

    def add(self, connection: Connection, value: T) -> int:
        """Insert a value, and return the id that the database gave to it."""
        return connection.added(self.insert_sql, self.encode(value))

    def encode(self, value: T) -> dict[str, Cell]:
        """Return a value's row as a mapping from columns to cells, with secrets masked.

        Raise InvalidValueError if the database cannot represent a value, e.g. NaN.
        """
        row: dict[str, Cell] = {}
        habits = habits_of(value.metadata) if hasattr(value, "metadata") else NONE
        for name, hint in self._fields.items():
            cell = getattr(value, name)
            if hint is Measurement:
                row |= {f"{name}_{part}": getattr(cell, part) for part in MEASUREMENT_PARTS}
            else:
                row[name] = self._cell(name, cell, habits)
        for name in self._truths:
            row[name] = int(getattr(value, name))
        for name, cell in row.items():
            if isinstance(cell, float) and not math.isfinite(cell):
                raise InvalidValueError(f"{self.name}.{name}: {cell} cannot be stored: give a finite number or nothing")
        return row

    def _cell(self, name: str, value: Any, habits: Habits) -> Cell:
        of_users, where = name in self._of_users, f"{self.name}.{name}"
        if name not in self._json:
            return masked_text(value) if of_users and isinstance(value, str) else value
        text = self._to_json(value, where)
        if of_users and (habits is not NONE or may_hold_secret(text)):
            return self._to_json(masked_json(value, habits), where)
        return text

    def decode(self, row: Row) -> T:
        """Return the value that a row represents. Raise CorruptedError if Reprise cannot have written the row."""
        try:
            return self._row_type(*[decode(row) for decode in self._decoders])
        except (ValueError, TypeError, IndexError) as error:
            key = row[0]
            raise CorruptedError(
                f"row {key!r} of table {self.name} is damaged ({error}): run `reprise db check`"
            ) from error


def quoted(column: str) -> str:
    """Return a column's name as SQL, which has keywords that are also names of columns (`user`)."""
    return f'"{column}"'


def to_json(value: Any, where: str) -> str:
    """Return a mapping or sequence as canonical JSON (ASCII).

    Raise InvalidValueError, which names the column `where`, if JSON cannot represent the value.
    """
    return _encoded(_ENCODER, value, where)


def to_json_as_given(value: Any, where: str) -> str:
    """Return a mapping or sequence as JSON (ASCII) with the keys in their given order.

    Raise InvalidValueError, which names the column `where`, if JSON cannot represent the value.
    """
    return _encoded(_ORDERED_ENCODER, value, where)


def _encoded(encoder: json.JSONEncoder, value: Any, where: str) -> str:
    try:
        return encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"{where}: cannot be stored as JSON ({error}): please report this defect of Reprise"
        ) from error


def finite_to_json(value: Any, where: str) -> str:
    """Return a mapping or sequence as canonical JSON, in a quarter of the time that `to_json` takes.

    The value must not contain NaN or infinity, which would become null.
    """
    try:
        return _FAST_ENCODER.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):  # e.g. an integer of more than 64 bits
        return to_json(value, where)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
_ORDERED_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)
_FAST_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=_plain)


def _is_json(hint: Any) -> bool:
    return get_origin(hint) in (Mapping, Sequence)


def _may_be_text(hint: Any) -> bool:
    return _is_json(hint) or str in (hint, *get_args(hint))


def _decoder(name: str, hint: Any) -> Callable[[Row], Any]:
    """Return a function that decodes a field's value from a row.

    The function should be fast, because a table may have a million rows.
    """
    if hint is Measurement:
        columns = [f"{name}_{part}" for part in MEASUREMENT_PARTS]
        return lambda row: Measurement(*[row[column] for column in columns])
    if _is_json(hint):
        return lambda row: _from_json(row[name])
    if hint is bool:
        return lambda row: bool(row[name])
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda row: hint(row[name])
    return itemgetter(name)


def _from_json(text: str) -> Any:
    """Return the value of a JSON text.

    Many rows have equal short texts. Equal short texts therefore yield one shared object, which callers must not
    change.
    """
    return _shared(text) if len(text) <= SHARED_LIMIT else _parsed(text)


def _parsed(text: str) -> Any:
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


_shared = functools.lru_cache(maxsize=4096)(_parsed)
