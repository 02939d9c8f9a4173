# SPDX-License-Identifier: Apache-2.0
"""Draw trial results at random from recorded measurements (a landscape file), for experiments and tests.

Nothing is run. For a given plan, a trial's result depends only on the seed and on the trial's directory within the
campaign. A campaign therefore gets the same results even if it is interrupted and resumed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from reprise.database.entities import TrialState
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import Begun, Finished, TrialResult, prepare, timed_out
from reprise.tuner.model import private_files
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.model.landscape import Landscape, LandscapeError, load
from reprise.tuner.model.landscape_component import PROGRAM


class ReplayExecutor:
    """Executor for `tuner.model.landscape_component`; a run time above the plan's time limit results in TIMEOUT."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._landscapes: dict[str, Landscape] = {}
        self._found: list[Finished] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._found = []

    @property
    def waiting(self) -> int:
        """Always 0, since replayed trials need no nodes."""
        return 0

    def resume(self, left: Sequence[Begun]) -> Collection[str]:
        """Return no keys, since trials do not outlive their coordinator."""
        return ()

    def start(self, trial: Begun) -> int | None:
        """Draw the trial's result, and return None because there is no Slurm job."""
        prepare(trial.plan, trial.directory)
        result = self._result(trial.plan, trial.directory)
        private_files.write_text(trial.directory / "stdout", result.output.stdout)
        self._found.append(Finished(trial.key, result))
        return None

    def poll(self, timeout_s: float) -> Sequence[Finished]:
        """Return the results of the trials that were started, in order of run time, as if they had run in parallel."""
        found, self._found = self._found, []
        return sorted(found, key=lambda finished: finished.result.output.elapsed_s)

    def rest(self) -> Collection[str]:
        """Do nothing, since replayed trials need no nodes."""
        return ()

    def preview(self, trial: Begun) -> str:
        """Return a line that names the landscape file and the point from which the trial's result is drawn."""
        _, file, point = _words(trial.plan)
        return f"# one of the run times in {file} for {point}\n"

    def _result(self, plan: TrialPlan, directory: Path) -> TrialResult:
        _, file, point = _words(plan)
        if file not in self._landscapes:
            self._landscapes[file] = load(Path(file))
        name = f"{directory.parent.name}/{directory.name}"
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        try:
            run_time = self._landscapes[file].draw(json.loads(point), rng)
        except LandscapeError as error:
            return TrialResult(TrialState.FAILED, TrialOutput(1, "", f"{error}\n", 0.0), None, str(error))
        if run_time > plan.timeout_s:
            return timed_out(TrialOutput(-15, "", "", plan.timeout_s), plan.timeout_s)
        return TrialResult(TrialState.COMPLETE, TrialOutput(0, f"{run_time}\n", "", run_time))


def _words(plan: TrialPlan) -> Sequence[str]:
    if len(plan.argv) != 3 or plan.argv[0] != PROGRAM:
        raise TunerError(
            "executor.kind replay is only for components of kind landscape: set `executor: {kind: slurm}`, or another "
            "executor that runs trials"
        )
    return plan.argv
