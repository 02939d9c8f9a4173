# SPDX-License-Identifier: Apache-2.0
"""Settings of search methods and policies in a campaign file, checked with one pydantic model for each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from reprise.config import Section, first_problem
from reprise.tuner.errors import TunerError


class SettingsError(TunerError, ValueError):
    """Error: the settings of a method or a policy are invalid."""


def one_of(known: Iterable[str], name: str) -> str:
    """Return the name if it is one of `known`. Otherwise raise SettingsError, which suggests a similar name."""
    names = list(known)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names)}"
    raise SettingsError(f"there is no {name!r}: {hint}")


def read(models: Mapping[str, type[Section]], what: str, name: str, mapping: Mapping[str, Any]) -> Section:
    """Read the settings of `name` from a file's mapping. Raise SettingsError, with one line, if they are invalid.

    `what` says in messages what `name` is: "method" or "policy". An integer is accepted for a float; no other value is
    converted.
    """
    model = models[one_of(models, name)]
    if mapping and not model.model_fields:
        raise SettingsError(f"the {what} {name!r} has no settings: leave out {', '.join(map(repr, mapping))}")
    try:
        return model.model_validate(dict(mapping), strict=True)
    except ValidationError as error:
        raise SettingsError(f"{what} {name!r}: {first_problem(error, model)}") from error
