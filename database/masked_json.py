# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in JSON: in texts, in values of keys that suggest a secret, and in the options of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from posixpath import basename
from typing import Any

from reprise.database.secret_masking import (
    REMEMBERED,
    USER_AND_SECRET,
    masked_key,
    masked_options,
    masked_text,
    masked_value,
    masked_words,
)
from reprise.database.secret_names import Likely, likely
from reprise.database.secret_programs import HABITS, NONE, Habits, habits_of_program
from reprise.database.secret_shapes import REMEMBERED_LENGTH, looks_drawn

_SKETCHED = ("script", "functions", "imports", "contents", "build_id")
"""Metadata keys whose values look random but are not secrets: sketches (`matcher.submission.sketch`) and a build-id."""
_SKETCH = re.compile(r"[0-9A-Za-z+-]{32}|[0-9a-f]{40}")
_OWN = rf'"({_SKETCH.pattern})"'
_SIDE = rf'(?:{_OWN}|""|null)'
_SKETCHES = re.compile(
    rf'"(?:{"|".join(_SKETCHED)})":{_OWN}|"left":{_SIDE},"name":"(?:{"|".join(_SKETCHED)})","right":{_SIDE}'
)


def masked_json(value: Any, habits: Habits = NONE) -> Any:
    """Return a JSON value with secrets masked in its texts, in particular in texts whose keys suggest a secret.

    Only texts are changed. A mapping with `program` and `options` is treated as a job's metadata; a mapping with
    `name`, `left` and `right` is treated as a comparison of two jobs. `habits` describes how the jobs' program takes
    secrets.
    """
    if isinstance(value, str):
        return masked_text(value)
    if isinstance(value, Mapping):
        return _masked_mapping(value, habits)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        if all(isinstance(one, str) for one in value):
            return masked_words(value)
        return [masked_json(one, habits) for one in value]
    return value


def may_hold_secret(json_text: str) -> bool:
    """Return False if the JSON certainly contains no secret, as is the case for most JSON.

    This check takes a twentieth of the time needed to mask all values.
    """
    if "\\" in json_text:
        return True
    texts = set(json_text.split('"')[1::2])
    if not texts.isdisjoint(_SKETCHED):
        texts.difference_update(*_SKETCHES.findall(json_text))
    found = set(map(_suspicion, texts))
    return _CERTAIN in found or {_HINT, _DRAWN} <= found


_CERTAIN, _HINT, _DRAWN, _NO = range(4)


def _suspicion(text: str) -> int:
    """Classify a text of some JSON by whether a secret may be in the text itself or in the next text.

    If a text is a key, the next text is often its value. _CERTAIN: the text may contain a secret, or it is a key whose
    value may be a secret. _HINT: it is a key whose value is a secret if the value looks random. _DRAWN: the text looks
    random. _NO: none of these.
    """
    return _remembered_suspicion(text) if len(text) <= REMEMBERED_LENGTH else _CERTAIN


@lru_cache(maxsize=REMEMBERED)
def _remembered_suspicion(text: str) -> int:
    how = likely(text)
    pair = ":" in text and USER_AND_SECRET.fullmatch(text)
    if how >= Likely.RATHER or pair or basename(text) in HABITS or masked_text(text) != text:
        return _CERTAIN
    return _HINT if how is Likely.PERHAPS else _DRAWN if looks_drawn(text) else _NO


def habits_of(metadata: Any) -> Habits:
    """Return in which options the program of a job takes secrets, given the job's metadata; NONE if it is unknown."""
    program = metadata.get("program") if isinstance(metadata, Mapping) else None
    return habits_of_program(program) if isinstance(program, str) else NONE


def _masked_mapping(value: Mapping[str, Any], habits: Habits) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if isinstance(value.get("program"), str) and isinstance(value.get("options"), Mapping):
        own["options"] = _masked_json_options(value["options"], habits_of(value))
        own.update({name: _masked_sketch(value[name]) for name in _SKETCHED if name in value})
    elif isinstance(value.get("name"), str) and "left" in value and "right" in value:
        of_side = _masked_sketch if value["name"] in _SKETCHED else lambda side: _masked_json_options(side, habits)
        own = {side: of_side(value[side]) for side in ("left", "right")}
    return {
        masked_key(key, NONE): own[key] if key in own else _masked_under(key, one, habits) for key, one in value.items()
    }


def _masked_sketch(value: Any) -> Any:
    """Return a value with its secrets masked; a sketch (see _SKETCHED) or a build-id is returned unchanged."""
    return value if isinstance(value, str) and _SKETCH.fullmatch(value) else masked_json(value)


def _masked_json_options(options: Any, habits: Habits) -> Any:
    """Mask the secrets in a job's options in JSON; if the value has another form, mask it like any other value."""
    if isinstance(options, Mapping) and all(_are_texts(values) for values in options.values()):
        return {key: list(values) for key, values in masked_options(options, habits).items()}
    return masked_json(options, habits)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list | tuple | frozenset) and all(isinstance(value, str) for value in values)


def _masked_under(name: str, value: Any, habits: Habits) -> Any:
    """Return the JSON value of the key `name` with its secrets masked."""
    if isinstance(value, str):
        return masked_value(name, value)
    if isinstance(value, list | tuple) and likely(name) is not Likely.NO:
        return [_masked_under(name, one, habits) for one in value]
    return masked_json(value, habits)
