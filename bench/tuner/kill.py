# SPDX-License-Identifier: Apache-2.0
"""Kill a campaign's coordinator with SIGKILL at random times, again and again, and count lost and duplicate trials.

The coordinator is a real process. Its trials are jobs of the tests' fake Slurm. These jobs outlive the coordinator, as
jobs on a cluster do. Each campaign is killed and resumed until it is complete, and then compared with an undisturbed
campaign.

`kill_lost` counts trials that only the undisturbed campaign has, and completed runs whose results no trial contains.
`kill_doubled` counts trials that only the killed campaign has, and surplus jobs that ran a trial again.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from reprise.database.entities import CampaignState, Trial
from tests import fake_component
from tests.fake_slurm import FakeSlurm
from tests.unit.tuner_site import Site

LONGEST_S = 1.2  # maximum time until a coordinator is killed; a campaign of 18 trials takes about two seconds
PATIENCE_S = 120.0
DEFINITION = {
    "search": {"method": "random", "budget": 8},
    "repetitions": {"default_runs": 2, "final_pairs": 4},
    "executor": {"kind": "slurm", "parallel": 2},
    "settings": {"script": True, "problems": ["one"], "before": "sleep 0.02"},
}


@dataclass(frozen=True)
class Damage:
    """The numbers of kills, lost trials, and duplicate trials."""

    kills: int
    lost: int
    doubled: int


def quickly(seconds: float) -> None:
    """Sleep for a fiftieth of the requested time, to speed up polling."""
    time.sleep(seconds / 50)


class Campaign:
    """A campaign, its directory, and the fake cluster on which it runs."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.site = Site(directory)
        self.slurm = FakeSlurm(directory / "jobs")
        self.number = self.site.begin(**DEFINITION)

    def run(self, for_s: float | None = None) -> bool:
        """Run a coordinator to its end, or kill it after `for_s` seconds; return whether the campaign is complete."""
        others = {"slurm": self.slurm.commands(), "sleep": quickly}
        coordinator = multiprocessing.get_context("fork").Process(
            target=self.site.run, args=(self.number,), kwargs=others
        )
        coordinator.start()
        coordinator.join(PATIENCE_S if for_s is None else for_s)
        if for_s is None or coordinator.exitcode is not None:
            if coordinator.exitcode != 0:
                coordinator.kill()
                raise SystemExit(f"a coordinator did not end by itself: see {self.site.directory}")
            return True
        coordinator.kill()
        coordinator.join()
        return bool(self.site.campaign(self.number).state is CampaignState.COMPLETE)

    def tried(self) -> Counter[tuple[object, ...]]:
        """Return how often each combination of role, point, state and value occurs among the campaign's trials."""
        return Counter(
            (trial.role, *sorted(trial.parametrization.items()), trial.state, trial.value)
            for trial in self.site.trials(self.number)
        )

    def thrown_away(self) -> int:
        """Return the number of completed runs whose result is not in any trial."""
        trials = {trial.id: trial for trial in self.site.trials(self.number)}
        return sum(
            1
            for path in (self.site.directory / "work").glob("*/one/*/result")
            if not any(_directory(trial) == path.parent.name for trial in trials.values())
        )

    def ran_twice(self) -> int:
        """Return the number of superfluous jobs, which ran a trial's benchmark although another job ran it, too."""
        ran: Counter[str] = Counter()
        for job in self.slurm.jobs():
            comment = (self.slurm.directory / str(job) / "comment").read_text()
            key, _, attempt = comment.partition(".")
            if attempt and self._claimed_by(key, attempt) == job:
                ran[key] += 1
        return sum(count - 1 for count in ran.values())

    def _claimed_by(self, key: str, attempt: str) -> int:
        trial = next(one for one in self.site.trials(self.number) if f"trial-{one.id}" == key)
        name = f"{trial.number:04}" if attempt == "1" else f"{trial.number:04}.{attempt}"
        claims = list((self.site.directory / "work").glob(f"*/one/{name}/claimed"))
        return int(str(claims[0].readlink())) if claims else 0


def _directory(trial: Trial) -> str:
    return f"{trial.number:04}" if trial.attempt == 1 else f"{trial.number:04}.{trial.attempt}"


def damage(points: int, seed: int = 1) -> Damage:
    """Kill coordinators at `points` random times and return the numbers of kills, lost trials, and duplicate trials."""
    fake_component.register()
    rng = random.Random(seed)  # noqa: S311 - not used for security
    kills = lost = doubled = number = 0
    with tempfile.TemporaryDirectory(prefix="reprise-kill-") as scratch:
        (whole := Campaign(Path(scratch) / "whole")).run()
        expected = whole.tried()
        while kills < points:
            number += 1
            campaign = Campaign(Path(scratch) / str(number))
            while not campaign.run(rng.uniform(0, LONGEST_S) if kills < points else None):
                kills += 1
            tried = campaign.tried()
            lost += (expected - tried).total() + campaign.thrown_away()
            doubled += (tried - expected).total() + campaign.ran_twice()
    return Damage(kills, lost, doubled)


def measure(points: int) -> tuple[int, int]:
    """Return the number of lost trials and the number of duplicate trials after `points` kills."""
    found = damage(points)
    return found.lost, found.doubled


if __name__ == "__main__":
    found = damage(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    sys.stdout.write(json.dumps({"kills": found.kills, "kill_lost": found.lost, "kill_doubled": found.doubled}) + "\n")
