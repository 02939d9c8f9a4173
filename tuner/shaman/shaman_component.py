# SPDX-License-Identifier: Apache-2.0
"""Conversion of a SHAMan component to a Reprise component file.

Everything that has no counterpart in Reprise is reported, one line for each item.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.config import first_problem
from reprise.tuner.components.component_file import check
from reprise.tuner.components.component_schema import DYNAMIC, FORCED, TYPES
from reprise.tuner.errors import TunerError

NOT_GIVEN: Mapping[str, Any] = {"int": -1, "float": -1.0, "str": "not-given", "bool": False}


class _Open(BaseModel):
    """A model that accepts unknown keys. SHAMan ignores such keys, and Reprise reports them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def unknown(self) -> list[str]:
        return list(self.model_extra or {})


class ShamanParameter(_Open):
    """A parameter. An optional parameter has no default in SHAMan, and stays unset unless an experiment sets it."""

    type: str = "int"
    default: Any = None
    optional: bool = False
    env_var: Any = None
    cmd_var: Any = None
    cli_var: Any = None
    flag: str | None = None
    suffix: str | None = None
    description: str | None = None


class ShamanComponent(_Open):
    """Description of a component: the value under the component's name in the mapping `components` of a SHAMan file."""

    plugin: str | None = None
    header: str | None = None
    command: str | None = None
    ld_preload: str | None = None
    custom_target: str | None = None
    parameters: dict[str, ShamanParameter]


@dataclass(frozen=True)
class Converted:
    """A Reprise component file or campaign file, as a mapping, and the notes about its conversion."""

    definition: Mapping[str, Any]
    notes: list[str]


def is_component_file(data: Mapping[str, Any]) -> bool:
    """Return whether `data` is a SHAMan file of components, not an experiment or a Reprise file."""
    components = data.get("components")
    return isinstance(components, dict) and any(isinstance(c, dict) and "parameters" in c for c in components.values())


def convert(name: str, data: Any, where: str) -> Converted:
    """Convert one component of the file `where`. Raise TunerError with a one-line message if it is invalid."""
    try:
        given = ShamanComponent.model_validate(data)
    except ValidationError as error:
        raise TunerError(f"{where}: component {name}: {first_problem(error, ShamanComponent)}") from error
    conversion = _Conversion(name, given, [])
    definition = conversion.definition(where)
    try:
        check(definition)
    except TunerError as error:
        raise TunerError(f"{where}: {error}") from error
    return Converted(definition, [f"component {name}: {note}" for note in conversion.notes])


@dataclass
class _Conversion:
    name: str
    given: ShamanComponent
    notes: list[str]

    def definition(self, where: str) -> dict[str, Any]:
        self.notes += [f"{key!r} is unknown and left out" for key in self.given.unknown()]
        parameters = {key: self._parameter(key, parameter) for key, parameter in self.given.parameters.items()}
        activation, before = self._activation(parameters)
        objective = {"function": self.given.custom_target} if self.given.custom_target else None
        if objective:
            self.notes.append(
                f"put the module of {self.given.custom_target} into tuner.functions; its result is assumed to be in s"
            )
        definition = {
            "name": re.sub(r"[^\w.-]", "-", self.name),
            "version": "1",
            "description": f"{self.name}, imported from SHAMan's {where.rpartition('/')[2]}",
            "kind": "application",
            "activation": activation,
            "before": before,
            "objective": objective,
            "parameters": {key: parameter for key, parameter in parameters.items() if parameter},
        }
        return {key: value for key, value in definition.items() if value}

    def _activation(self, parameters: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
        given, before = self.given, ""
        activation: dict[str, Any] = {"options": [word.removeprefix("--") for word in (given.plugin or "").split()]}
        lines = [line.strip() for line in (given.command or "", given.header or "")]
        activation["directives"] = [line for line in lines if line.startswith("#")]
        if lines[0] and not lines[0].startswith("#"):
            activation["commands"] = [lines[0]]
        if lines[1] and not lines[1].startswith("#"):
            before = lines[1]
        activation["preload"] = re.split(r"[:\s]+", given.ld_preload) if given.ld_preload else []
        names = [str(parameter.get("name", key)) for key, parameter in parameters.items()]
        if any(FORCED.match(name) for name in names) and DYNAMIC not in names:
            activation["environment"] = {DYNAMIC: "1"}
            self.notes.append(f"{DYNAMIC}=1 is added: without it, Open MPI does not read the parameters")
        return {key: value for key, value in activation.items() if value}, before

    def _parameter(self, key: str, given: ShamanParameter) -> dict[str, Any]:
        """Return the parameter for the Reprise file, or an empty mapping if SHAMan does not use it."""
        self.notes += [f"{key}: {extra!r} is unknown and left out" for extra in given.unknown()]
        via = self._via(key, given)
        if not via:
            return {}
        if given.type not in TYPES:
            raise TunerError(
                f"component {self.name}: {key}: type {given.type!r} is not one of {', '.join(TYPES)}: correct it"
            )
        result: dict[str, Any] = {"via": via, "type": given.type}
        if given.optional:
            result |= {"default": NOT_GIVEN[given.type], "unset": NOT_GIVEN[given.type]}
            self.notes.append(f"{key}: is optional: {NOT_GIVEN[given.type]!r} means that it is not set")
        elif given.default is None:
            raise TunerError(f"component {self.name}: {key}: has no default; trials are compared with it: add one")
        else:
            result["default"] = _cast(given.default, given.type)
        if via == "environment" and (given.flag or given.suffix):
            self.notes.append(f"{key}: a variable has no flag or suffix in SHAMan either: left out")
        else:
            result |= {what: value for what, value in (("flag", given.flag), ("suffix", given.suffix)) if value}
        return result | ({"description": given.description} if given.description else {})

    def _via(self, key: str, given: ShamanParameter) -> str:
        ways = {"environment": given.env_var, "command": given.cmd_var, "option": given.cli_var}
        chosen = [way for way, wanted in ways.items() if wanted and str(wanted).lower() not in ("false", "no")]
        if not chosen:
            self.notes.append(f"{key}: none of env_var, cmd_var and cli_var is set, so it has no effect: left out")
            return ""
        if len(chosen) > 1:
            self.notes.append(f"{key}: SHAMan sets it in {len(chosen)} ways, but Reprise sets it only as {chosen[0]}")
        if chosen[0] == "command" and not (self.given.command or "").strip():
            self.notes.append(f"{key}: is appended to a command, but there is none: left out, as in SHAMan")
            return ""
        is_directive = chosen[0] == "command" and (self.given.command or "").strip().startswith("#")
        return "directive" if is_directive else chosen[0]


def _cast(value: Any, kind: str) -> Any:
    """Return a default converted to its type, such as "5" to an int or 5 to a text; unchanged if data would be lost."""
    try:
        if kind == "str":
            return str(value)
        if kind == "int" and not isinstance(value, bool) and float(value) == int(float(value)):
            return int(float(value))
        if kind == "float":
            return float(value)
    except (TypeError, ValueError):
        pass
    return value
