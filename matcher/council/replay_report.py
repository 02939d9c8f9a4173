# SPDX-License-Identifier: Apache-2.0
"""Results of a replay, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from reprise.database.record_listing import plain
from reprise.matcher.council.access_pattern import Pattern
from reprise.matcher.council.offline_twin import Outcome, ReplayPolicy, Rewards, Simulation, best_window, evaluate

SETTLED = 100
"""Number of decisions after which a learner should be close to the oracle."""

HEADINGS = ("pattern", "best window", "policy", "precision", "performance", f"after {SETTLED}")


@dataclass(frozen=True)
class ReplayedContext:
    """Rewards of a context, and the outcomes of policies: None if the policy's window was not measured."""

    rewards: Rewards
    outcomes: Mapping[ReplayPolicy, Outcome | None]


@dataclass(frozen=True)
class Replay:
    """Results by pattern, and the patterns that were left out because fewer than two windows were measured."""

    contexts: Mapping[Pattern, ReplayedContext]
    left_out: Sequence[Pattern]


def replay(
    measured: Mapping[Pattern, Rewards],
    policies: Sequence[ReplayPolicy],
    simulation: Simulation,
    window: int,
) -> Replay:
    """Simulate policies in each context in which at least two windows were measured; `evaluate` explains `window`."""
    contexts = {
        pattern: ReplayedContext(
            rewards,
            {policy: evaluate(policy, pattern, rewards, simulation, window) for policy in policies},
        )
        for pattern, rewards in measured.items()
        if len(rewards) > 1
    }
    return Replay(contexts, [pattern for pattern in measured if pattern not in contexts])


def text(found: Replay) -> str:
    """Return a table with a row for each context and policy, and a line with the patterns that were left out."""
    rows = [
        (str(pattern), f"{best_window(context.rewards)} us", policy.value, *_cells(outcome))
        for pattern, context in found.contexts.items()
        for policy, outcome in context.outcomes.items()
    ]
    lines = [plain(rows, HEADINGS)] if rows else ["no pattern was measured with two windows"]
    if found.left_out:
        lines.append(f"left out, with only one window: {', '.join(map(str, found.left_out))}")
    return "\n".join(lines)


def document(found: Replay) -> dict[str, Any]:
    """Return the results as a JSON object; docs/reference/commands.md describes its keys."""
    return {
        "contexts": [
            {
                "pattern": str(pattern),
                "best_window": best_window(context.rewards),
                "windows": [
                    {"window": window, "measurements": len(values), "mean": fmean(values)}
                    for window, values in context.rewards.items()
                ],
                "policies": [
                    {
                        "policy": policy.value,
                        "precision": None if outcome is None else list(outcome.precision),
                        "performance": None if outcome is None else list(outcome.performance),
                    }
                    for policy, outcome in context.outcomes.items()
                ],
            }
            for pattern, context in found.contexts.items()
        ],
        "left_out": [str(pattern) for pattern in found.left_out],
    }


def _cells(outcome: Outcome | None) -> tuple[str, ...]:
    """Return the precision of the last bin, the performance of all decisions, and that after `SETTLED` decisions."""
    if outcome is None:
        return ("not measured", "", "")
    return tuple(f"{one:.3f}" for one in (outcome.precision[-1], fmean(outcome.performance), outcome.after(SETTLED)))
