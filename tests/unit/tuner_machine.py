# SPDX-License-Identifier: Apache-2.0
"""A made-up problem, and a simulated machine that runs the problem's trials instantly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from reprise.database.entities import Trial, TrialState
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Problem
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.steps.next_step import Solver
from reprise.tuner.steps.step import Done, Later, Start, Step, Wait

SPACE = Space((Parameter("size", tuple(range(8))), Parameter("kind", ("a", "b", "c"), "category")))
PROBLEM = Problem("p", SPACE, {"size": 0, "kind": "a"})


def definition(**changes: Any) -> Definition:
    base: dict[str, Any] = {
        "name": "n",
        "component": "c",
        "scope": "cluster",
        "search": {"method": "genetic", "initial": 4, "budget": 9, "window": 0},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 2, "final_pairs": 3},
    }
    return Definition.model_validate({**base, **changes})


def seconds(point: Parametrization) -> float:
    """Return the run time of a point: 3.3 s for the default, and 1 s for the best point (6, c)."""
    return 1.0 + 0.25 * abs(float(point["size"]) - 6) + 0.4 * "cba".index(str(point["kind"]))


class Machine:
    """A simulated machine. A test starts and ends trials, whose rows the machine keeps as the database would."""

    def __init__(self, given: Definition, value: Callable[[Parametrization], float | None] = seconds) -> None:
        self.definition = given
        self.value = value
        self.rows: list[Trial] = []
        self.allowance: float | None = None
        self.session = 1

    def step(self) -> Step:
        return Solver(self.definition, PROBLEM).next_step(self.rows, self.allowance, session=self.session)

    def start(self) -> Trial:
        step = self.step()
        assert isinstance(step, Start), step
        number = len(self.rows)
        row = Trial(1, "p", number, step.role, step.point, TrialState.RUNNING, limit_s=step.limit_s, id=number + 1)
        self.rows.append(row)
        return row

    def end(self, row: Trial, state: TrialState = TrialState.COMPLETE) -> None:
        value = self.value(row.parametrization) if state is TrialState.COMPLETE else None
        if state is TrialState.COMPLETE and value is None:
            state = TrialState.FAILED
        elapsed = value or 1.0
        if row.limit_s and elapsed > row.limit_s:
            state, value, elapsed = TrialState.PRUNED, row.limit_s, row.limit_s
        last = max((one.ordinal or 0 for one in self.rows), default=0)
        self.rows[row.number] = dataclasses.replace(
            row, state=state, value=value, elapsed_s=elapsed, nodes=2, ordinal=last + 1
        )

    def open(self) -> list[Trial]:
        return [row for row in self.rows if row.state is TrialState.RUNNING]

    def to_the_end(self, parallel: int = 1, newest_first: bool = False) -> Done:
        for _ in range(1000):
            step = self.step() if len(self.open()) < parallel else Wait()
            if isinstance(step, Start):
                self.start()
            elif isinstance(step, Wait):
                self.end(self.open()[-1 if newest_first else 0])
            elif isinstance(step, Later):
                assert self.session == 1, "a campaign has at most two sessions"
                self.session = 2
            else:
                assert isinstance(step, Done), step
                return step
        raise AssertionError("the campaign did not end within 1000 steps")


def roles(machine: Machine) -> list[str]:
    return [str(row.role) for row in machine.rows]
