# SPDX-License-Identifier: Apache-2.0
"""Content and checks of a campaign file, in which an admin describes what to tune (docs/reference/campaign-file.md)."""

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
"""Characters allowed in a campaign's name, as a character class of a regular expression (without its brackets)."""
LONGEST_NAME = 100
ExecutorKind = Literal["allocation", "slurm", "local", "replay"]
# An option that sbatch reads in the same way from a #SBATCH line and from its command line: no blanks, quotes or
# comments.
Option = Annotated[str, StringConstraints(pattern=r"^--?[A-Za-z][\w-]*(=[^\s'\"\\#]+)?$")]


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings if the database can store them exactly, so that a resumed campaign has the same settings."""
    try:
        if json.loads(json.dumps(settings, allow_nan=False)) == settings:
            return settings
    except (TypeError, ValueError, RecursionError):
        pass
    raise ValueError(
        "may contain only strings, finite numbers, booleans, lists and mappings, without loops: quote dates"
    )


def _a_name_of(names: Collection[str]) -> AfterValidator:
    return AfterValidator(lambda name: one_of(names, name))


def _choices(names: Collection[str]) -> WithJsonSchema:
    """Return a JSON schema that lists the allowed values of a setting."""
    return WithJsonSchema({"type": "string", "enum": list(names)})


def _of_letters(pattern: str, words: str) -> AfterValidator:
    """Return a validator that matches a name against `pattern`; `words` describes the allowed characters in errors."""

    def check(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise ValueError(f"must consist of {words}")
        return name

    return AfterValidator(check)


def _rules(value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if value:
        rules_of(value)
    return value


def _off(value: object) -> object:
    return "off" if value is False else value  # YAML reads an unquoted `off` as false


def _hours(value: str) -> str:
    Hours.parse(value)
    return value


Word = Annotated[str, _of_letters(r"[\w.@,:+\[\]-]+", "letters, digits and . @ , : + [ ] _ -")]


class CampaignError(TunerError):
    """A campaign's definition is invalid; the message names the file, the setting, the cause and the remedy."""


class Application(Section):
    """The job to tune. Similar jobs get the settings that the campaign finds."""

    script: AbsolutePath = Field(description="batch script that the user submits")
    user: str = Field(min_length=1, description="user who submits it")
    directory: AbsolutePath | None = Field(
        None, description="directory of submission; the script's directory if absent"
    )
    options: list[str] = Field(default_factory=list, description="options that the user passes to sbatch")


class SearchSection(Section):
    """Settings of the search: how it chooses points, and when it ends."""

    method: Annotated[str, _a_name_of(search.METHODS), _choices(search.METHODS)] = Field(
        "gp-ei", description="method that chooses the points"
    )
    initial: int = Field(10, ge=1, description="points of the initial design")
    design: Annotated[str, _a_name_of(DESIGNS), _choices(DESIGNS)] = Field(
        "hybrid", description="method that draws the points of the initial design"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="settings of the method"
    )
    budget: int = Field(150, ge=1, description="maximum number of trials of the search for each problem")
    window: int = Field(
        15, ge=0, description="trials without improvement that end the search; 0: only the budget ends it"
    )
    improvement: float = Field(0.01, ge=0, lt=1, description="smallest relative improvement that counts")
    stop: Annotated[list[dict[str, Any]], AfterValidator(_rules)] = Field(
        default_factory=list, description="further stop rules; any of them ends the search"
    )
    seed: int = Field(1, ge=0, description="seed; the same seed repeats a campaign")
    warm_start: Annotated[Literal["off", "records"], BeforeValidator(_off)] = Field(
        "off", description="records: first try the best settings of the most similar tuned jobs"
    )
    warm_start_score: float | None = Field(
        None, ge=0, le=1, description="minimum score of these jobs; the matcher's threshold if absent"
    )

    @model_validator(mode="after")
    def _known(self) -> SearchSection:
        search.settings_of(self.method, self.settings)
        return self

    def new(self, space: Space, seed: int, first: Sequence[Parametrization] = (), *, designed: bool = True) -> Search:
        """Return a new search with these settings. It tries `first`, then the initial design if `designed`."""
        settings = search.settings_of(self.method, self.settings)
        return search.build(self.method, space, seed, self.initial if designed else 0, self.design, first, settings)

    def reached(self, progress: Progress) -> str:
        """Return, in one line, the reason why the search should end; "" if it should continue."""
        why = self.stop_rule().reached(progress.values)
        return why or (rules_of(self.stop).reached(progress) if self.stop else "")

    def stop_rule(self) -> StopRule:
        """Return the rule given by `budget`, `window` and `improvement`; an exhaustive search uses only the budget."""
        window = 0 if self.method == "exhaustive" else self.window
        return StopRule(self.initial, self.budget, window, self.improvement)


class NoiseSection(Section):
    """Settings for noise: which points to measure again, and which point is the best."""

    policy: Annotated[str, _a_name_of(noise.POLICIES), _choices(noise.POLICIES)] = Field(
        noise.DEFAULT, description="policy for repeating a point; none: never repeat"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="settings of the policy"
    )

    @model_validator(mode="after")
    def _known(self) -> NoiseSection:
        noise.settings_of(self.policy, self.settings)
        return self


class PruningSection(Section):
    """Settings of pruning: when to stop a trial of the search that runs too long."""

    policy: Annotated[str, _a_name_of(pruning.POLICIES), _choices(pruning.POLICIES)] = Field(
        "none", description="policy that sets the limit; none: only `executor.max_trial_s` applies"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="settings of the policy"
    )

    @model_validator(mode="after")
    def _known(self) -> PruningSection:
        pruning.settings_of(self.policy, self.settings)
        return self


class Budget(Section):
    """Settings of the budget, which limits the campaign's cost."""

    node_hours: float | None = Field(
        None, gt=0, description="limit of the trials' run time times their nodes, in hours"
    )


class Repetitions(Section):
    """Settings of repetitions: numbers of measurements of the default and the winner."""

    default_runs: int = Field(5, ge=1, description="runs of the default before the search")
    final_pairs: int = Field(10, ge=2, description="pairs of default and winner after the search")
    more_pairs: int = Field(
        0, ge=0, description="additional pairs if noise leaves the result open, or for the runner-up"
    )
    confirm_pairs: int = Field(
        0, ge=0, description="pairs in a second session, in new jobs at a later time; 0: no second session"
    )
    confirm_after_s: float = Field(600.0, ge=0, description="seconds until the second session begins")

    @field_validator("confirm_pairs")
    @classmethod
    def _enough(cls, pairs: int) -> int:
        if pairs == 1:
            raise ValueError("a gain needs at least two pairs: set 2 or more, or 0 for no second session")
        return pairs


class ExecutorSection(Section):
    """Settings of the executor, which runs the trials."""

    kind: ExecutorKind = Field(
        "allocation",
        description="allocation: one job holds the nodes, and trials are its steps; slurm: a job for each trial; "
        "local: without Slurm; replay: a recorded landscape",
    )
    parallel: int = Field(1, ge=1, le=1000, description="trials to run at the same time")
    queue: int | None = Field(
        None, ge=1, description="maximum number of trials that wait for nodes at a time; no limit if absent"
    )
    back_off_s: float = Field(600.0, ge=0, description="longest pause while others wait for nodes; 0: no pauses")
    hours: Annotated[str, AfterValidator(_hours)] | None = Field(None, description="hours in which trials may start")
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] | None = Field(
        None, min_length=1, description="days on which these hours begin; every day if absent"
    )
    partition: Word | None = Field(None, description="Slurm partition of the jobs; Slurm's default if absent")
    account: Word | None = Field(None, description="Slurm account of the jobs; the user's default if absent")
    reservation: Word | None = Field(None, description="Slurm reservation of the jobs")
    time_limit: Word | None = Field(None, description="time limit of the allocation in Slurm's format, e.g. 2:00:00")
    max_trial_s: float = Field(600.0, gt=0, description="time limit of any trial, in seconds")
    launcher: Literal["srun", "mpirun", "hydra"] = Field("srun", description="command that starts the ranks of a trial")
    mpi: Word = Field("pmix", description="srun's MPI plugin; `srun --mpi=list` shows all plugins")
    options: list[Option] = Field(default_factory=list, description="further options of sbatch, e.g. --exclusive")

    @model_validator(mode="after")
    def _one_after_the_other(self) -> ExecutorSection:
        if self.kind == "allocation" and self.parallel > 1:
            raise ValueError("`kind: allocation` runs one trial at a time: leave out `parallel`, or set `kind: slurm`")
        return self

    def window(self) -> Hours | None:
        """Return the hours in which trials may start, or None if they may start at any time."""
        if self.hours is None and self.days is None:
            return None
        return Hours.parse(self.hours or "00:00-24:00", self.days or DAYS)

    def sbatch_options(self) -> list[str]:
        """Return the options of sbatch for the campaign's jobs."""
        named = {"partition": self.partition, "account": self.account, "reservation": self.reservation}
        if self.kind == "allocation":  # with other kinds, each job has its own trial's limit
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
    ] = Field(description="name of the campaign, in lists and reports")
    component: Annotated[str, _of_letters(r"[\w.-]+", "letters, digits and . _ -")] = Field(
        description="component to tune: NAME of a file NAME.yaml in the directory of components"
    )
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="settings of the component"
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
            raise ValueError("there is no application: give its script and user, or set `scope: cluster`")
        if self.scope is Scope.CLUSTER and self.application is not None:
            raise ValueError("`scope: cluster` applies to every job: leave out the application, or the scope")
        if self.scope is Scope.CLUSTER and self.search.warm_start == "records":
            raise ValueError(
                "`warm_start: records` looks for jobs similar to the application, but there is none: leave it out"
            )
        return self


def load(path: Path) -> Definition:
    """Read and check a campaign file. Raise CampaignError with one line if it is invalid."""
    return check(read_mapping(path), str(path))


def check(data: Any, where: str) -> Definition:
    """Return the checked content of a campaign file; `where` names the file in errors."""
    try:
        return Definition.model_validate(data)
    except ValidationError as error:
        raise CampaignError(f"{where}: {first_problem(error, Definition)}") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file. Raise CampaignError with one line if the file has none."""
    try:
        data = yaml_text.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read ({error.strerror}): check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except yaml_text.NotYamlError as error:
        raise CampaignError(f"{path}: not valid YAML{error}") from error
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise CampaignError(f"{path}: not a mapping of names to values: begin with a line like `name: my-campaign`")
    return data
