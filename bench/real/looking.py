# SPDX-License-Identifier: Apache-2.0
"""The exhaustive search for gains (the look), which measures each setting alone; the caller defines how a program runs.

`bench.real` compares the gains that a look finds with a profile's verdicts and with the gains that users get.

1. Every setting runs once, in random order, among runs of the default.
2. Settings that seem faster are measured again, in rounds with the default, but at most the `MOST` fastest of each
   component. A setting seems faster if its run took less time than 1 - `WORTH` times the default's median, and less
   time than three quarters of the default's runs.
3. The best of these settings, and the combination of the best setting of each component (except settings that exclude
   each other), are measured once more, because the best of many settings may only have been lucky.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.real.comparing import DEFAULT, Environment
from bench.real.running import ProgramError
from reprise.matcher.decision.user_choices import conflict
from reprise.tuner.model.statistics import paired_gain

WORTH = 0.05
"""The smallest gain that makes a component worth trying, as in `reprise.tuner.profile.verdicts`."""
MOST = 2
LEAST_DEFAULTS = 6
SETTINGS_FOR_A_DEFAULT = 5
SCREENING = 0.6
"""Share (0 to 1) of a look's time limit that its first step may take."""
LAST_RUNS = 3
"""Number of variants in the last step: the default, the best setting, and the best combination of settings."""


@dataclass(frozen=True)
class Tried:
    """A setting of a component, as environment variables."""

    component: str
    name: str
    environment: Environment


@dataclass(frozen=True)
class Limits:
    """The limits of an exhaustive look.

    `pairs` is the number of rounds in the second and in the third step. `seconds` is the time limit of the whole look,
    and `run_s` is the duration of one run in seconds.
    """

    pairs: int
    seconds: float
    run_s: float

    def screened(self, count: int) -> int:
        """Return how many of `count` settings the first step has time to try."""
        runs = int(SCREENING * self.seconds / self.run_s)
        return min(count, max(1, runs - max(LEAST_DEFAULTS, runs // (SETTINGS_FOR_A_DEFAULT + 1))))


@dataclass
class Looking:
    """An exhaustive look (search for gains) in progress.

    `run` runs a setting, returns the run time in seconds, and raises ProgramError on failure. `names` and `conflicts`
    are the variables and the conflicting patterns of each component (see `look_points`).
    """

    run: Callable[[Environment], float]
    names: Mapping[str, Sequence[str]]
    conflicts: Mapping[str, Sequence[str]]
    limits: Limits
    order: random.Random
    clock: Callable[[], float]
    runs: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    def look(self, tried: Sequence[Tried]) -> dict[str, Any]:
        """Run the three steps and return their results as an object for JSON.

        `again` has the gain and bounds of each setting that was measured again. `best` has the best settings with their
        gain and bounds; `is_confirmed` means that the third step has measured them. `unknown` lists the components that
        were not finished in time.

        Raises ProgramError if a run of the default fails.
        """
        chosen = tried[: self.limits.screened(len(tried))]
        screened, defaults = self._screen(chosen)
        candidates = promising(chosen, screened, defaults)
        taken = candidates[: max(0, self._rounds_left() - LAST_RUNS - 1)]
        found = self._measured({one.name: one.environment for one in taken})
        again = {one.name: found[one.name] for one in taken if one.name in found}
        seen = {one.name for one in chosen} & {*screened, *self.failed}
        open_ones = [one for one in tried if one.name not in seen]
        open_ones += [one for one in candidates if one not in taken]
        decided = {one.component for one in taken if one.name in again and is_worth(again[one.name])}
        best = self._best([one for one in taken if one.name in again and again[one.name][1] > 0], again)
        return {
            "settings": len(tried),
            "runs": self.runs,
            "seconds": round(self.clock() - self.begun, 1),
            "default": defaults,
            "screened": screened,
            "failed": self.failed,
            "again": {
                one.name: {"component": one.component, "gain": again[one.name]} for one in taken if one.name in again
            },
            "best": best,
            "unknown": sorted({one.component for one in open_ones} - decided),
        }

    def _screen(self, tried: Sequence[Tried]) -> tuple[dict[str, float], list[float]]:
        """Run each setting once, among default runs; return the run times of completed settings, and of the default."""
        count = max(LEAST_DEFAULTS, len(tried) // SETTINGS_FOR_A_DEFAULT) if tried else 0
        line: list[Tried | None] = [*tried, *[None] * count]
        self.order.shuffle(line)
        screened: dict[str, float] = {}
        defaults: list[float] = []
        for one in line:
            if self.clock() - self.begun > self.limits.seconds * (SCREENING + 1) / 2 and len(defaults) > 1:
                break
            if one is None:
                defaults.append(self._run({}))
            elif (seconds := self._try(one.name, one.environment)) is not None:
                screened[one.name] = seconds
        return screened, defaults

    def _measured(self, variants: Mapping[str, Environment]) -> dict[str, list[float]]:
        """Run settings in rounds with the default; return gain and bounds by name, without settings that failed."""
        times: dict[str, list[float]] = {name: [] for name in (DEFAULT, *variants)}
        for _ in range(self.limits.pairs if variants else 0):
            for name in self.order.sample(list(times), len(times)):
                seconds = self._try(name, variants[name]) if name else self._run({})
                if seconds is None:
                    del times[name]
                else:
                    times[name].append(seconds)
        return {
            name: [round(one, 4) for one in paired_gain(times[DEFAULT], own)] for name, own in times.items() if name
        }

    def _best(self, gaining: Sequence[Tried], again: Mapping[str, Sequence[float]]) -> dict[str, Any] | None:
        """Return the best setting or the best combination of settings; None if nothing gains beyond noise."""
        if not gaining:
            return None
        ranked = sorted(gaining, key=lambda one: -again[one.name][0])
        several = together(ranked, self.names, self.conflicts)
        groups = {ranked[0].name: ranked[:1], " ".join(one.name for one in several): several}
        if self._rounds_left() < len(groups) + 1:
            return {"settings": [ranked[0].name], "gain": list(again[ranked[0].name]), "is_confirmed": False}
        found = self._measured({name: merged(group) for name, group in groups.items()})
        name = max(found, key=lambda one: found[one][0], default=ranked[0].name)
        gain = found.get(name, list(again[ranked[0].name]))
        return {"settings": [one.name for one in groups[name]], "gain": gain, "is_confirmed": name in found}

    def _try(self, name: str, environment: Environment) -> float | None:
        try:
            return self._run(environment)
        except ProgramError as error:
            self.failed[name] = str(error)[-200:]
            return None

    def _run(self, environment: Environment) -> float:
        self.runs += 1
        return self.run(environment)

    def _rounds_left(self) -> int:
        """Return how many settings, including the default, can be measured in all rounds in the remaining time."""
        spent = self.clock() - self.begun
        each = spent / self.runs if self.runs and spent else self.limits.run_s
        return int((self.limits.seconds - spent) / (each * self.limits.pairs))


def promising(tried: Sequence[Tried], screened: Mapping[str, float], defaults: Sequence[float]) -> list[Tried]:
    """Return the settings that seem faster than the default, fastest first, but at most `MOST` of each component."""
    if len(defaults) < 2:
        return []
    below = min((1 - WORTH) * statistics.median(defaults), statistics.quantiles(defaults, n=4)[0])
    fast = sorted((one for one in tried if screened.get(one.name, below) < below), key=lambda one: screened[one.name])
    count: dict[str, int] = {}
    found = []
    for one in fast:
        count[one.component] = count.get(one.component, 0) + 1
        if count[one.component] <= MOST:
            found.append(one)
    return found


def together(
    ranked: Sequence[Tried], names: Mapping[str, Sequence[str]], conflicts: Mapping[str, Sequence[str]]
) -> list[Tried]:
    """Return the best setting of each component, but omit settings that exclude a better one."""
    taken: list[Tried] = []
    for one in ranked:
        if all(one.component != other.component and not _exclude(one, other, names, conflicts) for other in taken):
            taken.append(one)
    return taken


def _exclude(
    one: Tried, other: Tried, names: Mapping[str, Sequence[str]], conflicts: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether two settings exclude each other, as in `reprise.tuner.together.together_component`."""
    mine, its = names[one.component], names[other.component]
    return bool(
        set(mine) & set(its) or conflict(conflicts[one.component], its) or conflict(conflicts[other.component], mine)
    )


def merged(settings: Sequence[Tried]) -> Environment:
    """Merge the variables of several settings; LD_PRELOAD lists the libraries of all settings."""
    found = {name: value for one in settings for name, value in one.environment.items()}
    if libraries := [one.environment["LD_PRELOAD"] for one in settings if "LD_PRELOAD" in one.environment]:
        found["LD_PRELOAD"] = ":".join(libraries)
    return found


def is_worth(gain: Sequence[float]) -> bool:
    """Return whether a gain, with its bounds, makes a component worth trying."""
    return gain[0] >= WORTH and gain[1] > 0


def cost(tried: Sequence[Tried], limits: Limits) -> str:
    """Describe the maximum number of runs and minutes that a look takes."""
    count = limits.screened(len(tried))
    components = {one.component for one in tried}
    screening = count + max(LEAST_DEFAULTS, count // SETTINGS_FOR_A_DEFAULT)
    most = limits.pairs * (min(count, MOST * len(components)) + 1 + LAST_RUNS)
    left = f" (of {len(tried)}, because there is no time for more)" if count < len(tried) else ""
    return (
        f"{count} settings{left} of {len(components)} components: {screening} runs, then {limits.pairs} for each "
        f"setting that seems faster, at most {most}; the first {screening} runs take some "
        f"{screening * limits.run_s / 60:.0f} minutes, and the look ends after some {limits.seconds / 60:.0f} minutes "
        "at the latest"
    )
