# SPDX-License-Identifier: Apache-2.0
"""Schema of component files of kind `application`, and of the `settings` of campaigns for them."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat, StringConstraints, field_validator, model_validator

from reprise.config import Section
from reprise.tuner.components.described_component import Via
from reprise.tuner.components.parameter_grid import OPERATORS, steps
from reprise.tuner.model import touched_names
from reprise.tuner.model.space import Value

TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}
WORD = re.compile(r"[^\s'\"\\#$`;&|<>()*?]+")  # text that every shell and sbatch read as one word without quotes
COMPARISON = re.compile(r"(\S+)\s*(<=|>=|==|!=|<|>)\s*(\S+)")
# Variables that Open MPI 4.1 and 5.0 ignore without a warning unless the variable DYNAMIC is 1.
FORCED = re.compile(r"OMPI_MCA_coll_tuned_[a-z_]+_algorithm(_\w+)?$")
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"


def _one_line(text: str) -> str:
    if "\n" in text or "\0" in text:
        raise ValueError("must be one line: remove the line break")
    return text


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise ValueError(f"is not a regular expression ({error}): correct it") from error
    if groups != 1:
        raise ValueError(f"must have one group (...) around the number, but has {groups}: use (?:...) for the others")
    return text


Scalar = bool | int | float | str
Take = Literal["first", "last", "min", "max", "mean", "sum"]
Scalars = Scalar | list[Scalar]
Line = Annotated[str, AfterValidator(_one_line)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]  # name of an environment variable
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.-]*$")]


def _touched(names: list[str]) -> list[str]:
    if problem := touched_names.objection(names):
        raise ValueError(problem)
    return names


Library = Annotated[str, StringConstraints(pattern=r"^lib[\w.+-]+$")]
Touched = Annotated[list[str], AfterValidator(_touched)]


class ValuesSection(Section):
    """Grid of one parameter, as a list or a range of values."""

    values: list[Scalar] | None = Field(None, min_length=1, description="all values, in order")
    min: int | float | None = Field(None, description="first value of a range")
    max: int | float | None = Field(None, description="inclusive upper bound of a range")
    step: int | float | None = Field(None, description="number to add to each value, or to multiply it by")
    step_type: Literal["additive", "multiplicative"] = "additive"
    also: list[Scalar] = Field(default_factory=list, description="additional values, such as 0, sorted into the range")

    @model_validator(mode="after")
    def _list_or_range(self) -> ValuesSection:
        given = [name for name in ("min", "max", "step") if getattr(self, name) is not None]
        if self.values is not None and given:
            raise ValueError(f"has both values and a range: leave out either values or {', '.join(given)}")
        if given and len(given) < 3:
            raise ValueError(f"a range needs min, max and step, but has only {', '.join(given)}: add the others")
        self.range()
        return self

    def range(self) -> list[Value] | None:
        """Return all values of the grid, or None without a grid. Raise ValueError if a value occurs twice."""
        if self.min is not None and self.max is not None and self.step is not None:
            found: list[Any] = list(steps(self.min, self.max, self.step, self.step_type == "multiplicative"))
        elif self.values is not None:
            found = list(self.values)
        else:
            return None
        if self.also:
            found = sorted({*found, *self.also}) if self.min is not None else [*found, *self.also]
        if len(set(found)) < len(found):
            raise ValueError("has a value twice: list each value once")
        return found


class ParameterSection(ValuesSection):
    """Section of a component file that describes one parameter."""

    type: Literal["int", "float", "str", "bool"] = "int"
    default: Scalar = Field(description="value in the reference run; it may lie outside the grid")
    via: Via = Field(Via.ENVIRONMENT, description="how the value reaches the program")
    name: str = Field("", description="parameter's name in the program; the key if absent")
    copies: list[Name] = Field(default_factory=list, description="other variables that get the same value")
    flag: str = Field("", pattern=r"^[A-Za-z][\w-]*$|^$", description="`-f VALUE`, or `--flag VALUE` if it is longer")
    suffix: str = Field("", pattern=r"^[\w.%/:-]*$", description="text to append to the value, such as K")
    unset: Scalar | None = Field(None, description="value that means that the parameter is not set")
    scale: Literal["linear", "log"] | None = Field(
        None, description="scale of the axis; log if steps are multiplicative"
    )
    words: dict[bool, str] | None = Field(None, description="texts for true and false")
    at_most: Literal["nodes", "tasks"] | None = Field(
        None, description="leave out values above the application's number of nodes or tasks"
    )
    when: dict[str, Scalars] = Field(
        default_factory=dict, description="has an effect only if other parameters have these values"
    )
    touches: Touched = Field(
        default_factory=list,
        description="names in a profile that it affects; those of the component if empty",
    )
    description: str = ""

    def checked(self, value: Scalar) -> Value:
        """Convert a value to the parameter's type. Raise ValueError if its type is wrong or it cannot be passed on."""
        if not isinstance(value, TYPES[self.type]) or (isinstance(value, bool) and self.type != "bool"):
            quotes = ": put it in quotes" if self.type == "str" else ""
            raise ValueError(f"{value!r} is not of type {self.type}{quotes}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value!r} is not finite: give a finite number")
        if self.type == "float":
            return float(value)
        if isinstance(value, str):
            if self.via is Via.ENVIRONMENT:
                _one_line(value)
            elif not WORD.fullmatch(value):
                raise ValueError(
                    f"{value!r} must be one word without quotes or shell metacharacters, for `via: {self.via}`"
                )
        return value

    @model_validator(mode="after")
    def _of_its_type(self) -> ParameterSection:
        others = [] if self.unset is None else [self.unset]
        for value in (self.default, *others, *(self.range() or ())):
            self.checked(value)
        if self.words is not None and (self.type != "bool" or set(self.words) != {True, False}):
            raise ValueError("words: only a bool has words: give one for true and one for false")
        if self.at_most and self.type != "int":
            raise ValueError(f"a {self.type} cannot be compared with a number of {self.at_most}: leave out `at_most`")
        if self.copies and self.via is not Via.ENVIRONMENT:
            raise ValueError(f"only variables have copies, but this parameter is `via: {self.via}`: leave out `copies`")
        if self.scale and self.type in ("str", "bool"):
            raise ValueError(f"a {self.type} has no scale: leave out `scale`")
        return self


class ActivationSection(Section):
    """Section of a component file that says how to switch the component on."""

    environment: dict[Name, Line] = Field(default_factory=dict, description="variables to export in every trial")
    options: list[Line] = Field(default_factory=list, description="sbatch options; `fastio=yes` sets --fastio=yes")
    directives: list[Line] = Field(
        default_factory=list, description="lines such as `#SBB ...` to add after the #SBATCH lines"
    )
    preload: list[Line] = Field(default_factory=list, description="libraries to append to LD_PRELOAD")
    library: str | None = Field(
        None,
        pattern=r"^[a-z0-9_-]{1,64}$",
        description="library that the plugin can load into jobs; `sro` means libreprise_sro.so",
    )
    commands: list[Line] = Field(default_factory=list, description="lines to put at the top of the script")
    checks: list[Line] = Field(default_factory=list, description="lines to put after the commands, in trials only")
    wrapper: list[Line] = Field(default_factory=list, description="program and arguments that run the script")
    hints: Name | None = Field(None, description="variable for the path of the hints file")
    hint_list: Name | None = Field(None, description="variable for a list of hints, each as NAME=VALUE")
    hint_separator: Literal[";", ":", ","] = Field(";", description="separator of the hints in a hint_list")

    @field_validator("options")
    @classmethod
    def _options(cls, options: list[str]) -> list[str]:
        plain = [option.removeprefix("--") for option in options]
        for option in plain:
            if not re.match(r"[A-Za-z][\w-]*(=|$)", option):
                raise ValueError(f"{option!r} is not an sbatch option: write NAME or NAME=VALUE")
        return plain

    @field_validator("directives")
    @classmethod
    def _directives(cls, lines: list[str]) -> list[str]:
        for line in lines:
            if not re.match(r"#[A-Z]{2,}\b", line) or line.startswith("#SBATCH"):
                raise ValueError(
                    f"{line!r} is not allowed in `directives`: start the line with # and capital letters, such as "
                    "`#SBB targets=...`, and put sbatch options under `options`"
                )
        return lines


class PartSection(Section):
    """Section for one of the terms in an objective that is a weighted sum."""

    pattern: Annotated[str, AfterValidator(_pattern)] = Field(description="regular expression; its group is the number")
    take: Take = "last"
    weight: float = Field(1.0, ge=0, description="weight in the sum; with 0, the number is only stored")
    amount: float | None = Field(None, gt=0, description="for a rate, the sum uses amount/rate")


class ObjectiveSection(Section):
    """Section for the objective, which is the run time if there is no pattern, part or function."""

    pattern: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="regular expression; its group is the number"
    )
    file: Line = Field("", description="file to search for the pattern; standard output if absent")
    take: Take = Field("last", description="which number to take if the pattern finds several")
    parts: dict[Key, PartSection] = Field(default_factory=dict, description="terms of a weighted sum")
    function: str | None = Field(
        None, pattern=r"^[A-Za-z_]\w*\.[A-Za-z_]\w*$", description="module.function, in the directory [tuner] functions"
    )
    unit: str = Field("s", pattern=r"^\S+$")
    direction: Literal["minimize", "maximize"] = "minimize"

    @model_validator(mode="after")
    def _one_of_them(self) -> ObjectiveSection:
        given = [name for name in ("pattern", "parts", "function") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}, which exclude each other: leave out all but one")
        if self.parts and {"take", "direction"} & self.model_fields_set:
            raise ValueError("has parts: give each its own `take`; rates have an `amount` instead of a direction")
        if self.parts and not any(part.weight for part in self.parts.values()):
            raise ValueError("parts: all weights are 0: set at least one over 0")
        if not given and {"file", "take", "unit", "direction"} & self.model_fields_set:
            raise ValueError("the run time has no file, take, unit or direction: add a pattern, parts or a function")
        return self


class ComponentFile(Section):
    """Content of a component file."""

    name: str
    version: str
    description: str
    kind: Literal["application"]
    touches: Touched = Field(
        default_factory=list, description="names in a profile that make the component worth trying"
    )
    libraries: list[Library] = Field(
        default_factory=list, description="prefixes of library names; the application must load one of these libraries"
    )
    activation: ActivationSection = ActivationSection()
    before: str = Field("", description="shell commands to run on the first node before each trial; not measured")
    before_reads: str = Field("", description="replaces `before` if a campaign sets `reads`; {reads} becomes its paths")
    parameters: dict[Key, ParameterSection] = Field(min_length=1)
    forbidden: list[dict[str, Scalars] | str] = Field(default_factory=list, description="combinations not to try")
    presets: list[dict[Key, Scalar]] = Field(
        default_factory=list, description="values of several parameters to try as one change on an application"
    )
    objective: ObjectiveSection = ObjectiveSection()
    conflicts: list[str] = Field(
        default_factory=list, description="other variables with which users choose settings themselves"
    )
    context: list[Literal["nodes", "tasks_per_node", "processors", "memory"]] = Field(
        default_factory=list, description="properties in which a job must equal the trials"
    )
    verify: Literal["mpiio"] | None = Field(None, description="check which MPI-IO hints were in effect")
    known_to: Literal["openmpi"] | None = Field(
        None, description="leave out parameters that the installed Open MPI does not have"
    )
    needs: dict[Key, str] = Field(
        default_factory=dict, description="keys that a campaign must set, each with the reason"
    )

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> ComponentFile:
        earlier: list[str] = []
        for key, parameter in self.parameters.items():
            for other in parameter.when:
                if other not in earlier:
                    raise ValueError(f"parameters.{key}: `when` names {other!r}, which is not an earlier parameter")
            if problem := _problem(parameter.name or key, parameter.via, self.activation):
                raise ValueError(f"parameters.{key}: {problem}")
            earlier.append(key)
        return self

    @model_validator(mode="after")
    def _hints_can_be_verified(self) -> ComponentFile:
        named = (parameter.name or key for key, parameter in self.parameters.items())
        if self.verify and not (
            self.activation.hints or self.activation.hint_list or any(name.startswith("OMPI_MCA_") for name in named)
        ):
            raise ValueError("verify: there are no hints or Open MPI settings to check: leave it out")
        if self.activation.hints and self.activation.hint_list:
            raise ValueError("activation: hints go into either a file or a list: leave out hints or hint_list")
        return self

    @model_validator(mode="after")
    def _presets_are_on_the_grids(self) -> ComponentFile:
        for preset in self.presets:
            for key, value in preset.items():
                if key not in self.parameters:
                    raise ValueError(f"presets: {key!r} is not a parameter: correct it")
                if value not in (self.parameters[key].range() or ()):
                    raise ValueError(f"presets: {value!r} is not a value of {key}: add it to the values, or correct it")
        return self

    @model_validator(mode="after")
    def _combinations_are_of_parameters(self) -> ComponentFile:
        for one in self.forbidden:
            for key in _keys(one):
                if key not in self.parameters:
                    raise ValueError(f"forbidden: {key!r} is not a parameter: correct it")
                if isinstance(one, str) and self.parameters[key].type not in ("int", "float"):
                    raise ValueError(f"forbidden: {one!r}: {key} is not a number: list its values instead")
        return self


class PredictedSection(Section):
    """Section for the prediction that a campaign verifies; `reprise tune predict search` writes the section."""

    models: list[int] = Field(min_length=1, description="numbers of the models that predicted the point")
    gain: float = Field(description="predicted gain over the default")


class Settings(Section):
    """Section `settings` of a campaign, without the additional keys that the component needs."""

    space: dict[str, ValuesSection | list[Scalar] | Scalar] = Field(
        default_factory=dict, description="grids that replace the component's; a single value fixes the parameter"
    )
    objective: ObjectiveSection | None = Field(None, description="objective to use instead of the component's")
    reads: list[Annotated[Line, StringConstraints(pattern=r"^/")]] = Field(
        default_factory=list, description="absolute paths that the application reads"
    )
    nodes: int | None = Field(None, ge=1, description="number of nodes; if absent, as in the application's script")
    tasks_per_node: int | None = Field(None, ge=1)
    family: str = Field("", pattern=r"^[\w.-]*$", description="family of applications that share a model")
    features: dict[Key, FiniteFloat] = Field(
        default_factory=dict, description="numbers that distinguish this configuration from others of the family"
    )
    predicted: PredictedSection | None = Field(None, description="prediction for the campaign to verify")
    timeout_s: float = Field(86400.0, gt=0, description="time limit of a trial in seconds, below the executor's")


NEEDED = {Via.DIRECTIVE: "directives", Via.COMMAND: "commands", Via.WRAPPER: "wrapper", Via.HINT: "hints"}


def _problem(name: str, via: Via, activation: ActivationSection) -> str:
    """Return the reason why a parameter of this name cannot be passed to the program; "" if it can."""
    if via is Via.HINT and activation.hint_list:
        return ""
    if via in NEEDED and not getattr(activation, NEEDED[via]):
        return f"`via: {via}` needs activation.{NEEDED[via]}: add it"
    if via is not Via.ENVIRONMENT:
        return ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f"{name!r} is not a variable's name: set `name`"
    if FORCED.match(name) and DYNAMIC not in activation.environment:
        return f"Open MPI does not read {name} unless {DYNAMIC} is 1: add it to activation.environment"
    return ""


def _keys(one: dict[str, Scalars] | str) -> list[str]:
    if isinstance(one, dict):
        return list(one)
    found = COMPARISON.fullmatch(one)
    if not found or found[2] not in OPERATORS:
        raise ValueError(
            f"forbidden: {one!r} is not a comparison: write e.g. `threshold > length`, or a mapping of values"
        )
    return [found[1]] if _is_number(found[3]) else [found[1], found[3]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
