# SPDX-License-Identifier: Apache-2.0
"""Check a component file and a campaign's settings, and combine them into a description of the component."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from reprise.allowlist import PRELOAD_VARIABLE
from reprise.config import first_problem
from reprise.tuner.components import parameter_grid
from reprise.tuner.components.component_schema import (
    COMPARISON,
    WORD,
    ComponentFile,
    ObjectiveSection,
    ParameterSection,
    Scalars,
    Settings,
    ValuesSection,
)
from reprise.tuner.components.described_component import (
    Activation,
    ComponentParameter,
    Description,
    Forbidden,
    Objective,
    Part,
)
from reprise.tuner.errors import TunerError
from reprise.tuner.model.space import Value


def read(definition: Mapping[str, Any], settings: Mapping[str, Any]) -> Description:
    """Return a component's description. Raise TunerError with a one-line message if the file or settings are wrong."""
    file = check(definition)
    named = {key: settings[key] for key in settings if key not in file.needs}
    given = _given(file, {key: settings[key] for key in settings if key in file.needs})
    try:
        campaign = Settings.model_validate(named)
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
    for key in campaign.space:
        if key not in file.parameters:
            raise TunerError(f"settings: space: {key!r} is not a parameter of {file.name}: use {_all(file)}")
    parameters = [_parameter(key, section, campaign.space.get(key)) for key, section in file.parameters.items()]
    forbidden = [_forbidden(one) for one in file.forbidden]
    for preset in file.presets:
        if parameter_grid.is_forbidden_change(parameters, forbidden, preset):
            words = ", ".join(f"{key}: {value}" for key, value in preset.items())
            raise TunerError(
                f"component {file.name}: presets: {words} is one of the `forbidden` combinations, so it would never be "
                "tried: change the preset, or allow the combination"
            )
    return Description(
        name=file.name,
        version=file.version,
        activation=_activation(file, given),
        parameters=parameters,
        before=_before(file, campaign.reads, given),
        forbidden=forbidden,
        objective=objective_of(campaign.objective or file.objective),
        conflicts=file.conflicts,
        context=file.context,
        verify=file.verify or "",
        known_to=file.known_to or "",
        presets=file.presets,
        predicted=campaign.predicted.model_dump() if campaign.predicted else {},
        nodes=campaign.nodes,
        tasks_per_node=campaign.tasks_per_node,
        timeout_s=campaign.timeout_s,
    )


def check(definition: Mapping[str, Any]) -> ComponentFile:
    """Return the checked content of a component file. Raise TunerError with a one-line message if it is invalid."""
    # The workload is not part of the component file.
    own = {key: value for key, value in definition.items() if key != "application"}
    try:
        return ComponentFile.model_validate(own)
    except ValidationError as error:
        raise TunerError(f"component {definition.get('name')}: {first_problem(error, ComponentFile)}") from error


def _all(file: ComponentFile) -> str:
    return ", ".join(file.parameters)


def _given(file: ComponentFile, settings: Mapping[str, Any]) -> dict[str, str]:
    for key, why in file.needs.items():
        if key not in settings:
            raise TunerError(f"settings: {key!r} is missing ({why}): add it")
        if not isinstance(settings[key], str) or not WORD.fullmatch(settings[key]):
            raise TunerError(f"settings: {key}: {settings[key]!r} must be one word without shell metacharacters")
    return dict(settings)


def _before(file: ComponentFile, reads: Sequence[str], given: Mapping[str, str]) -> str:
    if not reads:
        return _filled(file.before.strip(), given, shlex.quote)
    if not file.before_reads:
        raise TunerError(f"settings: reads: {file.name} has no `before_reads`, which would use it: leave `reads` out")
    return _filled(file.before_reads.strip(), given, shlex.quote).replace("{reads}", shlex.join(reads))


def _filled(text: str, given: Mapping[str, str], quote: Callable[[str], str] = str) -> str:
    for key, value in given.items():
        text = text.replace(f"{{{key}}}", quote(value))
    return text


def _activation(file: ComponentFile, given: Mapping[str, str]) -> Activation:
    section = file.activation
    asked = {PRELOAD_VARIABLE: section.library} if section.library else {}
    return Activation(
        environment={**asked, **{name: _filled(value, given) for name, value in section.environment.items()}},
        options=[_filled(option, given) for option in section.options],
        directives=[_filled(line, given) for line in section.directives],
        preload=[_filled(library, given) for library in section.preload],
        library=section.library or "",
        commands=[_filled(line, given, shlex.quote) for line in section.commands],
        checks=[_filled(line, given, shlex.quote) for line in section.checks],
        wrapper=[_filled(word, given) for word in section.wrapper],
        hints=section.hints or "",
        hint_list=section.hint_list or "",
        hint_separator=section.hint_separator,
    )


def _parameter(key: str, section: ParameterSection, wanted: object) -> ComponentParameter:
    """Return a parameter with its grid; `wanted` is the parameter's entry in `settings.space`, or None."""
    try:
        chosen, multiplicative = _chosen(section, wanted)
        values = [section.checked(value) for value in chosen]
        scale = _scale(section, values, multiplicative)
    except ValueError as error:
        raise TunerError(f"settings: space.{key}: {error}") from error
    default, unset = section.checked(section.default), section.unset
    return ComponentParameter(
        key=key,
        name=section.name or key,
        via=section.via,
        type=section.type,
        default=default,
        values=values,
        scale=scale,
        unset=None if unset is None else section.checked(unset),
        flag=section.flag,
        suffix=section.suffix,
        words=section.words,
        at_most=section.at_most or "",
        copies=section.copies,
        counts_when={other: _listed(value) for other, value in section.when.items()},
    )


def _scale(section: ParameterSection, values: Sequence[Value], multiplicative: bool) -> str:
    if section.type in ("str", "bool"):
        return "category"
    scale = section.scale or ("log" if multiplicative else "linear")
    if scale == "log" and min(float(value) for value in values) <= -1:
        raise ValueError("a log scale has no values of -1 or below: set `scale: linear`")
    return scale


def _chosen(section: ParameterSection, wanted: object) -> tuple[Sequence[Value], bool]:
    """Return the values of a parameter's grid, and whether their steps are multiplicative.

    Without a grid, the default is the only value.
    """
    source = wanted if isinstance(wanted, ValuesSection) else section
    if wanted is None or isinstance(wanted, ValuesSection):
        found = source.range()
        return [section.default] if found is None else found, source.step_type == "multiplicative"
    return _listed(wanted), section.step_type == "multiplicative"  # type: ignore[arg-type]  # checked by Settings


def _listed(value: Scalars) -> list[Value]:
    return list(value) if isinstance(value, list) else [value]


def _forbidden(one: dict[str, Scalars] | str) -> Forbidden:
    if isinstance(one, dict):
        return Forbidden(values={key: _listed(value) for key, value in one.items()})
    found = COMPARISON.fullmatch(one)
    if not found:  # cannot happen, since the schema checks it
        raise TunerError(f"forbidden: {one!r} is not a comparison")
    try:
        right: str | float = float(found[3])
    except ValueError:
        right = found[3]
    return Forbidden(left=found[1], operator=found[2], right=right)


def objective_of(section: ObjectiveSection) -> Objective:
    """Return the objective that a section of a component file or of a campaign describes."""
    return Objective(
        pattern=section.pattern or "",
        file=section.file,
        take=section.take,
        function=section.function or "",
        unit=section.unit,
        maximize=section.direction == "maximize",
        parts=[
            Part(name, part.pattern, part.take, part.weight, part.amount or 0.0) for name, part in section.parts.items()
        ],
    )
