# SPDX-License-Identifier: Apache-2.0
"""Settings with which the council learns windows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reprise.matcher.errors import CouncilError

THESIS_WINDOWS = (125, 250, 500, 1000, 2000, 4000, 8000)
"""Windows of TWINS in microseconds (Bez 2020, section 4.2.1)."""

WINDOWS = (0, *THESIS_WINDOWS)
"""Windows to choose from. With 0, a forwarder serves requests in order of arrival, so TWINS can be avoided."""

DEFAULT_WINDOW = 0
"""Window in microseconds before anything is learned: jobs are served as without TWINS until a better one is known."""

EPSILON = 0.15
"""Share of rounds that explore (section 4.2.2, the simulation of several patterns)."""

FIRST_EPSILON = 0.5
"""Share of rounds that explore while an active pattern has windows that were never measured.

With `EPSILON`, 47 rounds pass on average until seven windows were measured once; with 0.5, it is 14 rounds.
"""

MEMORY = 32
"""Number of rewards of a window that count: the last ones.

With noise of 10 %, the mean of 32 rewards has a standard error of 1.8 %, so that windows 5 % apart are distinguished.
More rewards would follow changes of the file system more slowly.
"""

CAUTION = 1.0
"""Number of standard errors by which a mean must exceed that of the default window to be preferred to it.

With 0, the window with the largest mean is preferred, as in the thesis, even if the default was not measured.

If seven windows are 2 to 10 % worse, one often looks better by chance. With noise of 10 % and without caution, 4 %
were lost in the worst of 25 simulated patterns in decisions 301 to 400; with it, 2 % were. With more caution, windows
that are a little better are found later.
"""

HARM_SHARE = 0.01
"""Largest share of a pattern's bandwidth that may be lost by exploring."""

HORIZON = 600
"""Number of rounds over which the loss is compared with the budget: ten minutes, with a round a second.

The budget of ten minutes allows 6 rounds without any bandwidth. Measuring seven windows that are 35 % worse than the
best costs 2.5 such rounds.
"""

TIMEOUT = 1.0
"""Seconds after the first report of a round until the council decides without the missing reports.

Forwarders report a second after the last decision. A report that is another second late would be of no use for the
round.
"""


class Learner(StrEnum):
    """A method that chooses windows.

    UCB1 is the default, because it spends the budget of harm on windows that may be good. In simulations with the
    budget, it followed a change of the best window in a quarter of the rounds that EPSILON needed
    (`bench/patterns/bandits.py`).
    """

    EPSILON = "epsilon"
    UCB1 = "ucb1"


@dataclass(frozen=True)
class CouncilSettings:
    """Settings of the council; the constants above explain the defaults.

    `windows` are in microseconds, and `default_window` is one of them. With `memory` 0, all rewards of a window count,
    and their noise is unknown. `harm_share` 1 or more means no budget. `normalized` False gives UCB1 rewards in MB/s as
    in the thesis, for comparison only. Raise CouncilError if a value is impossible.
    """

    learner: Learner = Learner.UCB1
    epsilon: float = EPSILON
    first_epsilon: float = FIRST_EPSILON
    memory: int = MEMORY
    windows: tuple[int, ...] = WINDOWS
    default_window: int = DEFAULT_WINDOW
    caution: float = CAUTION
    harm_share: float = HARM_SHARE
    horizon: int = HORIZON
    timeout: float = TIMEOUT
    normalized: bool = True

    def __post_init__(self) -> None:
        for name in ("epsilon", "first_epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                raise CouncilError(f"{name} is {getattr(self, name)}: choose a share between 0 and 1")
        if not self.windows or min(self.windows) < 0 or len(set(self.windows)) < len(self.windows):
            raise CouncilError("windows must be different numbers of microseconds, 0 or more: correct the list")
        if self.default_window not in self.windows:
            raise CouncilError(f"the default window {self.default_window} is not among the windows: add it")
        if self.memory < 0 or self.horizon < 1 or self.timeout <= 0 or not (self.harm_share >= 0 and self.caution >= 0):
            raise CouncilError(
                "memory, harm_share and caution must be at least 0, horizon 1, and timeout above 0: correct them"
            )
