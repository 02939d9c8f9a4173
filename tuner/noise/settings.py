# SPDX-License-Identifier: Apache-2.0
"""What a campaign file may say of a policy: typed settings, checked by hand so that a wrong key gets a hint."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tuner.errors import TunerError


class SettingsError(TunerError):
    """A policy's settings cannot be used."""


@dataclass(frozen=True)
class NoSettings:
    """A policy without settings."""


@dataclass(frozen=True)
class RacingSettings:
    """`share`: of the budget, at its end, for the leaders. `least`: a difference between them that does not matter,
    relative to the value."""

    share: float = 0.35
    least: float = 0.0005

    def __post_init__(self) -> None:
        within("share", self.share, 0.0, 1.0)
        within("least", self.least, 0.0)


T = TypeVar("T")


def read(kinds: Mapping[str, type[T]], what: str, policy: str, mapping: Mapping[str, Any]) -> T:
    """The settings of `policy` from a file's mapping. `what` names the section in messages.

    A number is taken where a float is meant; nothing else is converted. Raises SettingsError in one line.
    """
    if policy not in kinds:
        raise SettingsError(f"{what}.policy: there is no policy {policy!r}{_hint(policy, kinds)}")
    kind = kinds[policy]
    known = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in mapping.items():
        where = f"{what}.settings.{name}"
        if name not in known:
            raise SettingsError(f"{where}: policy {policy!r} has no such setting{_hint(name, known)}")
        default = known[name].default
        wanted = type(default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not wanted:
            raise SettingsError(f"{where}: {value!r} is no {_WORDS[wanted]}: write one, e.g. {default!r}")
        values[name] = value
    try:
        return kind(**values)
    except ValueError as error:
        raise SettingsError(f"{what}.settings.{error}") from error


_WORDS: Mapping[type, str] = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f": did you mean {near[0]!r}?"
    return f": choose of {', '.join(known)}" if known else ": leave it out"


def within(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Raises ValueError where a setting is out of its bounds."""
    if not low <= value <= high:
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise ValueError(f"{name}: {value:g} is out of bounds: give a number {bounds}")
