# SPDX-License-Identifier: Apache-2.0
"""The keys of a component file of kind `application`, and of a campaign's `settings` for it."""

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
WORD = re.compile(r"[^\s'\"\\#$`;&|<>()*?]+")  # no shell and no sbatch takes it for anything but one word
COMPARISON = re.compile(r"(\S+)\s*(<=|>=|==|!=|<|>)\s*(\S+)")
# Open MPI 4.1 and 5.0 read these only where rules are dynamic, and say nothing.
FORCED = re.compile(r"OMPI_MCA_coll_tuned_[a-z_]+_algorithm(_\w+)?$")
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"


def _one_line(text: str) -> str:
    if "\n" in text or "\0" in text:
        raise ValueError("is one line: leave out the line break")
    return text


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise ValueError(f"is no regular expression ({error}): correct it") from error
    if groups != 1:
        raise ValueError(f"must have one group (...) around the number, and has {groups}: use (?:...) for others")
    return text


Scalar = bool | int | float | str
Take = Literal["first", "last", "min", "max", "mean", "sum"]
Scalars = Scalar | list[Scalar]
Line = Annotated[str, AfterValidator(_one_line)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]  # of a variable
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.-]*$")]


def _touched(names: list[str]) -> list[str]:
    if problem := touched_names.objection(names):
        raise ValueError(problem)
    return names


Library = Annotated[str, StringConstraints(pattern=r"^lib[\w.+-]+$")]
Touched = Annotated[list[str], AfterValidator(_touched)]


class ValuesSection(Section):
    """The grid of one parameter: a list, or a range."""

    values: list[Scalar] | None = Field(None, min_length=1, description="all values, in order")
    min: int | float | None = Field(None, description="the first value of a range")
    max: int | float | None = Field(None, description="what no value of a range is over")
    step: int | float | None = Field(None, description="what is added, or multiplied with")
    step_type: Literal["additive", "multiplicative"] = "additive"
    also: list[Scalar] = Field(default_factory=list, description="more values, put in order; e.g. 0")

    @model_validator(mode="after")
    def _list_or_range(self) -> ValuesSection:
        given = [name for name in ("min", "max", "step") if getattr(self, name) is not None]
        if self.values is not None and given:
            raise ValueError(f"has values and a range at once: leave out {', '.join(given)} or values")
        if given and len(given) < 3:
            raise ValueError(f"a range has min, max and step, and here is only {', '.join(given)}: add what is missing")
        self.range()
        return self

    def range(self) -> list[Value] | None:
        """All values, each once; None where none are given."""
        if self.min is not None and self.max is not None and self.step is not None:
            found: list[Any] = list(steps(self.min, self.max, self.step, self.step_type == "multiplicative"))
        elif self.values is not None:
            found = list(self.values)
        else:
            return None
        if self.also:
            found = sorted({*found, *self.also}) if self.min is not None else [*found, *self.also]
        if len(set(found)) < len(found):
            raise ValueError("has a value twice: give each once")
        return found


class ParameterSection(ValuesSection):
    """One parameter."""

    type: Literal["int", "float", "str", "bool"] = "int"
    default: Scalar = Field(description="its value in the reference run; it may lie outside of the grid")
    via: Via = Field(Via.ENVIRONMENT, description="how it reaches the program")
    name: str = Field("", description="what the program calls it; its key if absent")
    copies: list[Name] = Field(default_factory=list, description="more variables that get the same value")
    flag: str = Field("", pattern=r"^[A-Za-z][\w-]*$|^$", description="`-f VALUE`, or `--flag VALUE` if it is longer")
    suffix: str = Field("", pattern=r"^[\w.%/:-]*$", description="stands behind the value, e.g. K")
    unset: Scalar | None = Field(None, description="the value at which it is not given at all")
    scale: Literal["linear", "log"] | None = Field(None, description="of a number; log if steps are multiplicative")
    words: dict[bool, str] | None = Field(None, description="what stands for true and false")
    at_most: Literal["nodes", "tasks"] | None = Field(None, description="values over the application's are left out")
    when: dict[str, Scalars] = Field(default_factory=dict, description="it counts only where others have such values")
    description: str = ""

    def checked(self, value: Scalar) -> Value:
        """A value of the parameter's type. Raises ValueError."""
        if not isinstance(value, TYPES[self.type]) or (isinstance(value, bool) and self.type != "bool"):
            quotes = ": put it in quotes" if self.type == "str" else ""
            raise ValueError(f"{value!r} is not of type {self.type}{quotes}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value!r} is no finite number")
        if self.type == "float":
            return float(value)
        if isinstance(value, str):
            if self.via is Via.ENVIRONMENT:
                _one_line(value)
            elif not WORD.fullmatch(value):
                raise ValueError(
                    f"{value!r} must be one word without quotes and signs of the shell, for `via: {self.via}`"
                )
        return value

    @model_validator(mode="after")
    def _of_its_type(self) -> ParameterSection:
        others = [] if self.unset is None else [self.unset]
        for value in (self.default, *others, *(self.range() or ())):
            self.checked(value)
        if self.words is not None and (self.type != "bool" or set(self.words) != {True, False}):
            raise ValueError("words are for a bool, one for true and one for false")
        if self.at_most and self.type != "int":
            raise ValueError(f"a {self.type} cannot be compared with a number of {self.at_most}: leave out `at_most`")
        if self.copies and self.via is not Via.ENVIRONMENT:
            raise ValueError(f"only variables have copies, and this goes via {self.via}: leave out `copies`")
        if self.scale and self.type in ("str", "bool"):
            raise ValueError(f"a {self.type} has no scale: leave it out")
        return self


class ActivationSection(Section):
    """How the component is switched on."""

    environment: dict[Name, Line] = Field(default_factory=dict, description="variables that every trial exports")
    options: list[Line] = Field(default_factory=list, description="of sbatch: `fastio=yes` gives --fastio=yes")
    directives: list[Line] = Field(
        default_factory=list, description="lines such as `#SBB ...`, after the #SBATCH lines"
    )
    preload: list[Line] = Field(default_factory=list, description="libraries, appended to LD_PRELOAD")
    library: str | None = Field(
        None, pattern=r"^[a-z0-9_-]{1,64}$", description="`sro`: libreprise_sro.so, which jobs can be given"
    )
    commands: list[Line] = Field(default_factory=list, description="lines at the top of the script")
    checks: list[Line] = Field(default_factory=list, description="lines after the commands, in trials only")
    wrapper: list[Line] = Field(default_factory=list, description="the program, and its words, that runs the script")
    hints: Name | None = Field(None, description="the variable that names the file of hints")
    hint_list: Name | None = Field(None, description="the variable that holds the hints, as NAME=VALUE")
    hint_separator: Literal[";", ":", ","] = Field(";", description="stands between the hints of a hint_list")

    @field_validator("options")
    @classmethod
    def _options(cls, options: list[str]) -> list[str]:
        plain = [option.removeprefix("--") for option in options]
        for option in plain:
            if not re.match(r"[A-Za-z][\w-]*(=|$)", option):
                raise ValueError(f"{option!r} is no option of sbatch: write NAME or NAME=VALUE")
        return plain

    @field_validator("directives")
    @classmethod
    def _directives(cls, lines: list[str]) -> list[str]:
        for line in lines:
            if not re.match(r"#[A-Z]{2,}\b", line) or line.startswith("#SBATCH"):
                raise ValueError(f"{line!r} is no directive: begin it like #SBB, and list sbatch's options in options")
        return lines


class PartSection(Section):
    """One of several numbers."""

    pattern: Annotated[str, AfterValidator(_pattern)] = Field(description="finds the number, as its group")
    take: Take = "last"
    weight: float = Field(1.0, ge=0, description="what it counts; 0: it is only kept")
    amount: float | None = Field(None, gt=0, description="the number is a rate; amount/rate is taken")


class ObjectiveSection(Section):
    """What is optimized; the run time where no pattern, no parts and no function are given."""

    pattern: Annotated[str, AfterValidator(_pattern)] | None = Field(None, description="finds the number, as its group")
    file: Line = Field("", description="where the pattern looks; standard output if absent")
    take: Take = Field("last", description="of several numbers")
    parts: dict[Key, PartSection] = Field(default_factory=dict, description="numbers whose weighted sum it is")
    function: str | None = Field(
        None, pattern=r"^[A-Za-z_]\w*\.[A-Za-z_]\w*$", description="module.function of [tuner] functions"
    )
    unit: str = Field("s", pattern=r"^\S+$")
    direction: Literal["minimize", "maximize"] = "minimize"

    @model_validator(mode="after")
    def _one_of_them(self) -> ObjectiveSection:
        given = [name for name in ("pattern", "parts", "function") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)} at once: leave out all but one of them")
        if self.parts and {"take", "direction"} & self.model_fields_set:
            raise ValueError("has parts: give each its own `take`; rates have an `amount` instead of a direction")
        if self.parts and not any(part.weight for part in self.parts.values()):
            raise ValueError("parts: all weights are 0: give one that counts")
        if not given and {"file", "take", "unit", "direction"} & self.model_fields_set:
            raise ValueError("the run time has no file, take, unit or direction: add a pattern, parts or a function")
        return self


class ComponentFile(Section):
    """A component file."""

    name: str
    version: str
    description: str
    kind: Literal["application"]
    touches: Touched = Field(default_factory=list, description="what a profile must show for it to be tried")
    libraries: list[Library] = Field(
        default_factory=list, description="beginnings of names of libraries, one of which the application must load"
    )
    activation: ActivationSection = ActivationSection()
    before: str = Field("", description="shell that is run on the first node before each trial, and not measured")
    before_reads: str = Field("", description="instead of it where a campaign says what is read; {reads} is that")
    parameters: dict[Key, ParameterSection] = Field(min_length=1)
    forbidden: list[dict[str, Scalars] | str] = Field(default_factory=list, description="combinations left out")
    objective: ObjectiveSection = ObjectiveSection()
    conflicts: list[str] = Field(default_factory=list, description="more variables of which a user may have set none")
    context: list[Literal["nodes", "tasks_per_node", "processors", "memory"]] = Field(
        default_factory=list, description="what a record holds for"
    )
    verify: Literal["mpiio"] | None = Field(None, description="trials say which hints of MPI-IO were in effect")
    needs: dict[Key, str] = Field(default_factory=dict, description="what a campaign's settings must say, and why")

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> ComponentFile:
        earlier: list[str] = []
        for key, parameter in self.parameters.items():
            for other in parameter.when:
                if other not in earlier:
                    raise ValueError(f"parameters.{key}: `when` names {other!r}, which is no parameter before it")
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
            raise ValueError("verify: there are no hints and no settings of Open MPI to look for: leave it out")
        if self.activation.hints and self.activation.hint_list:
            raise ValueError("activation: hints go into a file or into a list: leave out hints or hint_list")
        return self

    @model_validator(mode="after")
    def _combinations_are_of_parameters(self) -> ComponentFile:
        for one in self.forbidden:
            for key in _keys(one):
                if key not in self.parameters:
                    raise ValueError(f"forbidden: {key!r} is no parameter: correct it")
                if isinstance(one, str) and self.parameters[key].type not in ("int", "float"):
                    raise ValueError(f"forbidden: {one!r} compares numbers, and {key} is none: list its values instead")
        return self


class PredictedSection(Section):
    """Where a campaign's only point comes from; `reprise tune predict search` writes it."""

    models: list[int] = Field(min_length=1, description="that were asked")
    gain: float = Field(description="over the default, as predicted")


class Settings(Section):
    """What a campaign's `settings` may say; beside it, what the component needs."""

    space: dict[str, ValuesSection | list[Scalar] | Scalar] = Field(
        default_factory=dict, description="the grid of a parameter, instead of the component's; one value fixes it"
    )
    objective: ObjectiveSection | None = Field(None, description="instead of the component's")
    reads: list[Annotated[Line, StringConstraints(pattern=r"^/")]] = Field(
        default_factory=list, description="files and directories that the application reads, absolute"
    )
    nodes: int | None = Field(None, ge=1, description="of the application; its script says so")
    tasks_per_node: int | None = Field(None, ge=1)
    family: str = Field("", pattern=r"^[\w.-]*$", description="of applications whose trials one model learns from")
    features: dict[Key, FiniteFloat] = Field(
        default_factory=dict, description="numbers that tell this configuration from others of the family"
    )
    predicted: PredictedSection | None = Field(None, description="a model says so; the campaign verifies it")
    timeout_s: float = Field(86400.0, gt=0, description="seconds after which a trial is stopped, below the executor's")


NEEDED = {Via.DIRECTIVE: "directives", Via.COMMAND: "commands", Via.WRAPPER: "wrapper", Via.HINT: "hints"}


def _problem(name: str, via: Via, activation: ActivationSection) -> str:
    """Why a parameter of this name could not reach the program; empty where it can."""
    if via is Via.HINT and activation.hint_list:
        return ""
    if via in NEEDED and not getattr(activation, NEEDED[via]):
        return f"`via: {via}` needs activation.{NEEDED[via]}: add it"
    if via is not Via.ENVIRONMENT:
        return ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f"no variable can be called {name!r}: give its `name`"
    if FORCED.match(name) and DYNAMIC not in activation.environment:
        return f"Open MPI does not read {name} unless {DYNAMIC} is 1: add it to activation.environment"
    return ""


def _keys(one: dict[str, Scalars] | str) -> list[str]:
    if isinstance(one, dict):
        return list(one)
    found = COMPARISON.fullmatch(one)
    if not found or found[2] not in OPERATORS:
        raise ValueError(
            f"forbidden: {one!r} is no comparison: write e.g. `threshold > length`, or a mapping of values"
        )
    return [found[1]] if _is_number(found[3]) else [found[1], found[3]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
