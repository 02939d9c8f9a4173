# SPDX-License-Identifier: Apache-2.0
"""Budget of the bandwidth that exploring may cost a context."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Harm:
    """Bytes that a context moved, and estimated bytes that it lost because windows were explored.

    Both are sums over `rounds` rounds in which the context was active. When these exceed the horizon, all three are
    scaled down to it, so that older rounds count less and less.
    """

    rounds: float = 0.0
    moved: float = 0.0
    lost: float = 0.0

    def after(self, moved: float, lost: float, horizon: int) -> Harm:
        """Return the sums after another round in which the context moved and lost some bytes."""
        scale = min(1.0, horizon / (self.rounds + 1))
        return Harm((self.rounds + 1) * scale, (self.moved + moved) * scale, (self.lost + lost) * scale)

    def within(self, share: float, horizon: int) -> bool:
        """Return whether the context may be explored: lost <= share * moved / rounds * (horizon + rounds) / 2.

        `moved / rounds` are the bytes of a round, at the mean of the counted rounds. Half of the budget of a horizon
        can be spent at once, so that windows are measured early, and the other half as rounds pass. If rounds move
        equally much, the loss since the beginning is at most `share` of what was moved, from `horizon` rounds on,
        plus the loss of one round. Before that, it is at most `share` of what `horizon` rounds move.
        """
        return 2 * self.lost * self.rounds <= share * self.moved * (horizon + self.rounds)


def lost_bytes(moved: float, mean: float, best: float) -> float:
    """Return the bytes that the best known window would have moved in addition in the same time.

    `moved` bytes took moved / mean seconds; `mean` > 0 and `best` are the estimated bandwidths, in one unit.
    """
    return moved * max(0.0, best / mean - 1)
