# SPDX-License-Identifier: Apache-2.0
"""Campaign files for an application, and their estimated cost."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.tuner.application.choice import Choice
from reprise.tuner.definition.campaign_definition import LONGEST_NAME, NAME_LETTERS
from reprise.tuner.proxy.agreement import TOLERANCE
from reprise.tuner.proxy.replay_script import OBJECTIVE
from reprise.tuner.steps.default_runs import SETS

DEFAULT_RUNS = 2
SEARCHED = 7
"""Maximum number of application runs in the search."""
PAIRS = 4
"""Number of pairs of runs in the first session: one run with the winner's settings, and one without any settings."""
CONFIRM_PAIRS = 3
"""Number of pairs in the second session, in new jobs, if the winner seems better in the first session."""
MORE_PAIRS = 3
"""Number of pairs that are added to one of the two sessions if noise leaves the gain open."""
LATER_S = 600.0
"""Seconds between the two sessions."""
ON_PROXY = 90
"""Maximum number of runs of the search on a proxy."""
REPEATED_ON_PROXY = 0.2
"""Share of the runs on a proxy that repeat the best points."""
COMBINED_ON_PROXY = 10
"""Maximum number of runs on a proxy that combine values: all values that helped, or all of these except one."""
PROXY_DEFAULT_RUNS = 3
PROXY_PAIRS = 2
LEAST_PROXY_S = 3.0
"""Minimum seconds of a replay, unless the application takes less; process starts would dominate a shorter replay."""
LEAST_SHARE = 0.1
"""Minimum share of the application's calls that a replay repeats."""
FROM_PROXY = 4
"""Number of points ranked by the proxy that the application tries."""
AS_RANKED = 2
"""Number of these points that the application tries first and unchanged: the best and the worst on the proxy."""
WORTH_A_PROXY = 0.1
"""Minimum share of communication in the run time for which a proxy is worth the run that records the application."""
ITS_PROXY = " - proxy"
"""Suffix of the name of a campaign on a proxy."""


@dataclass(frozen=True)
class Asked:
    """A request to tune an application, with the settings of the executor for its trials."""

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
    trace: Path | None = None  # OTF2 trace of the application, to make the proxy from

    @property
    def sbatch_options(self) -> list[str]:
        """The partition, account and other settings of the executor, as options of sbatch."""
        return [f"--{name}={value}" for name, value in self.executor.items()]

    @property
    def title(self) -> str:
        """The campaign's name.

        By default, it consists of the script's name and the user. Characters that are not allowed in a campaign's name
        are replaced with `_`.
        """
        name = self.name or f"{self.script.stem[:60]} of {self.user}"
        return re.sub(f"[^{NAME_LETTERS}]", "_", name)[: LONGEST_NAME - len(ITS_PROXY)]


@dataclass(frozen=True)
class Runs:
    """Maximum number of runs of the application and of its proxy after the profiling run, and their cost.

    The cost is computed with the run time in the profile. It does not include the additional runs of the default that
    are made if its run times differ too much (`default_runs.spreads`).
    """

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


def campaign(asked: Asked, choice: Choice, ranked: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the campaign on the application, which adds one change at a time to the best settings so far.

    If a proxy has ranked settings, `ranked` are the points to try (`proxy_ranking.to_try`). The first AS_RANKED of
    these points run first and unchanged, to show whether the proxy ranks settings as the application does. The other
    points are tried as changes, after the first value of each component that the proxy could not rank. If the first of
    these points turns out to be slower than the second or than the default, the search continues without the ranking.
    """
    first, others = ranked[:AS_RANKED], ranked[AS_RANKED:]
    changes = choice.points
    if ranked:
        off = choice.off_proxy()
        once = len(off.components)
        changes = [*off.points[:once], *others, *off.points[once:], *choice.on_proxy().points]
    return {
        "name": asked.title,
        "component": "together",
        "settings": {
            "components": {name: dict(own) for name, own in choice.components.items()},
            **({"first": [dict(point) for point in first]} if first else {}),
            **({"reads": list(choice.reads)} if choice.reads else {}),
        },
        "application": _application(asked),
        "search": {
            "method": "stepwise",
            "settings": {
                "changes": [dict(change) for change in changes],
                **({"otherwise": [dict(point) for point in choice.points], "tolerance": TOLERANCE} if ranked else {}),
            },
            "budget": _searched(asked, choice),
            "window": 0,
        },
        "noise": {"policy": "none"},  # the search has too few runs to repeat points; the final pairs repeat the winner
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
    """Return the campaign that ranks settings on the replay `script`; the application tries the best of them."""
    found = campaign(asked, choice.on_proxy())
    found["name"] = asked.title + ITS_PROXY
    found["settings"].pop("reads", None)  # a replay reads nothing
    found["settings"] |= {
        "first": [dict(point) for point in choice.on_proxy().points],
        "proxy": str(script),
        "objective": dict(OBJECTIVE),
    }
    found["noise"] = {"policy": "racing", "settings": {"share": REPEATED_ON_PROXY}}
    found["search"] = {"method": "screening", "budget": _searched_on_proxy(choice), "window": 0}
    found["repetitions"] = {"default_runs": PROXY_DEFAULT_RUNS, "final_pairs": PROXY_PAIRS}
    return found


def cost(asked: Asked, choice: Choice, nodes: int, run_s: float, replayed: bool) -> Runs:
    """Estimate the maximum cost of the campaigns.

    If `replayed`, settings are tried first on a replay of the application. Unless there is a trace of the application,
    the cost includes one run that records the application for the replay. A run of the replay is assumed to take the
    minimum time that `proxy_campaign` sets.
    """
    recorded = replayed and asked.trace is None
    runs = recorded + DEFAULT_RUNS + _searched(asked, choice) + 2 * (asked.pairs + CONFIRM_PAIRS) + choice.proofs
    on_proxy = replayed * (PROXY_DEFAULT_RUNS + _searched_on_proxy(choice) + 2 * PROXY_PAIRS)
    seconds = runs * run_s + on_proxy * max(LEAST_PROXY_S, LEAST_SHARE * run_s)
    return Runs(runs, on_proxy, nodes * seconds / 3600)


def _if_they_spread(runs: int) -> int:
    """Return the maximum number of additional runs of the default if its first `runs` times differ too much."""
    return (SETS - 1) * runs


def _searched_on_proxy(choice: Choice) -> int:
    """Return the number of runs of the search on the proxy, at most ON_PROXY.

    The runs try each value alone, try combinations, and repeat the best points.
    """
    points = len(choice.on_proxy().points)
    combined = min(COMBINED_ON_PROXY, points + 1)
    return min(ON_PROXY, math.ceil((points + combined) / (1 - REPEATED_ON_PROXY)))


def _searched(asked: Asked, choice: Choice) -> int:
    """Return the number of runs of the search.

    A search of few values ends when each value has been tried alone, and the best values together.
    """
    return min(asked.searched, len(choice.points) + 2)


def _application(asked: Asked) -> dict[str, Any]:
    return {
        "script": str(asked.script),
        "user": asked.user,
        "directory": str(asked.directory),
        "options": list(asked.options),
    }
