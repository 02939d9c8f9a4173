# SPDX-License-Identifier: Apache-2.0
"""Data model of a component file of kind `application`; `docs/reference/components.md` explains every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reprise.tuner.model.space import Value


class Via(StrEnum):
    """Way in which a parameter is passed to the program."""

    ENVIRONMENT = "environment"  # an exported variable
    HINT = "hint"  # a line `NAME VALUE` of the hints file
    OPTION = "option"  # an option of sbatch
    DIRECTIVE = "directive"  # a word of a directive in the script
    COMMAND = "command"  # a word of a command at the top of the script
    ARGUMENT = "argument"  # a word among the batch script's arguments
    WRAPPER = "wrapper"  # a word in the command line of the program that runs the script


@dataclass(frozen=True)
class Activation:
    """Settings that switch the component on; they also apply to the runs of the default.

    `hints` is the variable for the path of the hints file. `hint_list` is the variable for a list of the hints
    themselves, which are separated by `hint_separator`.

    `preload` lists files to append to LD_PRELOAD. `library` is the name of one of Reprise's libraries. The plugin loads
    it into jobs; trials load it without the plugin.

    Parameters passed by directive or command are appended to the first of `directives` or `commands`. `checks` are
    lines that follow the commands and end a trial if its settings are not in effect; a user's script does not need
    them.
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
    """One parameter of a component, with its grid.

    `key` is the parameter's name in the campaign, and `name` its name in the program. `copies` are other variables that
    get the same value.

    `values` is the grid, in order; the default may lie outside it. The parameter is not set if its value is `unset`, or
    if it has no effect because another parameter has none of the values that `counts_when` requires of that parameter.
    If `at_most` is "nodes" or "tasks", values above the application's number of nodes or tasks are left out.
    """

    key: str
    name: str
    via: Via
    type: str
    default: Value
    values: Sequence[Value]
    scale: str  # kind of axis as in tuner.model.space.Parameter
    unset: Value | None = None
    flag: str = ""
    suffix: str = ""
    words: Mapping[bool, str] | None = None  # texts for true and false
    counts_when: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    at_most: str = ""
    copies: Sequence[str] = ()


@dataclass(frozen=True)
class Forbidden:
    """Combination of values that is not tried in a search.

    A point is forbidden if each parameter in `values` has one of the values listed there. If `operator` is set, a point
    is forbidden if the comparison `left operator right` is true, where `left` is a parameter's key, and `right` is a
    parameter's key or a number.
    """

    values: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    left: str = ""
    operator: str = ""
    right: str | float = ""


@dataclass(frozen=True)
class Part:
    """Term of an objective that is a weighted sum, such as the time spent reading.

    If `amount` is not 0, the number in the output is a rate, and the sum uses amount/rate.
    """

    name: str
    pattern: str
    take: str = "last"
    weight: float = 1.0
    amount: float = 0.0


@dataclass(frozen=True)
class Objective:
    """Quantity to optimize.

    The quantity is the run time unless one of the following is set: `pattern`, which finds a number in `file` ("" for
    standard output); `parts`, whose weighted sum is used; or `function` (as module.function), which is called with the
    trial's directory.
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
    """Content of a component file combined with a campaign's settings.

    `before` is a shell script to run before each trial. A job gets no settings if its user has set one of the variables
    in `conflicts` or one of the component's own variables. `context` lists the properties that must be the same in a
    job as in the trials: "nodes", "tasks_per_node", "processors", "memory". `verify` is "mpiio" if trials report which
    hints were in effect. `known_to` is "openmpi" if only parameters of the installed Open MPI are tried. Each of the
    `presets` sets several parameters, and is tried on an application as one change.
    `predicted` describes the models that predicted the campaign's only point; it is empty if the campaign searches.
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
    known_to: str = ""
    presets: Sequence[Mapping[str, Value]] = ()
    predicted: Mapping[str, object] = field(default_factory=dict)
    nodes: int | None = None
    tasks_per_node: int | None = None
    timeout_s: float = 86400.0
