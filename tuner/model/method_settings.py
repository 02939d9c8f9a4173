# SPDX-License-Identifier: Apache-2.0
"""What a campaign file may say of a search method or a policy: a model of each one's settings, read in one way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from reprise.config import Section, first_problem
from reprise.tuner.errors import TunerError


class SettingsError(TunerError, ValueError):
    """A method's or a policy's settings cannot be used."""


def one_of(known: Iterable[str], name: str) -> str:
    """The name, where it is known. Raises SettingsError with the nearest one that is."""
    names = list(known)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names)}"
    raise SettingsError(f"there is no {name!r}: {hint}")


def read(models: Mapping[str, type[Section]], what: str, name: str, mapping: Mapping[str, Any]) -> Section:
    """The settings of `name` from a file's mapping; `what` it is: a method, a policy. Raises SettingsError in one line.

    A whole number is taken where any number is meant; nothing else is converted.
    """
    model = models[one_of(models, name)]
    if mapping and not model.model_fields:
        raise SettingsError(f"the {what} {name!r} has no settings: leave out {', '.join(map(repr, mapping))}")
    try:
        return model.model_validate(dict(mapping), strict=True)
    except ValidationError as error:
        raise SettingsError(f"{what} {name!r}: {first_problem(error, model)}") from error
