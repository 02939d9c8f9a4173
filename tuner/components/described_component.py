# SPDX-License-Identifier: Apache-2.0
"""Content of a component file of kind `application`, as values. `docs/reference/components.md` explains every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reprise.tuner.model.space import Value


class Via(StrEnum):
    """Way in which a parameter reaches the program."""

    ENVIRONMENT = "environment"  # an exported variable
    HINT = "hint"  # a line `NAME VALUE` of the hints file
    OPTION = "option"  # an option of sbatch
    DIRECTIVE = "directive"  # a word of the script directive
    COMMAND = "command"  # a word of the command at the script's top
    ARGUMENT = "argument"  # a word among the batch script's arguments
    WRAPPER = "wrapper"  # a word of the program that runs the script


@dataclass(frozen=True)
class Activation:
    """Settings that switch the component on, in the reference run as well.

    `hints` is the variable that names the hints file, `hint_list` the one that holds the hints, with `hint_separator`
    between them.

    `preload` are files. `library` names one that jobs receive with the environment, and that trials load themselves.

    Parameters passed by a directive or a command are appended to the first of them. `checks` are lines after the
    commands that end a trial if its settings are not in effect; users need not add them to a script.
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
    """One parameter.

    `key` is its name in the campaign, `name` its name in the program. `copies` are other variables with its value.

    `values` is its grid, in order; the default may lie outside it. The parameter is left out at the value `unset`, and
    if it does not count: `counts_when` holds the values that other parameters must have. With `at_most` "nodes" or
    "tasks", values over the application's number are left out.
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
    words: Mapping[bool, str] | None = None  # the words for true and false
    counts_when: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    at_most: str = ""
    copies: Sequence[str] = ()


@dataclass(frozen=True)
class Forbidden:
    """Combination that is not tried: all of `values` are met, or `left` `operator` `right` holds.

    `right` is a parameter's key or a number.
    """

    values: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    left: str = ""
    operator: str = ""
    right: str | float = ""


@dataclass(frozen=True)
class Part:
    """One number of an objective that is a weighted sum, e.g. the time of reading.

    If `amount` is not 0, the number in the output is a rate, and the sum takes amount/rate.
    """

    name: str
    pattern: str
    take: str = "last"
    weight: float = 1.0
    amount: float = 0.0


@dataclass(frozen=True)
class Objective:
    """Quantity to optimize.

    It is the run time, or the number that `pattern` finds in `file` ("" is standard output), or the weighted sum of
    `parts`, or the result of `function` (module.function) for the trial's directory.
    """

    pattern: str = ""
    file: str = ""
    take: str = "last"
    function: str = ""
    unit: str = "s"
    maximize: bool = False
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Description:
    """Component file combined with a campaign's settings. `before` is shell to run before each trial.

    A job gets no settings if its user has set one of the variables in `conflicts`, or one of the component's.
    `context` lists the facts that a job must share with a record: "nodes", "tasks_per_node", "processors", "memory".
    `verify` is "mpiio" if trials report which hints were in effect. `predicted` describes the models that predicted the
    campaign's only point; it is empty if the campaign searches.
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
