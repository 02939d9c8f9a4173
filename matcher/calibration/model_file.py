# SPDX-License-Identifier: Apache-2.0
"""Model files: conversion of a model to text, and a writer that either completes the file or leaves it unchanged."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reprise.matcher.errors import MatcherError
from reprise.matcher.linkage.linkage_model import LinkageError, Model, Part, load

HEAD = """# SPDX-License-Identifier: Apache-2.0
# Made by `reprise match calibrate`; docs/reference/linkage-model.md explains the keys. A curve holds points
# [similarity, bits].
"""


def text(model: Model) -> str:
    """Return the model as TOML text; `matcher.linkage.load` reads an equal model from this text."""
    return HEAD + "\n".join(_lines(model)) + "\n"


@contextmanager
def written(path: Path, *, force: bool) -> Iterator[Callable[[Model], None]]:
    """Yield a function that writes a model to `path`; an existing file stays unchanged until the new file is complete.

    Raises MatcherError before it yields if `path` exists and `force` is false, or if `path` cannot be written.
    """
    with _refusing(path):
        if path.exists() and not force:
            raise MatcherError(f"{path}: already exists: give another name, or --force to overwrite it")
        if path.exists() and not path.is_file():
            raise MatcherError(f"{path}: is not a regular file: give another name")
        target = path.resolve()
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        file = beside.open("w", encoding="utf-8", newline="\n")

    def write(model: Model) -> None:
        with _refusing(path):
            file.write(text(model))
            file.flush()
            os.fsync(file.fileno())
            beside.rename(target)

    try:
        with file:
            yield write
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MatcherError(f"{path}: cannot be written: {error.strerror}") from error


def next_version(path: Path, name: str) -> int:
    """Return the version of a new model for `path`: 1, or the next version if `path` contains a model of this name."""
    try:
        there = load(path)
    except LinkageError:
        return 1
    return there.version + 1 if there.name == name else 1


def _lines(model: Model) -> Iterator[str]:
    head = model.model_dump(mode="json", exclude_none=True, exclude={"fields", "evidence"})
    yield ""
    yield from (f"{key} = {_value(value)}" for key, value in head.items())
    yield from _table("evidence", model.evidence)
    for field in model.fields:
        yield from ("", "[[fields]]", f"name = {_value(field.name)}")
        if field.weight is not None:
            yield f"weight = {_value(field.weight)}"
        yield "parts = ["
        yield from (f"  {_part(part)}," for part in field.parts)
        yield "]"


def _table(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a TOML table, followed by the tables nested in it as separate tables."""
    yield from ("", f"[{name}]")
    yield from (f"{_key(key)} = {_value(one)}" for key, one in values.items() if not isinstance(one, Mapping))
    for key, one in values.items():
        if isinstance(one, Mapping):
            yield from _table(f"{name}.{_key(key)}", one)


def _part(part: Part) -> str:
    values = part.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    values = {"feature": values.pop("feature"), "comparer": values.pop("comparer")} | values
    for last in ("curve", "unknown"):
        if last in values:
            values[last] = values.pop(last)
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in values.items()) + " }"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Return a text, number, boolean or list as TOML, which is its JSON with the character DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
