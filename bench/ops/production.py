# SPDX-License-Identifier: Apache-2.0
"""Simulate production: jobs get settings of records, one of them harmful, and the daemon's code compares the jobs.

Jobs of all records arrive in random order, on one, two or four nodes. When the decision about a job is made, some
earlier jobs with the same record are still running. The cluster becomes alternately slower and faster. Blocks (groups
of jobs that are compared with each other), evidence and gains are computed by the daemon's code; only the jobs and
their run times are simulated.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reprise.matcher.benefit.harm_test import Evidence, Run
from reprise.matcher.benefit.production_gain import gain
from reprise.matcher.decision.holdout_blocks import Blocks, Place

HARM = math.log(1.1)
"""Change of the logarithm of the run time that the harmful record causes: jobs take 10 % longer."""
GOOD = math.log(0.9)
RECORDS = 10
NODES = (1, 2, 4)
RUNNING = 3
"""Number of a record's jobs that are still running when the decision about the record's next job is made."""
NOISE = 0.05
DRIFT = 0.1
"""Amplitude of the slow change of the cluster's speed (in the logarithm of the run time), which has `TURNS` periods."""
TURNS = 3
SHARE = 0.1

Noise = Callable[[random.Random], float]


def normal(rng: random.Random) -> float:
    """Return a random change of the logarithm of the run time, from normal noise of 5 %."""
    return rng.gauss(0, NOISE)


def spikes(rng: random.Random) -> float:
    """Return normal noise of 5 %; one job in twenty also has an exponential delay (mean 0.5 in the logarithm)."""
    return rng.gauss(0, NOISE) + (rng.expovariate(2) if rng.random() < 0.05 else 0.0)


def student(rng: random.Random) -> float:
    """Return noise of 5 % times Student's t with three degrees of freedom, a distribution without a third moment."""
    return NOISE * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3)


NOISES: Mapping[str, Noise] = {"normal": normal, "spikes": spikes, "student": student}


@dataclass
class _Kept:
    """A record and its jobs. `given` is the number of jobs that got the record's settings before its quarantine."""

    effect: float
    evidence: Evidence = field(default_factory=Evidence)
    running: deque[tuple[Place, float]] = field(default_factory=deque)
    blocks: dict[str, tuple[list[Run], list[Run]]] = field(default_factory=dict)
    ended: list[tuple[list[float], list[float]]] = field(default_factory=list)
    dealt: int = 0
    given: int = 0
    set_aside: bool = False


@dataclass(frozen=True)
class Played:
    """The result of a simulated production.

    `harmful_after` is the number of jobs that got the harmful record's settings before its quarantine, or None if that
    record was never quarantined. `good` has two values for each of the other records: whether the record was
    quarantined, and whether its interval contains the true gain.
    """

    harmful_after: int | None
    good: Sequence[tuple[bool, bool]]


def play(seed: int, jobs: int, noise: Noise) -> Played:
    """Simulate a production of `jobs` jobs with `RECORDS` records; the first record is harmful."""
    rng = random.Random(seed)  # noqa: S311 - not used for security
    records = [_Kept(HARM if number == 0 else GOOD) for number in range(RECORDS)]
    blocks = Blocks(rng)
    for number in range(jobs):
        which = rng.randrange(RECORDS)
        drift = DRIFT * math.sin(2 * math.pi * TURNS * number / jobs)
        _job(records[which], which, str(number), blocks, rng, noise, drift)
    good = [(kept.set_aside, _holds(kept)) for kept in records[1:]]
    return Played(records[0].given if records[0].set_aside else None, good)


def _job(kept: _Kept, which: int, name: str, blocks: Blocks, rng: random.Random, noise: Noise, drift: float) -> None:
    if kept.set_aside:
        return
    if len(kept.running) >= RUNNING:
        _end(kept)
        if kept.set_aside:
            return
    nodes = rng.choice(NODES)
    place = blocks.place(0, (which, nodes), name, SHARE, in_doubt=kept.evidence.in_doubt(kept.dealt))
    seconds = 600 / nodes * math.exp(drift + noise(rng) + (0.0 if place.held_out else kept.effect))
    kept.running.append((place, seconds))
    kept.dealt += 1
    kept.given += not place.held_out


def _end(kept: _Kept) -> None:
    """End the record's oldest running job. If all jobs of its block have then ended, the block counts as evidence."""
    place, seconds = kept.running.popleft()
    runs = kept.blocks.setdefault(place.block, ([], []))
    runs[place.held_out].append(Run(seconds))
    given, held_out = runs
    if len(given) + len(held_out) == place.size:
        kept.ended.append(([run.seconds for run in given], [run.seconds for run in held_out]))
        kept.evidence.add(*kept.blocks.pop(place.block))
        kept.set_aside = bool(kept.evidence.verdict)


def _holds(kept: _Kept) -> bool:
    found = gain(kept.ended)
    truth = 1 - math.exp(kept.effect)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def production(seeds: int, jobs: int, least_given: int = 30) -> dict[str, object]:
    """Simulate `seeds` productions with each kind of noise; return the results for each kind and for the worst kind."""
    told: dict[str, dict[str, float]] = {}
    for name, noise in NOISES.items():
        played = [play(seed, jobs, noise) for seed in range(seeds)]
        good = [one for run in played for one in run.good]
        after = [run.harmful_after for run in played]
        told[name] = {
            "quarantined_within_30": statistics.fmean(one is not None and one <= least_given for one in after),
            "jobs_until_quarantine": statistics.median(math.inf if one is None else one for one in after),
            "false_quarantine": statistics.fmean(any(aside for aside, _ in run.good) for run in played),
            "coverage": round(statistics.fmean(held for _, held in good), 4),
        }
    coverages = [one["coverage"] for one in told.values()]
    return {
        "quarantined_within_30": min(one["quarantined_within_30"] for one in told.values()),
        "false_quarantine": max(one["false_quarantine"] for one in told.values()),
        "coverage": max(coverages, key=lambda one: abs(one - 0.95)),
        "noise": told,
    }
