# SPDX-License-Identifier: Apache-2.0
"""What a component file of kind `application` says, as values. `docs/components.md` explains every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reprise.tuner.model.space import Value


class Via(StrEnum):
    """How a parameter reaches the program."""

    ENVIRONMENT = "environment"  # an exported variable
    HINT = "hint"  # a line `NAME VALUE` of the hints file
    OPTION = "option"  # of sbatch
    DIRECTIVE = "directive"  # a word of the script directive
    COMMAND = "command"  # a word of the command at the script's top
    ARGUMENT = "argument"  # a word among the batch script's own arguments
    WRAPPER = "wrapper"  # a word of the program that runs the script


@dataclass(frozen=True)
class Activation:
    """How the component is switched on, in the reference run as well. `hints` is the variable that names the file of
    hints, `hint_list` the one that holds them, with `hint_separator` between them.

    `preload` are files; `library` names one that jobs are given with the environment, and that trials load themselves.

    Parameters that go via a directive or a command are appended to the first of them. `checks` are lines after the
    commands that end a trial which has not what it was to have; nobody is told to put them into a script.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    directives: Sequence[str] = ()
    preload: Sequence[str] = ()
    library: str = ""
    commands: Sequence[str] = ()
    checks: Sequence[str] = ()
    wrapper: Sequence[str] = ()
    hints: str = ""
    hint_list: str = ""
    hint_separator: str = ";"


@dataclass(frozen=True)
class ComponentParameter:
    """One parameter. `key` is its name in the campaign, `name` the one that the program knows it by. `copies` are more
    variables that get its value.

    `values` is its grid, in order; the default may lie outside of it. At the value `unset` it is not given at all, and
    neither is it where it does not count: `counts_when` holds the values that other parameters must have. `at_most`:
    "nodes" or "tasks" where values over the application's are left out.
    """

    key: str
    name: str
    via: Via
    type: str
    default: Value
    values: Sequence[Value]
    scale: str  # as tuner.model.space.Parameter.kind
    unset: Value | None = None
    flag: str = ""
    suffix: str = ""
    words: Mapping[bool, str] | None = None  # what stands for true and false
    counts_when: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    at_most: str = ""
    copies: Sequence[str] = ()


@dataclass(frozen=True)
class Forbidden:
    """A combination that is not tried: all of `values` are met, or `left` `operator` `right` holds.

    `right` is a parameter's key or a number.
    """

    values: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    left: str = ""
    operator: str = ""
    right: str | float = ""


@dataclass(frozen=True)
class Part:
    """One of several numbers that an objective is made of, e.g. of reading. Where `amount` is not 0, the number that
    is found is a rate, and what counts is amount/rate."""

    name: str
    pattern: str
    take: str = "last"
    weight: float = 1.0
    amount: float = 0.0


@dataclass(frozen=True)
class Objective:
    """What is optimized: the run time, or what `pattern` finds in `file` ("" is standard output), or the weighted sum
    of `parts`, or what `function` (module.function) says of the trial's directory."""

    pattern: str = ""
    file: str = ""
    take: str = "last"
    function: str = ""
    unit: str = "s"
    maximize: bool = False
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Description:
    """A component file with a campaign's settings in it. `before` is shell that is run before each trial.

    `conflicts` are variables, beside its own, of which a job's user may have set none. `context` names what a record
    holds for only: "nodes", "tasks_per_node", "processors", "memory". `verify`: "mpiio" where trials say which hints
    were in effect. `predicted`: the models that the campaign's only point comes from; empty: it was searched for.
    """

    name: str
    version: str
    activation: Activation
    parameters: Sequence[ComponentParameter]
    before: str = ""
    forbidden: Sequence[Forbidden] = ()
    objective: Objective = Objective()
    conflicts: Sequence[str] = ()
    context: Sequence[str] = ()
    verify: str = ""
    predicted: Mapping[str, object] = field(default_factory=dict)
    nodes: int | None = None
    tasks_per_node: int | None = None
    timeout_s: float = 86400.0
