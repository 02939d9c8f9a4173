# SPDX-License-Identifier: Apache-2.0
"""Whether another user's requests change how many of a user's jobs are held out.

The attacker knows from each answer whether its own job would be held out, and asks before each of the victim's jobs
until the next place, if both had places in one block, would be the one that the victim is to get.
"""

from __future__ import annotations

from pathlib import Path

from bench.trust.users import ALICE, MALLORY, ROOT, Speaker, ended, of_user, serving, speakers
from tests.unit.matcher_daemon import request
from tests.waiting import wait_for

JOBS = 200
ASKS = 6
"""Of the attacker before each job, at most."""
TRIAL = 40
"""Jobs of a user that are compared one with one, whatever the share."""


def measure(scratch: Path, jobs: int = JOBS) -> dict[str, float]:
    """`holdout_steered`: how far the victim's held-out share is from what is set, at worst."""
    found = [
        abs(_share(scratch / f"share-{number}", share, wanted, jobs) - share)
        for number, (share, wanted) in enumerate(((0.5, "apply"), (0.5, "holdout"), (0.1, "apply"), (0.1, "holdout")))
    ]
    return {"holdout_steered": round(max(found), 4)}


def _share(directory: Path, share: float, unwanted: str, jobs: int) -> float:
    """Of the victim's jobs that are held out, where the attacker takes places of the `unwanted` kind."""
    with (
        serving(directory, f"holdout = {share}", records=[of_user(ALICE)]) as daemon,
        speakers(daemon, ROOT, ALICE, MALLORY) as (slurmstepd, alice, mallory),
    ):
        verdicts = [_job(alice, slurmstepd, number) for number in range(TRIAL)]
        if share < 0.5:
            wait_for("the end of the trial", lambda: _is_over(alice, slurmstepd))
        verdicts.clear()
        for number in range(jobs):
            for _ in range(ASKS):
                if mallory.ask(request()).get("verdict") == unwanted:
                    break
            verdicts.append(_job(alice, slurmstepd, 10_000 + number))
        return verdicts.count("holdout") / len(verdicts)


def _job(alice: Speaker, slurmstepd: Speaker, number: int) -> str:
    reply = alice.ask(request())
    seconds = 10.0 * (1 + number % 7 / 50) * (0.8 if reply["verdict"] == "apply" else 1.0)
    slurmstepd.ask(ended(reply, number, alice.uid, seconds))
    return str(reply["verdict"])


def _is_over(alice: Speaker, slurmstepd: Speaker) -> bool:
    """Whether blocks of ten have begun: nine of ten are given the settings."""
    return [_job(alice, slurmstepd, 5_000 + number) for number in range(10)].count("holdout") <= 2
