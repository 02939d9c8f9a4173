# SPDX-License-Identifier: Apache-2.0
"""Possible next steps of a problem: the values that `tuner.steps.next_step` returns."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.database.entities import Measurement, Trial, TrialRole
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.space import Parametrization


@dataclass(frozen=True)
class ProblemResult:
    """Result of a problem: the default's mean before the search, why the search stopped, and the final comparison.

    `note` says why there is no comparison. `trials` is the number of trials that ended without being interrupted,
    `failed` the number of these without a value, and `pruned` the number of these that were stopped early.
    """

    problem: str
    default: Measurement
    stopped: str
    trials: int
    failed: int
    comparison: Comparison | None = None
    note: str = ""
    pruned: int = 0


@dataclass(frozen=True)
class Start:
    """Start a trial, which is stopped after `limit_s` seconds of run time (None: the campaign's limit).

    In a round, which measures several problems in one run, `limit_s` limits the objective of this problem only.
    """

    role: TrialRole
    point: Parametrization
    limit_s: float | None = None


@dataclass(frozen=True)
class Wait:
    """Wait: nothing can be started before a running trial has ended."""


@dataclass(frozen=True)
class Later:
    """The first session is over, and a second session compares the winner with the default again, later.

    `begun`: whether trials of the second session had already started before the campaign was resumed.
    """

    begun: bool


@dataclass(frozen=True)
class Done:
    """The problem is solved, with its result."""

    result: ProblemResult


@dataclass(frozen=True)
class Failed:
    """The campaign cannot succeed, because of this trial. `what` gives the reason, without the trial's error text."""

    what: str
    trial: Trial


@dataclass(frozen=True)
class Scarce:
    """The problem's share of the node-hours pays for `room` trials of the search, fewer than `wanted`.

    With fewer trials than `wanted`, the result of a search is a guess. `least`: node-seconds that the problem needs.
    `otherwise`: the problem's result if the campaign leaves the problem out.
    """

    room: int
    wanted: int
    least: float
    otherwise: ProblemResult


Step = Start | Wait | Later | Done | Failed | Scarce
