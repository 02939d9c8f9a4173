# SPDX-License-Identifier: Apache-2.0
"""What a campaign may do next for a problem: the values that `tuner.steps.next_step` answers with."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.database.entities import Measurement, Trial, TrialRole
from reprise.tuner.model.component import Comparison
from reprise.tuner.model.space import Parametrization


@dataclass(frozen=True)
class ProblemResult:
    """What came of a problem: the default before the search, why the search stopped, and the final comparison.

    `note` says why there is no comparison. `trials` counts all that ended by themselves, `failed` those without a
    value, `pruned` those that were stopped early.
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
    """Start a trial, to be stopped after `limit_s` of run time; None: the campaign's own limit.

    Of a problem that is in a round, `limit_s` is the objective's, and the rest of the run goes on.
    """

    role: TrialRole
    point: Parametrization
    limit_s: float | None = None


@dataclass(frozen=True)
class Wait:
    """Nothing can be started before something that runs has ended."""


@dataclass(frozen=True)
class Later:
    """The winner is to be compared in a second session. `begun`: some of its trials were begun, by an earlier run."""

    begun: bool


@dataclass(frozen=True)
class Done:
    result: ProblemResult


@dataclass(frozen=True)
class Failed:
    """Nothing can come of the campaign: because of this trial. `what` says it, without that trial's words."""

    what: str
    trial: Trial


@dataclass(frozen=True)
class Scarce:
    """The problem's share of the node-hours pays for `room` trials of the search, and fewer than `wanted` are a guess.

    `least`: node-seconds that the problem needs. `otherwise`: its result if it is left out.
    """

    room: int
    wanted: int
    least: float
    otherwise: ProblemResult


Step = Start | Wait | Later | Done | Failed | Scarce
