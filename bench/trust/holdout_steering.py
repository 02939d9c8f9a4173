# SPDX-License-Identifier: Apache-2.0
"""Measure whether one user's requests can change how many jobs of another user are held out.

Each answer shows the attacker whether the attacker's own job would be held out. Before each job of the victim, the
attacker sends requests until one of them gets the verdict that the attacker does not want the victim to get. If both
users' jobs shared a block, in which the number of held-out jobs is fixed, the attacker's requests would change the
victim's share.
"""

from __future__ import annotations

from pathlib import Path

from bench.trust.users import ALICE, MALLORY, ROOT, Speaker, ended, of_user, serving, speakers
from tests.unit.matcher_daemon import request
from tests.waiting import wait_for

JOBS = 200
ASKS = 6
"""Maximum number of requests that the attacker sends before each job of the victim."""
TRIAL = 40
"""Number of a user's first jobs. Half of these are held out, whatever share of jobs is configured as held out."""


def measure(scratch: Path, jobs: int = JOBS) -> dict[str, float]:
    """Return `holdout_steered`, the largest difference between the configured and the actual share of held-out jobs."""
    found = [
        abs(_share(scratch / f"share-{number}", share, wanted, jobs) - share)
        for number, (share, wanted) in enumerate(((0.5, "apply"), (0.5, "holdout"), (0.1, "apply"), (0.1, "holdout")))
    ]
    return {"holdout_steered": round(max(found), 4)}


def _share(directory: Path, share: float, unwanted: str, jobs: int) -> float:
    """Return the held-out share of the victim's jobs while the attacker tries to use up the verdict `unwanted`."""
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
    """Run ten jobs; return whether at most two were held out, i.e. whether the trial (`TRIAL` jobs) is over."""
    return [_job(alice, slurmstepd, 5_000 + number) for number in range(10)].count("holdout") <= 2
