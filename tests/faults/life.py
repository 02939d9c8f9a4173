# SPDX-License-Identifier: Apache-2.0
"""Run a job from submission to end, with and without the plugin. A fault must not make the two jobs differ."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.spank.conftest import Played, Stub

DEADLINE_MS = 60
BOUND_MS = 150  # tolerance for a busy machine and for sanitizers; `make bench-plugin` measures times on a quiet machine
BATCH_STEP, NO_VAL = 0xFFFFFFFB, 0xFFFFFFFE
ITEMS = {0: os.geteuid(), 2: 4711, 3: BATCH_STEP, 13: 0, 31: NO_VAL}  # uid, job, step, exit status, array task
CARRIED = "SLURM_SPANK_REPRISE"
OF_THE_STUB = ("STUB_", "FAIL_", "PATH=")


@dataclass(frozen=True)
class Life:
    """The life of a job: its environment without the plugin's variable, the log messages, and each hook's milliseconds.

    `Stub.play` itself checks standard output and error, exit codes and descriptors.
    """

    environment: dict[str, str]
    carried: dict[str, Any] | None
    log: list[tuple[str, str]]
    took_ms: dict[str, int]
    failing: int = 0  # number of calls of the function that a test makes fail, in the submission or the job


@dataclass
class Job:
    """A job to submit. `settings` are arguments of the plugin in addition to those that all jobs here have."""

    stub: Stub
    argv: Sequence[str] = ("sbatch", "job.sh")
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Sequence[str] = ()
    spooled: Path | None = None
    deadline_ms: int = DEADLINE_MS

    def live(self, plugin: bool = True) -> Life:
        if not plugin:  # without the plugin, sanitizers would only cost time
            return replace(self, stub=replace(self.stub, program=self.stub.program.with_name("stub_oom")))._live([], [])
        return self._live(["init", "init_post_opt"], ["init", "user_init", "task_exit"])

    def _live(self, at_submission: Sequence[str], in_the_job: Sequence[str]) -> Life:
        submitted = self._play("allocator", self.argv, at_submission, self.env)
        environment = {
            **{name: value for name, value in submitted.own.items() if not f"{name}=".startswith(OF_THE_STUB)},
            **{f"SLURM_SPANK_{name}": value for name, value in submitted.control.items()},
        }
        items = [f"item {item} {value}" for item, value in ITEMS.items()]
        items += [f"script {self.spooled}"] if self.spooled else []
        items += [f"job {name}={value}" for name, value in environment.items()]
        ran = self._play("remote", ["slurmstepd"], in_the_job, self._failing(), items)
        carried = ran.job.pop(CARRIED, None)
        return Life(
            ran.job,
            json.loads(carried) if carried else None,
            submitted.log + ran.log,
            {name: elapsed for name, _, elapsed in submitted.calls + ran.calls},
            max(submitted.failing, ran.failing),
        )

    def _failing(self) -> dict[str, str]:
        return {name: value for name, value in self.env.items() if name.startswith("FAIL_")}

    def _play(
        self, context: str, argv: Sequence[str], hooks: Sequence[str], env: Mapping[str, str], items: Sequence[str] = ()
    ) -> Played:
        settings = self.stub.settings(f"deadline_ms={self.deadline_ms}", *self.settings)
        calls = [f"call {hook}" for hook in hooks]
        return self.stub.play(f"context {context}", *settings, *items, *calls, argv=argv, env=env)


def slow_hooks(life: Life, longest_ms: int) -> dict[str, int]:
    return {hook: elapsed for hook, elapsed in life.took_ms.items() if elapsed > longest_ms}


def assert_unharmed(job: Job, waits: bool = False) -> Life:
    """Check that the job runs as it does without the plugin. With `waits`, a hook may last until the deadline."""
    without = job.live(plugin=False)
    for _ in range(10):  # because a busy machine rarely delays ten runs in a row
        life = job.live()
        assert life.environment == without.environment
        if life.carried is not None:  # a decision without settings, so that the batch step requests no other decision
            assert (life.carried["verdict"], life.carried["env"]) in (("none", {}), ("off", {}))
        assert life.log == []
        slow = slow_hooks(life, job.deadline_ms * waits + BOUND_MS)
        if not slow:
            break
    assert slow == {}
    return life
