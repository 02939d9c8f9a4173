# SPDX-License-Identifier: Apache-2.0
"""Record a campaign's trials in the database, from which a resumed campaign reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from reprise.database.entities import Trial, TrialRole, TrialState
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Problem, Sample
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.trial_rows import OPEN
from reprise.tuner.search import grid_points

HEARTBEAT_S = 10.0  # seconds between a coordinator's heartbeats in the database


class Journal:
    """Trials of one campaign, as stored in the database. Times are in Unix seconds, from `clock`."""

    def __init__(self, database: TunerDatabase, campaign_id: int, clock: Callable[[], float]) -> None:
        self._database = database
        self._campaign_id = campaign_id
        self._clock = clock
        self._rows = {trial.id: trial for trial in database.trials(campaign_id)}
        self._beat_at: float | None = None

    def now(self) -> float:
        """Return the current time in Unix seconds, by the clock that also gives the times of trials."""
        return self._clock()

    def rows(self, problem: str | None = None) -> Sequence[Trial]:
        """Return the campaign's trials, or those of one problem, in the order in which they were planned."""
        return [trial for trial in self._rows.values() if problem in (None, trial.problem)]

    def check(self, problems: Sequence[Problem]) -> None:
        """Raise TunerError if a trial has none of these problems, or is neither at a grid point nor at the default."""
        known = {one.key: one for one in problems}
        for row in self._rows.values():
            if row.problem not in known or not _is_point(known[row.problem], row.parametrization):
                raise TunerError(
                    f"campaign {self._campaign_id} cannot be resumed: its trial {row.number} of {row.problem} is not "
                    "in the current search space (the component or Reprise has changed): start a new campaign"
                )

    def plan(
        self, problem: str, role: TrialRole, parametrization: Parametrization, limit_s: float | None = None
    ) -> Trial:
        """Add a new trial, which has not started, and return the trial."""
        number = len(self.rows(problem))
        trial = Trial(self._campaign_id, problem, number, role, dict(parametrization), limit_s=limit_s)
        trial = dataclasses.replace(trial, id=self._database.add_trial(trial))
        self._rows[trial.id] = trial
        return trial

    def again(self, trial: Trial) -> Trial:
        """Plan the next attempt of a trial that was lost, and return the trial."""
        return self._write(dataclasses.replace(trial, state=TrialState.PLANNED, attempt=trial.attempt + 1))

    def started(self, trial: Trial, job_id: int | None, nodes: int) -> Trial:
        """Store that a trial has been started; it runs, or waits for nodes."""
        now = self._clock()
        return self._write(
            dataclasses.replace(trial, state=TrialState.RUNNING, slurm_job_id=job_id, started_at=now, nodes=nodes)
        )

    def ended(self, trial: Trial, sample: Sample | None) -> Trial:
        """Store a trial that has ended, with its final state and with its sample if it has one."""
        if trial.state in OPEN:
            raise ValueError(f"trial {trial.id} has not ended: this is a defect in the caller")
        last = max((row.ordinal or 0 for row in self._rows.values()), default=0)
        ended = dataclasses.replace(trial, ended_at=self._clock(), ordinal=last + 1)
        if sample:
            ended = dataclasses.replace(
                ended,
                value=sample.value,
                samples=tuple(sample.samples),
                unit=sample.unit,
                metrics=dict(sample.metrics),
            )
        return self._write(ended)

    def beat(self, monotonic: float) -> None:
        """Store a heartbeat, at most every HEARTBEAT_S seconds; `monotonic` is the current time in seconds."""
        if self._beat_at is None or monotonic >= self._beat_at + HEARTBEAT_S:
            self._database.campaign_lives(self._campaign_id, self._clock())
            self._beat_at = monotonic

    def _write(self, trial: Trial) -> Trial:
        self._database.update_trial(trial)
        self._rows[trial.id] = trial
        return trial


def _is_point(problem: Problem, point: Parametrization) -> bool:
    """Return whether a point is on a problem's grid or is the problem's default."""
    space = problem.space
    try:
        return grid_points.holds(space, point) or space.key(point) == space.key(problem.default)
    except (KeyError, TypeError):
        return False
