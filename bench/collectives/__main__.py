# SPDX-License-Identifier: Apache-2.0
"""Compare the cost and the results of a campaign for Open MPI's collectives with those of an exhaustive search.

    python -m bench.collectives [--collectives bcast,reduce] [--sizes 256:256K] [--repeats 12] [--keep FILE]
        [--latency 500] [--rate 1gbit]

The virtual cluster pins each node to one CPU. `--latency` sets the network latency between its nodes, in microseconds;
0 means no added latency. The benchmark runs `reprise tune collectives` with its defaults, then with `--strategy
per-size`, and an exhaustive search. All three use the same number of calls per measurement. The exhaustive search
follows Sartori 2024: each point of the grid of each size has a separate run, even if an algorithm ignores the segment
size or the fan-out. The five best points of each size are measured again several times, in alternation. The point with
the lowest mean is the best point.

The best of several similar points may only have been lucky. Therefore, the best points, the default and the choice of
each campaign are finally measured again, in alternation and equally often. A distance from the best point, in percent,
counts only if it is beyond noise, i.e. if its lower 95 % bound (`statistics.paired_gain`) is over 0. Times are those of
the runs; they do not include the check of a campaign's rules file.

The last line of output is a JSON object. `network` describes the network, and `runs` counts launches.
`time_vs_distinct` compares a campaign's time with that of an exhaustive search that runs each group of equivalent
points only once.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shlex
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.collectives import rules_roundtrip
from bench.measured import trials_of
from reprise.config import Config
from reprise.database.entities import Trial
from reprise.tuner.errors import ObjectiveError
from reprise.tuner.model.component import TrialOutput, Wanted
from reprise.tuner.model.space import Parametrization
from reprise.tuner.model.statistics import paired_gain
from reprise.tuner.openmpi import collective_spaces
from reprise.tuner.openmpi.benchmarks import ROUND
from reprise.tuner.openmpi.collectives_campaign import campaign
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from reprise.tuner.openmpi.installed_build import describe
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install, tune

NODES = 4
COLLECTIVES = "bcast,reduce,allreduce,allgather"
SIZES = "256,1K,4K,16K,64K,256K"
SEGMENTS = (0, *(2**power for power in range(6, 17)))
FANOUTS = (2, 3)
CALLS = {"warmup": 10, "repetitions": 100, "max_seconds": 0.02}
BEST = 5  # number of best points of the exhaustive search that are measured again
REPEATS = 12
BETWEEN_S = 120.0  # time between a campaign's two sessions; enough, because the cluster's noise changes within seconds
STOPPED = 124  # the exit status of `timeout` if it stopped the command
ATTEMPTS = 2  # maximum number of launches of a run; about one launch in 500 hangs, whatever it measures
TABLES = 100_000
DEFAULT, EXHAUSTIVE, SHARED, PER_SIZE = "default", "exhaustive", "shared", "per-size"

Key = tuple[object, ...]  # identifies a group of equivalent points, which differ only in settings that have no effect
Points = Mapping[str, Parametrization]  # one point per problem
Times = Mapping[str, Sequence[float]]  # time of each repetition in seconds, by problem


@dataclass(frozen=True)
class Campaign:
    """A campaign's cost in seconds and in launches (`runs`), its trials, and the JSON report of `reprise tune`."""

    seconds: float
    runs: int
    trials: Sequence[Trial]
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Launched:
    """A run of the benchmark. `seconds` includes the launch; `hung` means that `timeout` stopped the run."""

    output: str
    seconds: float
    hung: bool = False


@dataclass(frozen=True)
class Measured:
    """A run with a point's settings: its objective (NaN if it failed) and its duration, both in seconds."""

    point: Parametrization
    value: float
    seconds: float


@dataclass(frozen=True)
class Exhaustive:
    """All runs of an exhaustive search, by problem. The runs of equivalent points form one group."""

    found: Mapping[str, Sequence[Sequence[Measured]]]

    @property
    def alike(self) -> list[Sequence[Measured]]:
        """All groups of runs of equivalent points, for all problems together."""
        return [runs for points in self.found.values() for runs in points]

    @property
    def runs(self) -> int:
        """The number of runs of the exhaustive search."""
        return sum(map(len, self.alike))

    @property
    def seconds(self) -> float:
        """The total time of all runs of the exhaustive search, in seconds."""
        return sum(run.seconds for runs in self.alike for run in runs)

    @property
    def seconds_of_distinct(self) -> float:
        """The time in seconds if each group of equivalent points had run only once: the sum of the groups' means."""
        return sum(statistics.fmean(run.seconds for run in runs) for runs in self.alike)


class Bench:
    """A virtual cluster with Reprise; the methods run campaigns, exhaustive searches and measurements on it."""

    def __init__(
        self, cluster: VirtualCluster, collectives: Sequence[str], sizes: str, between_s: float = BETWEEN_S
    ) -> None:
        self.cluster = cluster
        self.between_s = between_s
        self.collectives = collectives
        self.sizes = sizes
        self.component = CollectivesComponent(
            "openmpi-collectives",
            "1",
            read_settings({}, self.definition(SHARED)["settings"]),
            describe("ompi_info"),
            Config(),
        )

    def definition(self, strategy: str) -> dict[str, Any]:
        """Return the definition of a campaign that uses this strategy."""
        found = campaign(
            collectives=self.collectives,
            sizes=self.sizes,
            nodes=[NODES],
            tasks_per_node=[1],
            strategy=strategy,
            name=strategy,
            executor={"kind": "allocation", "max_trial_s": 60},
        )
        found["repetitions"]["confirm_after_s"] = self.between_s
        found["settings"] |= {**CALLS, "segments": list(SEGMENTS), "fanouts": list(FANOUTS)}
        return found

    def run(self, strategy: str) -> Campaign:
        """Run a campaign with `reprise tune run`, as an administrator does, and return its cost and results."""
        path = f"/home/reprise/{strategy}.yaml"
        began = time.monotonic()
        told = tune(self.cluster, path, self.definition(strategy), timeout_s=4 * 3600)
        trials = trials_of(self.cluster, told["campaign"])
        seconds = sum(trial.elapsed_s or 0.0 for trial in trials)
        runs = self._launches(told)
        _say(f"{strategy}: {runs} runs, {seconds:.0f} s of runs, {time.monotonic() - began:.0f} s in all")
        return Campaign(seconds, runs, trials, told)

    def _launches(self, told: Mapping[str, Any]) -> int:
        """Return the number of launches; the directory of a trial without its own launch is a symbolic link."""
        places = self.cluster.path(told["directory"]).glob("*/[0-9]*")
        return sum(not place.is_symlink() for place in places)

    def exhaust(self) -> Exhaustive:
        """Run every point of every grid separately, in random order; if a run fails, its value is NaN."""
        spaces_of = {problem.key: problem.space for problem in self.component.problems()}
        wanted = [(key, point) for key, searched in spaces_of.items() for point in searched.grid()]
        order = random.Random(1)  # noqa: S311 - not used for security
        order.shuffle(wanted)
        began = time.monotonic()
        found: dict[str, dict[Key, list[Measured]]] = {}
        for (key, point), launched in zip(wanted, self._launch("every", [[one] for one in wanted]), strict=True):
            same = spaces_of[key].key(point)
            found.setdefault(key, {}).setdefault(same, []).append(
                Measured(point, self._value(key, launched), launched.seconds)
            )
        _say(f"{EXHAUSTIVE}: {len(wanted)} runs, {time.monotonic() - began:.0f} s in all")
        return Exhaustive({key: list(points.values()) for key, points in found.items()})

    def measure(self, variants: Mapping[str, Points], repeats: int) -> dict[str, dict[str, list[float]]]:
        """Measure each problem with each variant `repeats` times, in random order; return the times by variant."""
        order = random.Random(1)  # noqa: S311 - not used for security
        launches = [
            (name, chosen)
            for _ in range(repeats)
            for name, points in order.sample(sorted(variants.items()), len(variants))
            for chosen in _parts(points)
        ]
        found: dict[str, dict[str, list[float]]] = {
            name: {key: [] for key in points} for name, points in variants.items()
        }
        done = self._launch("again", [chosen for _, chosen in launches])
        for (name, chosen), launched in zip(launches, done, strict=True):
            for key, _ in chosen:
                found[name][key].append(self._value(key, launched))
        return found

    def _value(self, key: str, launched: Launched) -> float:
        """Return the time that a launch measured for a problem, in seconds; NaN if the run failed."""
        try:
            return self.component.read(key, TrialOutput(0, launched.output, "", 0.0)).value
        except ObjectiveError as error:
            _say(str(error))
            return math.nan

    def _launch(self, name: str, launches: Sequence[Sequence[tuple[str, Parametrization]]]) -> list[Launched]:
        """Run the launches one after the other in one allocation of user alice; if a launch hangs, try it once more."""
        found: dict[int, Launched] = {}
        for attempt in range(ATTEMPTS):
            missing = [number for number in range(len(launches)) if number not in found or found[number].hung]
            if not missing:
                break
            found |= self._launch_once(f"/home/alice/{name}.{attempt}", {n: launches[n] for n in missing})
        return [found[number] for number in range(len(launches))]

    def _launch_once(
        self, place: str, launches: Mapping[int, Sequence[tuple[str, Parametrization]]]
    ) -> dict[int, Launched]:
        lines = []
        for number, chosen in launches.items():
            plan = self.component.plan_round([Wanted(key, point) for key, point in chosen])
            directory = f"{place}/{number}"
            for file, text in {**plan.files, "output": ""}.items():
                self.cluster.write(f"{directory}/{file}", text, user="alice")
            given = " ".join(f"{k}={v.replace('{directory}', directory)}" for k, v in plan.environment.items())
            lines += [
                "began=$EPOCHREALTIME",
                f"{given} timeout 60 srun --mpi=pmix {shlex.join(plan.argv)} >{directory}/output 2>&1",
                f"echo $began $EPOCHREALTIME $? >{directory}/times",
            ]
        self.cluster.write(f"{place}/all.sh", "\n".join(lines) + "\n", user="alice")
        allocate = ["salloc", "-Q", f"-N{NODES}", "--ntasks-per-node=1", "env", "REPRISE=off"]
        self.cluster.run([*allocate, "bash", f"{place}/all.sh"], user="alice", timeout_s=4 * 3600)
        return {number: self._launched(f"{place}/{number}") for number in launches}

    def _launched(self, directory: str) -> Launched:
        began, ended, status = self.cluster.path(f"{directory}/times").read_text().split()
        output = self.cluster.path(f"{directory}/output").read_text()
        return Launched(output, float(ended) - float(began), int(status) == STOPPED)


def _parts(points: Points) -> Iterator[list[tuple[str, Parametrization]]]:
    """Split the points into lists that are short enough for one run."""
    items = list(points.items())
    yield from (items[first : first + ROUND] for first in range(0, len(items), ROUND))


def chosen(found: Campaign) -> dict[str, Parametrization]:
    """Return, for each problem, the point that jobs use: the winner if it has a rule, otherwise the default."""
    given: dict[str, Parametrization] = {one["problem"]: collective_spaces.DEFAULT for one in found.told["problems"]}
    for record in found.told["records"]:
        for rule in record["parametrization"]["rules"]:
            if rule["applied"]:
                given[rule["problem"]] = {name: rule[name] for name in collective_spaces.DEFAULT}
    return given


def leaders(exhaustive: Exhaustive, count: int = BEST) -> list[dict[str, Parametrization]]:
    """Return `count` variants. The first has the best point for each problem, the second the next best, and so on."""
    ranked = {
        key: [runs[0].point for runs in sorted(points, key=lambda runs: _mean([run.value for run in runs]))][:count]
        for key, points in exhaustive.found.items()
    }
    return [{key: of[min(place, len(of) - 1)] for key, of in ranked.items()} for place in range(count)]


def best_of(variants: Mapping[str, Points], times: Mapping[str, Times]) -> dict[str, Parametrization]:
    """Return, for each problem, the point from the variant with the lowest mean time."""
    first, *_ = variants.values()
    return {key: variants[min(variants, key=lambda name: _mean(times[name][key]))][key] for key in first}


def _mean(times: Sequence[float]) -> float:
    """Return the mean of the times, or infinity if any run failed."""
    return math.inf if any(map(math.isnan, times)) else statistics.fmean(times)


def distance(best: Sequence[float], taken: Sequence[float]) -> float:
    """Return the percentage by which `taken` is slower than `best`, or 0 if the difference is not beyond noise."""
    lost, _, high = gain(best, taken)
    return -100 * lost if high < 0 else 0.0


def gain(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Return the gain of `second` over `first` and its bounds, from the repetitions for which both have a value."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if not math.isnan(a + b)]
    return paired_gain([a for a, _ in both], [b for _, b in both])


def slower(defaults: Times, taken: Times, points: Points) -> list[str]:
    """Return the problems whose rule is slower than the default beyond noise."""
    ruled = [key for key, point in points.items() if point["algorithm"] != collective_spaces.DEFAULT["algorithm"]]
    return [key for key in ruled if gain(defaults[key], taken[key])[2] < 0]


def rounded(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def summary(exhaustive: Exhaustive, campaigns: Mapping[str, Campaign], again: Mapping[str, Times]) -> dict[str, Any]:
    """Return the part of the final JSON object that describes the cost and quality of campaigns."""
    best = again[EXHAUSTIVE]
    far = {name: {key: distance(best[key], again[name][key]) for key in best} for name in (*campaigns, DEFAULT)}
    shared, per_size = campaigns[SHARED], campaigns[PER_SIZE]
    return {
        "time_vs_exhaustive": rounded(100 * shared.seconds / exhaustive.seconds),
        "time_vs_distinct": rounded(100 * shared.seconds / exhaustive.seconds_of_distinct),
        "distance_mean": rounded(statistics.fmean(far[SHARED].values())),
        "distance_median": rounded(statistics.median(far[SHARED].values())),
        "runs_ratio": rounded(per_size.runs / shared.runs),
        "per_size_distance_mean": rounded(statistics.fmean(far[PER_SIZE].values())),
        "per_size_time_vs_exhaustive": rounded(100 * per_size.seconds / exhaustive.seconds),
        "default_distance_mean": rounded(statistics.fmean(far[DEFAULT].values())),
        "slower_rules": len(slower(again[DEFAULT], again[SHARED], chosen(shared))),
        "rules": sum(point["algorithm"] != 0 for point in chosen(shared).values()),
        "problems": len(best),
        "runs": {EXHAUSTIVE: exhaustive.runs, **{name: one.runs for name, one in campaigns.items()}},
        "distinct": len(exhaustive.alike),
        "seconds": {EXHAUSTIVE: round(exhaustive.seconds), **{name: round(c.seconds) for name, c in campaigns.items()}},
        "distances": {key: rounded(value) for key, value in far[SHARED].items()},
    }


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.collectives", description=__doc__)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--tables", type=int, default=TABLES, help="number of random tables to write and read")
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="latency between nodes, in microseconds")
    parser.add_argument("--rate", default="1gbit", help="rate of every link, in tc syntax")
    parser.add_argument("--keep", type=Path, help="write all measurements to this file")
    given = parser.parse_args(argv)
    with VirtualCluster(NODES, given.rate, given.latency, pinned=True) as cluster:
        _say(cluster.describe())
        install(cluster)
        bench = Bench(cluster, given.collectives.split(","), given.sizes)
        campaigns = {name: bench.run(name) for name in (SHARED, PER_SIZE)}
        exhaustive = bench.exhaust()
        first: dict[str, Points] = {f"leader {place}": one for place, one in enumerate(leaders(exhaustive), 1)}
        variants: dict[str, Points] = {name: chosen(one) for name, one in campaigns.items()}
        variants[DEFAULT] = dict.fromkeys(variants[SHARED], collective_spaces.DEFAULT)
        variants[EXHAUSTIVE] = best_of(first, bench.measure(first, given.repeats))
        again = bench.measure(variants, given.repeats)
    if given.keep:
        rows = {
            name: [(t.problem, str(t.role), t.parametrization, t.value, t.elapsed_s, str(t.state)) for t in one.trials]
            for name, one in campaigns.items()
        }
        every = {
            key: [[(m.point, m.value, m.seconds) for m in runs] for runs in p] for key, p in exhaustive.found.items()
        }
        given.keep.write_text(json.dumps({"every": every, "trials": rows, "again": again, "variants": variants}))
    roundtrip = rules_roundtrip.measure(given.tables)
    result = summary(exhaustive, campaigns, again) | {"network": cluster.describe()}
    print(json.dumps({**result, "roundtrip_failures": roundtrip["roundtrip_failures"]}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
