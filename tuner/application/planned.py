# SPDX-License-Identifier: Apache-2.0
"""The campaigns for an application, as campaign files, and what they cost. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.tuner.application.choice import Choice
from reprise.tuner.definition.campaign_definition import LONGEST_NAME, NAME_LETTERS
from reprise.tuner.proxy.replay_script import OBJECTIVE
from reprise.tuner.steps.default_runs import SETS

DEFAULT_RUNS = 2
SEARCHED = 7
"""Runs of the application that its search has at most."""
PAIRS = 4
"""Of the application with all settings and as it is, in turn, in the first session."""
CONFIRM_PAIRS = 3
"""In the second session, in new jobs, where the first was better beyond noise."""
MORE_PAIRS = 3
"""In the session whose pairs leave open whether there is a gain; in one of the two at most."""
LATER_S = 600.0
"""Seconds between the two."""
ON_PROXY = 90
"""Runs that the search on a proxy has at most."""
REPEATED_ON_PROXY = 0.2
"""Share of these that repeats the best points."""
COMBINED_ON_PROXY = 10
"""Runs of combinations at most: all values that helped, and these without one of them."""
PROXY_DEFAULT_RUNS = 3
PROXY_PAIRS = 2
LEAST_PROXY_S = 3.0
"""Seconds that a replay takes at least, if the application does: of less, its processes' start is a large part."""
LEAST_SHARE = 0.1
"""Of the application's calls that a replay has."""
FROM_PROXY = 4
"""Points that the application tries first, of those that the proxy ranks."""
WORTH_A_PROXY = 0.1
"""Share of the run time that goes to communication from which on the application is recorded once more, for a proxy."""
ITS_PROXY = " - proxy"
"""Behind the name of a campaign: the one on its proxy."""


@dataclass(frozen=True)
class Asked:
    """What somebody has asked for: the application, and where its trials run."""

    script: Path
    user: str
    directory: Path
    options: Sequence[str]
    executor: Mapping[str, Any]
    name: str = ""
    timeout_s: float = 600.0
    searched: int = SEARCHED
    pairs: int = PAIRS
    later_s: float = LATER_S
    trace: Path | None = None  # of the application, in OTF2: its proxy is made of it

    @property
    def sbatch_options(self) -> list[str]:
        """Where its runs are, as options of sbatch."""
        return [f"--{name}={value}" for name, value in self.executor.items()]

    @property
    def title(self) -> str:
        """The campaign's name: of a script and a user that may be called otherwise than a campaign may."""
        name = self.name or f"{self.script.stem[:60]} of {self.user}"
        return re.sub(f"[^{NAME_LETTERS}]", "_", name)[: LONGEST_NAME - len(ITS_PROXY)]


@dataclass(frozen=True)
class Runs:
    """How often the application and its proxy run at most, the profile aside, and what that costs at the profile's run
    time. Where runs of the default spread, there are more of it (`default_runs`), which are not counted here."""

    runs: int
    on_proxy: int
    node_hours: float

    def __str__(self) -> str:
        proxy = f" and {self.on_proxy} of its proxy" if self.on_proxy else ""
        of_proxy = f" and {_if_they_spread(PROXY_DEFAULT_RUNS)}" if self.on_proxy else ""
        return (
            f"at most {self.runs} more runs of the application{proxy}, some {self.node_hours:.2g} node-hours; "
            f"up to {_if_they_spread(DEFAULT_RUNS)}{of_proxy} more if runs of the default spread, "
            f"and {2 * MORE_PAIRS} if noise leaves the gain open"
        )


def campaign(asked: Asked, choice: Choice, first: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The campaign on the application itself: the points `first` are tried first, then each value alone. Where a proxy
    has ranked these, the values that it could not rank come before the others."""
    alone = [*choice.off_proxy().points, *choice.on_proxy().points] if first else choice.points
    return {
        "name": asked.title,
        "component": "together",
        "settings": {
            "components": {name: dict(own) for name, own in choice.components.items()},
            "first": [dict(point) for point in (*first, *alone)],
            **({"reads": list(choice.reads)} if choice.reads else {}),
        },
        "application": _application(asked),
        "search": {"method": "screening", "budget": _searched(asked, choice), "window": 0},
        "noise": {"policy": "none"},  # of few runs none is spent on a second look: the pairs are that
        "repetitions": {
            "default_runs": DEFAULT_RUNS,
            "final_pairs": asked.pairs,
            "more_pairs": MORE_PAIRS,
            "confirm_pairs": CONFIRM_PAIRS,
            "confirm_after_s": asked.later_s,
        },
        "executor": {"kind": "slurm", "max_trial_s": asked.timeout_s, **asked.executor},
    }


def campaign_on_proxy(asked: Asked, choice: Choice, script: Path) -> dict[str, Any]:
    """The campaign that ranks what a replay can rank on its `script`; its best is tried on the application."""
    found = campaign(asked, choice.on_proxy())
    found["name"] = asked.title + ITS_PROXY
    found["settings"].pop("reads", None)  # a replay reads nothing
    found["settings"] |= {"proxy": str(script), "objective": dict(OBJECTIVE)}
    found["noise"] = {"policy": "racing", "settings": {"share": REPEATED_ON_PROXY}}
    found["search"]["budget"] = _searched_on_proxy(choice)
    found["repetitions"] = {"default_runs": PROXY_DEFAULT_RUNS, "final_pairs": PROXY_PAIRS}
    return found


def cost(asked: Asked, choice: Choice, nodes: int, run_s: float, replayed: bool) -> Runs:
    """Estimate what the campaigns cost at most. `replayed`: the application is recorded, unless there is a trace of it,
    and its replay is tried first, each run of which takes as long as `proxy_campaign` lets it, at least."""
    recorded = replayed and asked.trace is None
    runs = recorded + DEFAULT_RUNS + _searched(asked, choice) + 2 * (asked.pairs + CONFIRM_PAIRS) + choice.proofs
    on_proxy = replayed * (PROXY_DEFAULT_RUNS + _searched_on_proxy(choice) + 2 * PROXY_PAIRS)
    seconds = runs * run_s + on_proxy * max(LEAST_PROXY_S, LEAST_SHARE * run_s)
    return Runs(runs, on_proxy, nodes * seconds / 3600)


def _if_they_spread(runs: int) -> int:
    """How many runs of the default there are beside these, at most."""
    return (SETS - 1) * runs


def _searched_on_proxy(choice: Choice) -> int:
    """Return enough runs for each value alone, for combinations and for the repeated runs."""
    points = len(choice.on_proxy().points)
    combined = min(COMBINED_ON_PROXY, points + 1)
    return min(ON_PROXY, math.ceil((points + combined) / (1 - REPEATED_ON_PROXY)))


def _searched(asked: Asked, choice: Choice) -> int:
    """A search of few values ends when each was tried alone and the best of them together."""
    return min(asked.searched, len(choice.points) + 2)


def _application(asked: Asked) -> dict[str, Any]:
    return {
        "script": str(asked.script),
        "user": asked.user,
        "directory": str(asked.directory),
        "options": list(asked.options),
    }
