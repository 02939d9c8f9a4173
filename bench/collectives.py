# SPDX-License-Identifier: Apache-2.0
"""What a campaign over Open MPI's collectives costs, and how good what it finds is, beside an exhaustive search.

    python -m bench.collectives [--collectives bcast,reduce] [--sizes 256:256K] [--repeats 12] [--keep FILE]

On a virtual cluster, by the product's own campaigns: every point of every size by a run of its own (the exhaustive
search), `reprise tune collectives` as it is, and the same with `--strategy per-size`. All measure with as many calls.
Then the default, what each campaign chose for jobs, and the exhaustive search's best points are measured again, in
turn and several times.

The best point of a size is the one with the least mean then, of the exhaustive search's five best. A distance to it, in
percent, counts where it is beyond noise: where the lower of its 95 % bounds (`tuner.statistics.paired_gain`) is over 0.
Times are those of the runs, without the proof of the file, which only a campaign has; `runs` counts launches. The last
line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench import collectives_roundtrip
from bench.measured import trials_of
from database.model import Trial, TrialRole
from reprise.config import Config
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install
from tuner.collectives import spaces
from tuner.collectives.benchmarks import ROUND
from tuner.collectives.build import describe
from tuner.collectives.campaign_file import campaign
from tuner.collectives.component import CollectivesComponent
from tuner.collectives.settings import read as read_settings
from tuner.component import TrialOutput, Wanted
from tuner.errors import ObjectiveError
from tuner.space import Parametrization
from tuner.statistics import paired_gain

NODES = 4
COLLECTIVES = "bcast,reduce,allreduce,allgather"
SIZES = "256:256K"
SEGMENTS = (0, *(2**power for power in range(6, 18, 2)))
FANOUTS = (2, 3)
CALLS = {"warmup": 2, "repetitions": 10, "max_seconds": 1}
BEST = 5  # points of the exhaustive search that are measured again
REPEATS = 12
TABLES = 100_000
DEFAULT, EXHAUSTIVE, SHARED, PER_SIZE = "default", "exhaustive", "shared", "per-size"

Points = Mapping[str, Parametrization]  # by problem
Times = Mapping[str, Sequence[float]]  # seconds of each repetition, by problem


@dataclass(frozen=True)
class Campaign:
    """What a campaign cost, in seconds and launches, and its trials."""

    seconds: float
    runs: int
    trials: Sequence[Trial]
    told: Mapping[str, Any]


class Bench:
    """A virtual cluster with Reprise, and campaigns on it."""

    def __init__(self, cluster: VirtualCluster, collectives: Sequence[str], sizes: str) -> None:
        self.cluster = cluster
        self.collectives = collectives
        self.sizes = sizes
        self.settings = {**CALLS, "segments": list(SEGMENTS), "fanouts": list(FANOUTS)}
        self.component = CollectivesComponent(
            "openmpi-collectives",
            "1",
            read_settings({}, {**self.definition(SHARED)["settings"]}),
            describe("ompi_info"),
            Config(),
        )

    def definition(self, strategy: str) -> dict[str, Any]:
        """The campaign file of a strategy; the exhaustive search is a campaign that tries every point once."""
        found = campaign(
            collectives=self.collectives,
            sizes=self.sizes,
            nodes=[NODES],
            tasks_per_node=[1],
            strategy=PER_SIZE if strategy == EXHAUSTIVE else strategy,
            name=strategy,
            executor={"kind": "allocation"},
        )
        found["settings"] |= self.settings
        found["executor"]["max_trial_s"] = 60
        if strategy == EXHAUSTIVE:
            found["search"] = {"method": "random", "budget": 10_000, "window": 0}
            found["repetitions"] = {"default_runs": 1, "final_pairs": 2}
        return found

    def run(self, strategy: str) -> Campaign:
        """A whole campaign, as an admin starts it."""
        path = f"/home/reprise/{strategy}.yaml"
        self.cluster.write(path, yaml.safe_dump(self.definition(strategy)), user="reprise")
        began = time.monotonic()
        done = self.cluster.run(["reprise", "tune", "run", path, "--yes", "--json"], user="reprise", timeout_s=4 * 3600)
        told = json.loads(done.stdout.splitlines()[-1])
        trials = trials_of(self.cluster, told["campaign"])
        if strategy == EXHAUSTIVE:
            trials = [trial for trial in trials if trial.role is TrialRole.SEARCH]
        seconds = sum(trial.elapsed_s or 0.0 for trial in trials)
        runs = len(trials) if strategy == EXHAUSTIVE else self._launches(told)
        _say(f"{strategy}: {runs} runs, {seconds:.0f} s of runs, {time.monotonic() - began:.0f} s in all")
        return Campaign(seconds, runs, trials, told)

    def _launches(self, told: Mapping[str, Any]) -> int:
        """Trials of one run lead to the directory of one of them."""
        places = self.cluster.path(told["directory"]).glob("*/[0-9]*")
        return sum(not place.is_symlink() for place in places)

    def measure(self, variants: Mapping[str, Points], repeats: int) -> dict[str, dict[str, list[float]]]:
        """Seconds of each problem with each variant's points, by variant: so many times, in random order each time."""
        order = random.Random(1)  # noqa: S311 no secret
        launches = [
            (name, chosen, number, part)
            for number in range(repeats)
            for name, points in order.sample(sorted(variants.items()), len(variants))
            for part, chosen in enumerate(_parts(points))
        ]
        place = "/home/alice/again"
        lines = ["set -e"]
        for name, chosen, number, part in launches:
            plan = self.component.plan_round([Wanted(key, point) for key, point in chosen])
            directory = f"{place}/{name}/{number}/{part}"
            self.cluster.write(f"{directory}/.keep", "", user="alice")
            for file, text in plan.files.items():
                self.cluster.write(f"{directory}/{file}", text, user="alice")
            given = " ".join(f"{k}={v.replace('{directory}', directory)}" for k, v in plan.environment.items())
            lines.append(f"{given} srun --mpi=pmix {' '.join(plan.argv)} >{directory}/out 2>&1 || true")
        self.cluster.write(f"{place}/all.sh", "\n".join(lines) + "\n", user="alice")
        allocate = ["salloc", "-Q", f"-N{NODES}", "--ntasks-per-node=1", "env", "REPRISE=off"]
        self.cluster.run([*allocate, "sh", f"{place}/all.sh"], user="alice", timeout_s=3600)
        found: dict[str, dict[str, list[float]]] = {
            name: {key: [] for key in points} for name, points in variants.items()
        }
        for name, chosen, number, part in launches:
            text = self.cluster.path(f"{place}/{name}/{number}/{part}/out").read_text()
            for key, _ in chosen:
                try:
                    found[name][key].append(self.component.read(key, TrialOutput(0, text, "", 0.0)).value)
                except ObjectiveError as error:
                    _say(f"{name}: {error}")
                    found[name][key].append(math.nan)
        return found


def _parts(points: Points) -> Iterator[list[tuple[str, Parametrization]]]:
    """As many as one run may measure."""
    items = list(points.items())
    yield from (items[first : first + ROUND] for first in range(0, len(items), ROUND))


def chosen(found: Campaign) -> dict[str, Parametrization]:
    """What jobs get: the winners that have a rule, and the default elsewhere."""
    given: dict[str, Parametrization] = {one["problem"]: spaces.DEFAULT for one in found.told["problems"]}
    for record in found.told["records"]:
        for rule in record["parametrization"]["rules"]:
            if rule["applied"]:
                given[rule["problem"]] = {name: rule[name] for name in spaces.DEFAULT}
    return given


def leaders(trials: Sequence[Trial], count: int = BEST) -> list[dict[str, Parametrization]]:
    """The best points of each problem by an exhaustive search, in `count` variants: the first has the best of each."""
    by_problem: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.value is not None:
            by_problem.setdefault(trial.problem, []).append(trial)
    ranked = {key: sorted(of, key=lambda one: one.value or 0.0)[:count] for key, of in by_problem.items()}
    return [{key: of[min(place, len(of) - 1)].parametrization for key, of in ranked.items()} for place in range(count)]


def best_of(times: Sequence[Times]) -> dict[str, Sequence[float]]:
    """Of each problem the repetitions of the variant with the least mean."""
    return {key: min((one[key] for one in times), key=_mean) for key in times[0]}


def _mean(times: Sequence[float]) -> float:
    """Infinite for a point that failed again and again, or sometimes."""
    return math.inf if any(map(math.isnan, times)) else statistics.fmean(times)


def distance(best: Sequence[float], taken: Sequence[float]) -> float:
    """By how many percent what was chosen is slower than the best point; 0 where that is not beyond noise."""
    gain, _, high = _gain(best, taken)
    return -100 * gain if high < 0 else 0.0


def _gain(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Of the repetitions that both were measured in."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if not math.isnan(a + b)]
    return paired_gain([a for a, _ in both], [b for _, b in both])


def slower(defaults: Times, taken: Times, points: Points) -> list[str]:
    """Problems whose rule is slower than the default beyond noise."""
    ruled = [key for key, point in points.items() if point["algorithm"] != spaces.DEFAULT["algorithm"]]
    return [key for key in ruled if _gain(defaults[key], taken[key])[2] < 0]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def summary(exhaustive: Campaign, campaigns: Mapping[str, Campaign], again: Mapping[str, Times]) -> dict[str, Any]:
    """All keys of the last line that say how good campaigns are."""
    best = best_of([again[name] for name in again if name.startswith(EXHAUSTIVE)])
    far = {name: {key: distance(best[key], again[name][key]) for key in best} for name in (*campaigns, DEFAULT)}
    shared, per_size = campaigns[SHARED], campaigns[PER_SIZE]
    return {
        "time_vs_exhaustive": rounded(100 * shared.seconds / exhaustive.seconds),
        "distance_mean": rounded(statistics.fmean(far[SHARED].values())),
        "distance_median": rounded(statistics.median(far[SHARED].values())),
        "runs_ratio": rounded(per_size.runs / shared.runs),
        "per_size_distance_mean": rounded(statistics.fmean(far[PER_SIZE].values())),
        "per_size_time_vs_exhaustive": rounded(100 * per_size.seconds / exhaustive.seconds),
        "default_distance_mean": rounded(statistics.fmean(far[DEFAULT].values())),
        "slower_rules": len(slower(again[DEFAULT], again[SHARED], chosen(shared))),
        "rules": sum(point["algorithm"] != 0 for point in chosen(shared).values()),
        "problems": len(best),
        "runs": {EXHAUSTIVE: exhaustive.runs, SHARED: shared.runs, PER_SIZE: per_size.runs},
        "seconds": {name: round(one.seconds) for name, one in {EXHAUSTIVE: exhaustive, **campaigns}.items()},
        "distances": {key: rounded(value) for key, value in far[SHARED].items()},
    }


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.collectives", description=__doc__)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--tables", type=int, default=TABLES, help="random tables that are written and read")
    parser.add_argument("--keep", type=Path, help="write all that was measured to this file")
    given = parser.parse_args(argv)
    with VirtualCluster(nodes=NODES) as cluster:
        install(cluster)
        bench = Bench(cluster, given.collectives.split(","), given.sizes)
        campaigns = {name: bench.run(name) for name in (SHARED, PER_SIZE)}
        exhaustive = bench.run(EXHAUSTIVE)
        variants: dict[str, Points] = {name: chosen(one) for name, one in campaigns.items()}
        variants[DEFAULT] = dict.fromkeys(variants[SHARED], spaces.DEFAULT)
        variants |= {f"{EXHAUSTIVE}-{place}": one for place, one in enumerate(leaders(exhaustive.trials), 1)}
        again = bench.measure(variants, given.repeats)
    if given.keep:
        rows = {
            name: [(t.problem, str(t.role), t.parametrization, t.value, t.elapsed_s, str(t.state)) for t in one.trials]
            for name, one in {EXHAUSTIVE: exhaustive, **campaigns}.items()
        }
        given.keep.write_text(json.dumps({"trials": rows, "again": again, "variants": variants}))
    roundtrip = collectives_roundtrip.measure(given.tables)
    result = summary(exhaustive, campaigns, again)
    print(json.dumps({**result, "roundtrip_failures": roundtrip["roundtrip_failures"]}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
