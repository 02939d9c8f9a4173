# SPDX-License-Identifier: Apache-2.0
"""Component that replays a landscape, to test searches, noise policies and stop rules without a machine.

Its plans are for the executor `replay`, which reads the results from the landscape's file. Campaigns with this
component never create a record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.config import AbsolutePath, Config, first_problem
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Comparison, Problem, Publication, Runner, Sample, TrialOutput, TrialPlan
from reprise.tuner.model.landscape import Landscape, load
from reprise.tuner.model.space import Parametrization

PROGRAM = "replay"  # first element of argv, instead of a program; the landscape's file and the point as JSON follow
NEVER_S = 1e6


class Settings(BaseModel):
    """The component's settings in a campaign file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: AbsolutePath


class LandscapeComponent:
    """A component with one problem, whose search space is that of the landscape."""

    def __init__(self, name: str, version: str, file: Path) -> None:
        self.name = name
        self.version = version
        self._file = file
        self._landscape: Landscape = load(file)

    def context(self) -> Mapping[str, object]:
        """Return a context with the landscape's name."""
        return {"landscape": self._landscape.name}

    def problems(self) -> Sequence[Problem]:
        """Return the landscape's only problem."""
        return [Problem(self._landscape.name, self._landscape.space, self._landscape.default)]

    def plan(self, problem: str, parametrization: Parametrization) -> TrialPlan:
        """Return a plan for the executor `replay`."""
        point = json.dumps(dict(parametrization), sort_keys=True)
        return TrialPlan((PROGRAM, str(self._file), point), 1, 1, timeout_s=NEVER_S)

    def read(self, problem: str, output: TrialOutput) -> Sample:
        """Read the run time from the output. Raise ObjectiveError if there is none."""
        if output.elapsed_s <= 0:
            raise ObjectiveError("the output contains no run time: run the campaign with `executor.kind: replay`")
        return Sample(output.elapsed_s, (), self._landscape.unit)

    def publish(self, comparisons: Sequence[Comparison], run: Runner, artifacts: Path) -> Sequence[Publication]:
        """Return no publication: a landscape never gives a record."""
        return []


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], _: Config) -> LandscapeComponent:
    """Return the component. Raise TunerError if the settings or the file are invalid."""
    try:
        file = Settings.model_validate(dict(settings)).file
    except ValidationError as error:
        raise TunerError(f"settings: {first_problem(error, Settings)}") from error
    return LandscapeComponent(definition["name"], definition["version"], file)
