# SPDX-License-Identifier: Apache-2.0
"""What an admin writes to have something tuned: the campaign file, checked. `docs/campaigns.md` explains it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from database.model import Scope
from reprise.config import AbsolutePath, Section, first_problem
from tuner.errors import TunerError
from tuner.search.stopping import StopRule

Word = Annotated[str, StringConstraints(pattern=r"^[\w.@,:+\[\]-]+$")]
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

    method: Literal["gp-ei", "random", "exhaustive"] = "gp-ei"
    initial: int = Field(10, ge=1, description="points of the initial design")
    budget: int = Field(150, ge=1, description="trials of the search at most, for each problem")
    window: int = Field(15, ge=0, description="trials that must bring an improvement; 0: only the budget counts")
    improvement: float = Field(0.01, ge=0, lt=1, description="the least improvement, relative")
    seed: int = Field(1, ge=0, description="same seed, same campaign")

    def stop_rule(self) -> StopRule:
        """An exhaustive search is stopped by its budget only."""
        window = 0 if self.method == "exhaustive" else self.window
        return StopRule(self.initial, self.budget, window, self.improvement)


class Repetitions(Section):
    """How often the default and the winner are measured."""

    default_runs: int = Field(5, ge=1, description="runs of the default, before the search")
    final_pairs: int = Field(10, ge=2, description="pairs of default and winner, after the search")


class ExecutorSection(Section):
    """Where trials run."""

    kind: Literal["allocation", "slurm", "local"] = "allocation"
    partition: Word | None = None
    account: Word | None = None
    reservation: Word | None = None
    time_limit: Word | None = Field(None, description="of the allocation, in Slurm's words, e.g. 2:00:00")
    max_trial_s: float = Field(600.0, gt=0, description="seconds after which any trial is stopped")
    launcher: Literal["srun", "mpirun"] = "srun"
    mpi: Word = Field("pmix", description="srun's MPI plugin; `srun --mpi=list` shows them")
    options: list[Option] = Field(default_factory=list, description="more options of sbatch, e.g. --exclusive")

    def sbatch_options(self) -> list[str]:
        named = {"partition": self.partition, "account": self.account, "reservation": self.reservation}
        if self.kind == "allocation":  # a job per trial has the trial's own limit
            named["time"] = self.time_limit
        return [f"--{name}={value}" for name, value in named.items() if value] + self.options


class Definition(BaseModel):
    """A campaign file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100, pattern=r"^[\w.@+ /-]+$")
    component: str = Field(pattern=r"^[\w.-]+$", description="a file NAME.yaml in the directory of components")
    settings: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        default_factory=dict, description="for the component"
    )
    scope: Scope = Field(Scope.APPLICATION, description="cluster: for any job on this machine that the record covers")
    application: Application | None = None
    search: SearchSection = SearchSection()
    repetitions: Repetitions = Repetitions()
    executor: ExecutorSection = ExecutorSection()

    @model_validator(mode="after")
    def _whom_it_is_for(self) -> Definition:
        if self.scope is Scope.APPLICATION and self.application is None:
            raise ValueError("no application is given: name its script and user, or set `scope: cluster`")
        if self.scope is Scope.CLUSTER and self.application is not None:
            raise ValueError("`scope: cluster` is for every job: leave out the application, or the scope")
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
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read ({error.strerror}): check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        words = getattr(error, "problem", None) or "it cannot be parsed"
        raise CampaignError(f"{path}: is not valid YAML{line} ({words}): correct that line") from error
    except (ValueError, RecursionError) as error:  # a date that is none, an alias within its own anchor
        raise CampaignError(f"{path}: is not valid YAML ({error}): correct it") from error
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise CampaignError(f"{path}: is no mapping of names to values: begin with a line like `name: my-campaign`")
    return data
