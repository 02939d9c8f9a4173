# SPDX-License-Identifier: Apache-2.0
"""What a campaign has done, trial by trial, in the database: written before it is done, read after an interruption.

A campaign is a program whose every step follows from its definition, its seed and the results so far. So an interrupted
campaign is resumed by running that program again from its beginning, with the journal answering for the trials that
have a result.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator

from database.facade import Database
from database.model import Trial, TrialRole, TrialState
from tuner.component import Sample
from tuner.errors import TunerError
from tuner.space import Parametrization

OPEN = frozenset((TrialState.PLANNED, TrialState.RUNNING))


class Journal:
    """The trials of one campaign. Times are Unix seconds of `clock`."""

    def __init__(self, database: Database, campaign_id: int, clock: Callable[[], float]) -> None:
        self._database = database
        self._campaign_id = campaign_id
        self._clock = clock
        self._next: dict[str, int] = defaultdict(int)
        recorded: dict[str, list[Trial]] = defaultdict(list)
        for trial in database.trials(campaign_id):
            recorded[trial.problem].append(trial)
        self._recorded: dict[str, Iterator[Trial]] = {key: iter(trials) for key, trials in recorded.items()}

    def next(self, problem: str, role: TrialRole, parametrization: Parametrization) -> Trial:
        """The campaign's next trial of a problem: as recorded, with its result or still open, or newly planned.

        Raises TunerError where the record tells of another trial.
        """
        number = self._next[problem]
        self._next[problem] += 1
        recorded = next(self._recorded.get(problem, iter(())), None)
        if recorded is None:
            trial = Trial(self._campaign_id, problem, number, role, dict(parametrization))
            return dataclasses.replace(trial, id=self._database.add_trial(trial))
        if (recorded.number, recorded.role, recorded.parametrization) != (number, role, dict(parametrization)):
            raise TunerError(
                f"campaign {self._campaign_id} cannot be resumed: its trial {number} of {problem} would be another one "
                "now (the component or Reprise has changed since): start a new campaign"
            )
        return recorded

    def started(self, trial: Trial, job_id: int | None) -> Trial:
        """A trial that runs from now on."""
        return self._write(
            dataclasses.replace(trial, state=TrialState.RUNNING, slurm_job_id=job_id, started_at=self._clock())
        )

    def ended(self, trial: Trial, state: TrialState, sample: Sample | None, message: str) -> Trial:
        """A trial with its final state."""
        ended = dataclasses.replace(trial, state=state, message=message, ended_at=self._clock())
        if sample:
            ended = dataclasses.replace(ended, value=sample.value, samples=tuple(sample.samples), unit=sample.unit)
        return self._write(ended)

    def _write(self, trial: Trial) -> Trial:
        self._database.update_trial(trial)
        return trial
