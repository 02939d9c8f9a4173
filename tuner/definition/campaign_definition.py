# SPDX-License-Identifier: Apache-2.0
"""What an admin writes to have something tuned: the campaign file, checked. `docs/campaigns.md` explains it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from reprise.config import AbsolutePath, Section, first_problem
from reprise.database.entities import Scope
from reprise.tuner import noise, search
from reprise.tuner.definition import pruning, yaml_text
from reprise.tuner.definition.schedule import DAYS, Hours
from reprise.tuner.errors import TunerError
from reprise.tuner.model.method_settings import one_of
from reprise.tuner.model.space import Parametrization, Space
from reprise.tuner.search.initial_design import DESIGNS
from reprise.tuner.search.search_method import Search
from reprise.tuner.search.stop_rules import Progress, StopRule, rules_of

NAME_LETTERS = r"\w.,@+ /-"
"""What a campaign's name may hold, as in brackets of a regular expression."""
LONGEST_NAME = 100
ExecutorKind = Literal["allocation", "slurm", "local", "replay"]
# What sbatch reads from a script's #SBATCH lines and from its command line alike: no blanks, quotes or comments.
Option = Annotated[str, StringConstraints(pattern=r"^--?[A-Za-z][\w-]*(=[^\s'\"\\#]+)?$")]


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as the database keeps them, so that a resumed campaign gets what the first run got."""
    try:
        if json.loads(json.dumps(settings, allow_nan=False)) == settings:
            return settings
    except (TypeError, ValueError, RecursionError):
        pass
    raise ValueError("may hold texts, finite numbers, booleans, lists and mappings (dates in quotes), and no loops")


def _a_name_of(names: Collection[str]) -> AfterValidator:
    return AfterValidator(lambda name: one_of(names, name))


def _told(names: Collection[str]) -> WithJsonSchema:
    """For who lists what a setting may be."""
    return WithJsonSchema({"type": "string", "enum": list(names)})


def _of_letters(pattern: str, words: str) -> AfterValidator:
    """A name, and what it may hold in words for who wrote another."""

    def check(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise ValueError(f"may hold {words}")
        return name

    return AfterValidator(check)


def _rules(value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if value:
        rules_of(value)
    return value


def _off(value: object) -> object:
    return "off" if value is False else value  # what YAML makes of the word without quotes


def _hours(value: str) -> str:
    Hours.parse(value)
    return value


Word = Annotated[str, _of_letters(r"[\w.@,:+\[\]-]+", "letters, digits and . @ , : + [ ] _ -")]


class CampaignError(TunerError):
    """A campaign's definition cannot be used; the message names the file, the setting, the cause and the remedy."""


class Application(Section):
    """The job that is tuned for: jobs like it get what the campaign finds."""

    script: AbsolutePath = Field(description="the batch script that the user submits")
    user: str = Field(min_length=1, description="the user who submits it")
    directory: AbsolutePath | None = Field(None, description="where it is submitted; the script's directory if absent")
    options: list[str] = Field(default_factory=list, description="options of sbatch, as the user gives them")


class SearchSection(Section):
    """How points are chosen, and when that ends."""

    method: Annotated[str, _a_name_of(search.METHODS), _told(search.METHODS)] = Field(
        "gp-ei", description="how each point is chosen"
    )
    initial: int = Field(10, ge=1, description="points of the initial design")
    design: Annotated[str, _a_name_of(DESIGNS), _told(DESIGNS)] = Field(
        "hybrid", description="how the points of the initial design are drawn"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="of the method"
    )
    budget: int = Field(150, ge=1, description="trials of the search at most, for each problem")
    window: int = Field(15, ge=0, description="trials that must bring an improvement; 0: only the budget counts")
    improvement: float = Field(0.01, ge=0, lt=1, description="the least improvement, relative")
    stop: Annotated[list[dict[str, Any]], AfterValidator(_rules)] = Field(
        default_factory=list, description="more rules, any of which ends the search"
    )
    seed: int = Field(1, ge=0, description="same seed, same campaign")
    warm_start: Annotated[Literal["off", "records"], BeforeValidator(_off)] = Field(
        "off", description="records: what was best for the nearest tuned jobs is tried first"
    )
    warm_start_score: float | None = Field(
        None, ge=0, le=1, description="the least score of these; the matcher's threshold if absent"
    )

    @model_validator(mode="after")
    def _known(self) -> SearchSection:
        search.settings_of(self.method, self.settings)
        return self

    def new(self, space: Space, seed: int, first: Sequence[Parametrization] = (), *, designed: bool = True) -> Search:
        """A search of this kind that was told nothing yet; it opens with `first`, then with the initial design where it
        is `designed`."""
        settings = search.settings_of(self.method, self.settings)
        return search.build(self.method, space, seed, self.initial if designed else 0, self.design, first, settings)

    def reached(self, progress: Progress) -> str:
        """Why to stop, in one line, the budget aside; empty while the search should go on."""
        why = self.stop_rule().reached(progress.values)
        return why or (rules_of(self.stop).reached(progress) if self.stop else "")

    def stop_rule(self) -> StopRule:
        """An exhaustive search is stopped by its budget only."""
        window = 0 if self.method == "exhaustive" else self.window
        return StopRule(self.initial, self.budget, window, self.improvement)


class NoiseSection(Section):
    """Which points are measured again, and which one is the best."""

    policy: Annotated[str, _a_name_of(noise.POLICIES), _told(noise.POLICIES)] = Field(
        noise.DEFAULT, description="when a point is run again; none: never"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="of the policy"
    )

    @model_validator(mode="after")
    def _known(self) -> NoiseSection:
        noise.settings_of(self.policy, self.settings)
        return self


class PruningSection(Section):
    """When a trial of the search that runs too long is stopped."""

    policy: Annotated[str, _a_name_of(pruning.POLICIES), _told(pruning.POLICIES)] = Field(
        "none", description="what its limit is reckoned from; none: there is only `executor.max_trial_s`"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="of the policy"
    )

    @model_validator(mode="after")
    def _known(self) -> PruningSection:
        pruning.settings_of(self.policy, self.settings)
        return self


class Budget(Section):
    """What the campaign may cost."""

    node_hours: float | None = Field(None, gt=0, description="run time of trials times their nodes, in hours")


class Repetitions(Section):
    """How often the default and the winner are measured."""

    default_runs: int = Field(5, ge=1, description="runs of the default, before the search")
    final_pairs: int = Field(10, ge=2, description="pairs of default and winner, after the search")
    more_pairs: int = Field(0, ge=0, description="as many more where noise leaves it open, or for the runner-up")
    confirm_pairs: int = Field(
        0, ge=0, description="of default and winner in a second session, other jobs at a later time; 0: there is none"
    )
    confirm_after_s: float = Field(600.0, ge=0, description="how much later the second session begins, in seconds")

    @field_validator("confirm_pairs")
    @classmethod
    def _enough(cls, pairs: int) -> int:
        if pairs == 1:
            raise ValueError("a gain needs two pairs at least: write 2 or more, or 0 for no second session")
        return pairs


class ExecutorSection(Section):
    """Where trials run."""

    kind: ExecutorKind = Field(
        "allocation",
        description="allocation: one job holds the nodes, and trials are its steps; slurm: a job for each trial; "
        "local: no Slurm at all; replay: a recorded landscape",
    )
    parallel: int = Field(1, ge=1, le=1000, description="trials at once")
    queue: int | None = Field(None, ge=1, description="trials that wait for nodes at once; all, if absent")
    back_off_s: float = Field(600.0, ge=0, description="longest pause while others wait for nodes; 0: none at all")
    hours: Annotated[str, AfterValidator(_hours)] | None = Field(None, description="when trials may start")
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] | None = Field(
        None, min_length=1, description="on which these hours begin; every day if absent"
    )
    partition: Word | None = Field(None, description="of the jobs; Slurm's default if absent")
    account: Word | None = Field(None, description="of the jobs; the user's default if absent")
    reservation: Word | None = Field(None, description="in which the jobs run")
    time_limit: Word | None = Field(None, description="of the allocation, in Slurm's words, e.g. 2:00:00")
    max_trial_s: float = Field(600.0, gt=0, description="seconds after which any trial is stopped")
    launcher: Literal["srun", "mpirun"] = Field("srun", description="what starts the ranks of a trial")
    mpi: Word = Field("pmix", description="srun's MPI plugin; `srun --mpi=list` shows them")
    options: list[Option] = Field(default_factory=list, description="more options of sbatch, e.g. --exclusive")

    @model_validator(mode="after")
    def _one_after_the_other(self) -> ExecutorSection:
        if self.kind == "allocation" and self.parallel > 1:
            raise ValueError("`kind: allocation` runs one trial after the other: leave out `parallel`, or set `slurm`")
        return self

    def window(self) -> Hours | None:
        """The hours in which trials may start; None: always."""
        if self.hours is None and self.days is None:
            return None
        return Hours.parse(self.hours or "00:00-24:00", self.days or DAYS)

    def sbatch_options(self) -> list[str]:
        named = {"partition": self.partition, "account": self.account, "reservation": self.reservation}
        if self.kind == "allocation":  # a job per trial has the trial's own limit
            named["time"] = self.time_limit
        return [f"--{name}={value}" for name, value in named.items() if value] + self.options


class Definition(BaseModel):
    """A campaign file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str,
        _of_letters(
            rf"[{NAME_LETTERS}]{{1,{LONGEST_NAME}}}",
            f"1 to {LONGEST_NAME} letters, digits, blanks and . , @ + / _ -",
        ),
    ] = Field(description="of the campaign, in lists and reports")
    component: Annotated[str, _of_letters(r"[\w.-]+", "letters, digits and . _ -")] = Field(
        description="a file NAME.yaml in the directory of components"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="for the component"
    )
    scope: Scope = Field(Scope.APPLICATION, description="cluster: for any job on this machine that the record covers")
    application: Application | None = None
    search: SearchSection = SearchSection()
    noise: NoiseSection = NoiseSection()
    pruning: PruningSection = PruningSection()
    budget: Budget = Budget()
    repetitions: Repetitions = Repetitions()
    executor: ExecutorSection = ExecutorSection()

    @model_validator(mode="after")
    def _whom_it_is_for(self) -> Definition:
        if self.scope is Scope.APPLICATION and self.application is None:
            raise ValueError("no application is given: name its script and user, or set `scope: cluster`")
        if self.scope is Scope.CLUSTER and self.application is not None:
            raise ValueError("`scope: cluster` is for every job: leave out the application, or the scope")
        if self.scope is Scope.CLUSTER and self.search.warm_start == "records":
            raise ValueError(
                "`warm_start: records` looks for jobs like the application, and there is none: leave it out"
            )
        return self


def load(path: Path) -> Definition:
    """Read and check a campaign file. Raises CampaignError with one line."""
    return check(read_mapping(path), str(path))


def check(data: Any, where: str) -> Definition:
    """Check what a campaign file holds; `where` names it in errors."""
    try:
        return Definition.model_validate(data)
    except ValidationError as error:
        raise CampaignError(f"{where}: {first_problem(error, Definition)}") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds. Raises CampaignError with one line."""
    try:
        data = yaml_text.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read ({error.strerror}): check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except yaml_text.NotYamlError as error:
        raise CampaignError(f"{path}: is not valid YAML{error}") from error
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise CampaignError(f"{path}: is no mapping of names to values: begin with a line like `name: my-campaign`")
    return data
