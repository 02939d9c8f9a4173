# SPDX-License-Identifier: Apache-2.0
"""Offline twin of the council: the same code with measured bandwidths instead of forwarders.

The method follows Bez 2020, section 4.2.2. Each context is simulated by itself, with its pattern detected correctly. In
each round, the reward is drawn at random, with replacement, from the measurements of the context with the window in
force. The thesis draws without replacement, so its simulations end when the measurements are used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from statistics import fmean

from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.bandit import LEAST_REWARD, Bandit
from reprise.matcher.council.council_settings import DEFAULT_WINDOW, CouncilSettings, Learner
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.learned_context import reward
from reprise.matcher.council.window_council import Council

HOST = "forwarder"
BIN = 10
"""Number of decisions over which precision and performance are averaged (section 4.2.2)."""

MEGABYTE = 10**6

Rewards = Mapping[int, Sequence[float]]
"""Rewards in MB/s of one context, by window in microseconds; each window has at least one."""


class ReplayPolicy(StrEnum):
    """A rule that chooses windows. FIXED keeps one window, and ORACLE keeps the best one of each context."""

    EPSILON = "epsilon"
    UCB1 = "ucb1"
    FIXED = "fixed"
    ORACLE = "oracle"


@dataclass(frozen=True)
class Choice:
    """A window in force during one round, and its reward in MB/s."""

    window: int
    reward: float


@dataclass(frozen=True)
class Outcome:
    """Results of a policy in one context, by bin of `BIN` decisions, each a mean over all repetitions.

    `precision` is the share of decisions for the best static window. `performance` is the mean reward divided by that
    of the best static window.
    """

    policy: ReplayPolicy
    precision: Sequence[float]
    performance: Sequence[float]

    def after(self, decisions: int) -> float:
        """Return the performance after some decisions, a multiple of `BIN`; of the last bin if there are no more."""
        return fmean(self.performance[decisions // BIN :] or self.performance[-1:])


@dataclass(frozen=True)
class Simulation:
    """Extent of a simulation: decisions in a repetition, repetitions, and the seed of random numbers."""

    decisions: int = 300
    repetitions: int = 20
    seed: int = 1


def measurements(reports: Iterable[Report]) -> dict[Pattern, dict[int, list[float]]]:
    """Return rewards by pattern and window, in order of both; they are corrected for low load as the council does."""
    known = [(report.pattern, report) for report in reports if report.pattern is not None]
    windows = tuple(sorted({report.window for _, report in known}))
    if not windows:
        return {}
    settings = CouncilSettings(windows=windows, default_window=windows[0], memory=0)
    bandits: dict[Pattern, Bandit] = {}
    found: dict[Pattern, dict[int, list[float]]] = {}
    for pattern, report in known:
        bandit = bandits.setdefault(pattern, Bandit(settings))
        value = reward(report, bandit)
        if value >= LEAST_REWARD:
            bandit.update(report.window, value)
            found.setdefault(pattern, {}).setdefault(report.window, []).append(value)
    return {pattern: dict(sorted(found[pattern].items())) for pattern in sorted(found)}


def best_window(rewards: Rewards) -> int:
    """Return the window with the largest mean reward, the smallest of them if there are several."""
    return max(sorted(rewards), key=lambda window: fmean(rewards[window]))


def evaluate(
    policy: ReplayPolicy,
    pattern: Pattern,
    rewards: Rewards,
    simulation: Simulation,
    window: int = DEFAULT_WINDOW,
    settings: CouncilSettings | None = None,
) -> Outcome | None:
    """Simulate a policy in one context; learners choose among the windows that were measured.

    `window` is the one that FIXED keeps, and the one that learners start with, or the nearest to it that was measured.
    Return None if FIXED's window was not measured.
    """
    if policy is ReplayPolicy.FIXED and window not in rewards:
        return None
    best = best_window(rewards)
    rng = Random(simulation.seed)  # noqa: S311 - not used for security
    runs = []
    for _ in range(simulation.repetitions):
        if policy in (ReplayPolicy.FIXED, ReplayPolicy.ORACLE):
            kept = window if policy is ReplayPolicy.FIXED else best
            runs.append([Choice(kept, rng.choice(rewards[kept])) for _ in range(simulation.decisions)])
        else:
            learner = _of_context(
                replace(settings or CouncilSettings(), learner=Learner(policy.value)), rewards, window
            )
            runs.append(play(pattern, rewards, learner, simulation.decisions, rng))
    return _outcome(policy, runs, best, fmean(rewards[best]))


def play(pattern: Pattern, rewards: Rewards, settings: CouncilSettings, decisions: int, rng: Random) -> list[Choice]:
    """Return the windows of a council with one forwarder, which starts with the default window and no knowledge."""
    council = Council(settings, rng, [HOST])
    choices = []
    for second in range(decisions):
        window = council.window
        value = rng.choice(rewards[window])
        choices.append(Choice(window, value))
        council.round.receive(Report(HOST, pattern, round(value * MEGABYTE), value, window), second)
        council.decide()
    return choices


def _of_context(settings: CouncilSettings, rewards: Rewards, window: int) -> CouncilSettings:
    """Return the settings with the windows that were measured, and a default window near `window`."""
    windows = tuple(sorted(rewards))
    return replace(settings, windows=windows, default_window=min(windows, key=lambda one: abs(one - window)))


def _outcome(policy: ReplayPolicy, runs: Sequence[Sequence[Choice]], best: int, best_mean: float) -> Outcome:
    bins = [[choice for run in runs for choice in run[begin : begin + BIN]] for begin in range(0, len(runs[0]), BIN)]
    return Outcome(
        policy,
        [fmean(choice.window == best for choice in choices) for choices in bins],
        [fmean(choice.reward for choice in choices) / best_mean for choices in bins],
    )
