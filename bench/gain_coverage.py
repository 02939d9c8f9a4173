# SPDX-License-Identifier: Apache-2.0
"""Measure how often the bounds of a gain contain its true value, under many kinds of noise.

    .venv/bin/python -m bench.gain_coverage

A campaign compares the default with its winner in pairs of runs, in random order within each pair, in two sessions at
different times. In this simulation the default and the winner are equally fast, so bounds are right if 0 lies between
them. The noise is simulated, or drawn from the recorded samples of `bench/landscapes`. A session may favor the default
or the winner, by the same factor in all its pairs (`SHIFTS`).

The benchmark prints shares (0 to 1) for each noise and shift. `one` is the share of single sessions whose bounds are
right, `t` is this share for Student's bounds, and `fixed` is this share for Student's bounds if all pairs of a session
begin with the default. `two` is the share of campaigns of two sessions whose bounds are right. `published` is the share
of campaigns in which both sessions together show a gain that does not exist. `jobs` and `jobs_published` correspond to
`two` and `published`, for campaigns in which every run is a separate job, with fewer pairs (`JOB_PAIRS`). The last line
of output is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from bench.emulated import path_of
from reprise.tuner.model.landscape import load
from reprise.tuner.model.statistics import DRIFT, gain_of_jobs, gain_of_sessions, measurement, paired_gain

SHARES = ("fixed", "t", "one", "two", "published", "jobs", "jobs_published")

Array = npt.NDArray[np.float64]
Session = tuple[Sequence[float], Sequence[float]]  # times in seconds, of the default and of the winner
Noise = Callable[[np.random.Generator, int], Array]  # returns the logarithms of a given number of successive times

PAIRS = 6
JOB_PAIRS = (4, 3)  # number of pairs in each session of `reprise tune application`
CAMPAIGNS = 2000
SHIFTS = (0.0, DRIFT, 0.05, 0.15)  # standard deviations of the logarithm of the factor that favors one side
FEWEST = 4  # minimum number of samples of a recorded point that is used as noise


def even(rng: np.random.Generator, runs: int) -> Array:
    """Return the logarithms of `runs` times with normal noise."""
    return rng.normal(0, 0.2, runs)


def heavy(rng: np.random.Generator, runs: int) -> Array:
    """Return logarithms of times with heavy-tailed noise: Student's t distribution with 2 degrees of freedom."""
    return 0.1 * rng.standard_t(2, runs)


def bursts(rng: np.random.Generator, runs: int) -> Array:
    """Return logarithms of times in which about one run in seven is much slower."""
    return rng.normal(0, 0.03, runs) + (rng.random(runs) < 0.15) * rng.lognormal(-1, 0.8, runs)


def drifting(rng: np.random.Generator, runs: int) -> Array:
    """Return logarithms of times on a machine that gets slower or faster over the session."""
    return rng.normal(0, 0.6) * np.linspace(0, 1, runs) + rng.normal(0, 0.03, runs)


def following(rng: np.random.Generator, runs: int) -> Array:
    """Return logarithms of times in which each run is correlated with the run before it."""
    found = np.empty(runs)
    state = rng.normal(0, 0.1 / math.sqrt(1 - 0.8**2))
    for run in range(runs):
        found[run] = state
        state = 0.8 * state + rng.normal(0, 0.1)
    return found


def loaded(rng: np.random.Generator, runs: int) -> Array:
    """Return logarithms of times on a machine where another job sometimes runs, which makes runs about 65 % slower."""
    there = rng.random() < 0.4
    found = np.empty(runs)
    for run in range(runs):
        there ^= rng.random() < (0.3 if there else 0.2)
        found[run] = 0.5 * there
    return found + rng.normal(0, 0.05, runs)


def recorded(landscape: str) -> Noise:
    """Return a noise function that draws from the recorded samples of a random point of a landscape."""

    @cache
    def samples() -> Sequence[Array]:
        several = [one for one in load(path_of(landscape)).samples if len(one) >= FEWEST]
        return [np.log(one) - np.median(np.log(one)) for one in several]

    def draw(rng: np.random.Generator, runs: int) -> Array:
        of_points = samples()
        return np.asarray(rng.choice(of_points[int(rng.integers(len(of_points)))], runs))

    return draw


NOISES: Mapping[str, Noise] = {
    "even": even,
    "heavy tails": heavy,
    "bursts": bursts,
    "drift": drifting,
    "autocorrelated": following,
    "load": loaded,
    **{f"recorded {name}": recorded(name) for name in ("sbb-noise", "bcast-1m", "reduce-256k")},
}


def session(
    rng: np.random.Generator, noise: Noise, shift: float, pairs: int = PAIRS, *, shuffled: bool = True
) -> Session:
    """Return a session's times for the default and the winner, which differ only by noise and the session's shift."""
    runs = np.exp(noise(rng, 2 * pairs)).reshape(pairs, 2)
    first = rng.integers(2, size=pairs) if shuffled else np.zeros(pairs, dtype=np.int64)
    rows = np.arange(pairs)
    tuned = runs[rows, 1 - first] * math.exp(rng.normal(0, shift))
    return list(runs[rows, first]), list(tuned)


def coverage(noise: Noise, shift: float, campaigns: int = CAMPAIGNS, seed: int = 1) -> dict[str, float]:
    """Return the shares that `SHARES` lists; the module's docstring describes them."""
    rng = np.random.default_rng(seed)
    held = dict.fromkeys(SHARES, 0)
    for _ in range(campaigns):
        sessions = [session(rng, noise, shift) for _ in range(2)]
        held["one"] += _holds(paired_gain(*sessions[0])[1:])
        held["t"] += _holds(_student(*sessions[0]))
        held["fixed"] += _holds(_student(*session(rng, noise, shift, shuffled=False)))
        found = gain_of_sessions(sessions)
        held["two"] += _holds(found[1:])
        held["published"] += found[1] > 0
        of_jobs = gain_of_jobs([session(rng, noise, shift, pairs) for pairs in JOB_PAIRS])
        held["jobs"] += _holds(of_jobs[1:])
        held["jobs_published"] += of_jobs[1] > 0
    return {name: round(count / campaigns, 4) for name, count in held.items()}


def _student(defaults: Sequence[float], tuned: Sequence[float]) -> tuple[float, float]:
    found = measurement([math.log(b / a) for a, b in zip(defaults, tuned, strict=True)], "")
    return found.low, found.high


def _holds(bounds: Sequence[float]) -> bool:
    return bounds[0] <= 0 <= bounds[1]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table row with the results of `coverage` for each noise and shift, and then the JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.gain_coverage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=CAMPAIGNS)
    given = parser.parse_args(argv)
    found = {
        f"{name}, {shift}": coverage(noise, shift, given.campaigns)
        for name, noise in NOISES.items()
        for shift in SHIFTS
    }
    for name, shares in found.items():
        words = " | ".join(f"{shares[key]:.3f}" for key in SHARES)
        sys.stderr.write(f"| {name.replace(', ', ' | ')} | {words} |\n")
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
