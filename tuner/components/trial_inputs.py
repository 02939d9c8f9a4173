# SPDX-License-Identifier: Apache-2.0
"""Convert a parametrization to a trial's inputs, such as variables, hints, options, directives and arguments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reprise.tuner.components.described_component import ComponentParameter, Description, Via
from reprise.tuner.components.parameter_grid import counting
from reprise.tuner.model.space import Parametrization, Value

PARAMETERS = "{parameters}"
"""Placeholder in a line of an activation, which is replaced by the parameters that the line passes on."""


@dataclass(frozen=True)
class Parts:
    """Inputs of trials with one parametrization.

    `options` are complete sbatch options, such as `--nodes=2`. `hints` are names and values for the hints file.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    directives: Sequence[str] = ()
    preload: Sequence[str] = ()
    commands: Sequence[str] = ()
    checks: Sequence[str] = ()
    wrapper: Sequence[str] = ()
    arguments: Sequence[str] = ()


def parts(description: Description, point: Parametrization) -> Parts:
    """Return the inputs of trials at a point; parameters without effect, or with their `unset` value, are left out.

    Zero is a value like any other and is not left out.
    """
    counted = counting(description.parameters, point)
    given = [
        (parameter, point[parameter.key])
        for parameter in description.parameters
        if parameter.key in counted and not _is_unset(parameter, point[parameter.key])
    ]

    def via(way: Via) -> list[str]:
        return [word for parameter, value in given if parameter.via is way for word in words(parameter, value)]

    def named(way: Via) -> dict[str, str]:
        return {name: text(p, value) + p.suffix for p, value in given if p.via is way for name in (p.name, *p.copies)}

    activation = description.activation
    hints = named(Via.HINT)
    separator = activation.hint_separator
    listed = {activation.hint_list: separator.join(f"{name}={value}" for name, value in hints.items())}
    return Parts(
        environment={
            **activation.environment,
            **named(Via.ENVIRONMENT),
            **(listed if activation.hint_list and hints else {}),
        },
        hints=hints if activation.hints else {},
        options=[*(f"--{option}" for option in activation.options), *via(Via.OPTION)],
        directives=_appended(activation.directives, via(Via.DIRECTIVE), " ".join),
        preload=activation.preload,
        commands=_appended(activation.commands, via(Via.COMMAND), shlex.join),
        checks=[line.replace(PARAMETERS, shlex.join(via(Via.COMMAND))) for line in activation.checks],
        wrapper=[*activation.wrapper, *via(Via.WRAPPER)],
        arguments=via(Via.ARGUMENT),
    )


def text(parameter: ComponentParameter, value: Value) -> str:
    """Return a value as text for the program; a bool becomes 1 or 0, or one of the parameter's `words`."""
    if isinstance(value, bool):
        return (parameter.words or {True: "1", False: "0"})[value]
    return str(value)


def words(parameter: ComponentParameter, value: Value) -> list[str]:
    """Return the words that pass a parameter on a command line or in a directive.

    A parameter with a flag becomes the two words `--flag VALUE`, or `-f VALUE` if the flag is a single letter. In an
    sbatch option, the flag and the value are one word, `--flag=VALUE` or `-fVALUE`. A parameter without a flag becomes
    `--NAME=VALUE` in options and arguments, including the wrapper's, and `NAME=VALUE` in directives and commands. A
    bool without `words` becomes its flag, or `--NAME`, without a value if it is true, and nothing if it is false; in
    directives and commands, this needs a flag.
    """
    flag = f"-{parameter.flag}" if len(parameter.flag) == 1 else f"--{parameter.flag}" if parameter.flag else ""
    dashed = parameter.via in (Via.OPTION, Via.ARGUMENT, Via.WRAPPER)
    if isinstance(value, bool) and parameter.words is None and (flag or dashed):
        return [flag or f"--{parameter.name}"] if value else []
    word = text(parameter, value) + parameter.suffix
    if not flag:
        return [f"--{parameter.name}={word}" if dashed else f"{parameter.name}={word}"]
    if parameter.via is Via.OPTION:
        return [f"{flag}{word}" if len(parameter.flag) == 1 else f"{flag}={word}"]
    return [flag, word]


def _is_unset(parameter: ComponentParameter, value: Value) -> bool:
    return parameter.unset is not None and value == parameter.unset


def _appended(lines: Sequence[str], added: Sequence[str], join: Callable[[Iterable[str]], str]) -> list[str]:
    """Insert the words `added` into the first of `lines`, in place of PARAMETERS or else at the end of the line."""
    if not lines:
        return []
    first, rest = lines[0], lines[1:]
    if PARAMETERS in first:
        return [first.replace(PARAMETERS, join(added)), *rest]
    return [f"{first.rstrip()} {join(added)}" if added else first, *rest]
