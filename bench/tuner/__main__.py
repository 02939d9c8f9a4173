# SPDX-License-Identifier: Apache-2.0
"""Compare the tuner's methods with other tuners (the peers), on landscapes in which every point is measured.

    python -m bench.tuner [--seeds 30] [--methods LIST] [--landscapes LIST] [--quick] [--fresh] [--store]

The landscapes are those in bench/landscapes/. `evals_to_5pct` is the number of evaluations until one is within 5 % of
the optimum, or 101 if 100 evaluations are not enough: the median over all landscapes and seeds
(`evals_to_5pct_by_landscape`: the median for each landscape). `noise_distance` is the percentage by which the mean of
the recommended point exceeds the best mean after a fixed budget: the mean over all noisy landscapes and seeds
(`noise_distance_by_landscape`: the mean for each landscape). `needle_found` is the share of games in which a resampling
policy recommends one of a few points that are far better than all others (`bench/tuner/needles.py`). `ask_ms` is the
median time that gp-ei takes to propose one of 2,000 points after 100 observations. `kill_lost` and `kill_doubled` are
the numbers of lost and of duplicate trials when a campaign's coordinator is killed (`bench/tuner/kill.py`). The last
line of output is a JSON object. A run with all methods rewrites docs/reference/tuner-evaluation.md.

All games (searches of one landscape by one method) are deterministic. A game with unchanged code, landscape and seeds
is not played again, because its result is in build/bench-tuner/results. The peers' results are also stored in the
repository, in bench/tuner/peers.json, because some peers take up to half a second to propose a point, which adds up to
hours. `--fresh` plays all games, and `--store` writes bench/tuner/peers.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench.emulated import DIRECTORY, SEED
from bench.tuner import tuner_page
from bench.tuner.games import ARENAS, FAR
from bench.tuner.needles import needle_found
from bench.tuner.own_methods import POLICIES, SEARCHES
from bench.tuner.peers import PEERS
from bench.tuner.play import Task, play_all
from reprise.tuner import search
from reprise.tuner.model.space import Parameter, Space

QUICK_LANDSCAPES, QUICK_SEEDS = ("sbb.2",), 2
NEEDLE_SEEDS = 4  # number of seeds for each width and gain of a needle

Results = Mapping[Task, Sequence[float]]


def tasks(methods: Sequence[str], landscapes: Sequence[str], seeds: int) -> list[Task]:
    """Return all games: searches and peers on every landscape, and policies and peers on every noisy landscape."""
    peers = [f"peer:{name}" for name in PEERS]
    searches = [f"search:{name}" for name in SEARCHES]
    policies = [f"policy:{name}" for name in POLICIES]
    arenas = [name for name, arena in ARENAS.items() if arena.landscape in landscapes]
    near = [Task(method, "near", name, seeds) for method in searches + peers for name in landscapes]
    far = [Task(method, "noise", name, seeds) for method in policies + peers for name in arenas]
    return [task for task in near + far if not methods or task.name in methods]


def by_method(results: Results, game: str) -> dict[str, list[float]]:
    """Return the results of all tasks of a game, "near" (without noise) or "noise", by method."""
    found: dict[str, list[float]] = {}
    for task, values in results.items():
        if task.game == game:
            found.setdefault(task.name, []).extend(values)
    return found


def by_landscape(results: Results, game: str, digits: int) -> dict[str, dict[str, float]]:
    """Return the median result of a game (the mean for the game "noise") by landscape and method."""
    centre = statistics.median if game == "near" else statistics.fmean
    found: dict[str, dict[str, float]] = {}
    for task, values in results.items():
        if task.game == game:
            found.setdefault(task.where, {})[task.name] = round(centre(values), digits)
    return found


def ask_ms(questions: int = 15) -> float:
    """Return the median time, in milliseconds, in which gp-ei proposes one of 2,000 points after 100 observations."""
    space = Space(
        (
            Parameter("threads", tuple(range(20)), "linear"),
            Parameter("size", tuple(2**k for k in range(20)), "log"),
            Parameter("algorithm", tuple(range(5)), "category"),
        )
    )
    rng = np.random.default_rng(SEED)
    model = search.build("gp-ei", space, SEED, 0)  # no initial design, because proposing its points takes no time
    for index in rng.permutation(len(space.points))[:100]:
        model.tell(space.points[index], float(rng.lognormal()))
    taken = []
    for _ in range(questions):
        begin = time.perf_counter()
        point = model.ask()
        taken.append((time.perf_counter() - begin) * 1000)
        model.tell(point or {}, float(rng.lognormal()))
    return statistics.median(taken)


def kills(quick: bool) -> dict[str, int | None]:
    """Return the keys `kill_lost` and `kill_doubled`; their values are None if `bench.tuner.kill` does not exist."""
    if find_spec("bench.tuner.kill") is None:
        return {"kill_lost": None, "kill_doubled": None}
    lost, doubled = import_module("bench.tuner.kill").measure(5 if quick else 200)
    return {"kill_lost": lost, "kill_doubled": doubled}


def summary(results: Results) -> dict[str, object]:
    """Return the part of the final JSON object that is computed from the games."""
    near = {name: statistics.median(values) for name, values in by_method(results, "near").items()}
    far = {name: round(statistics.fmean(values), 2) for name, values in by_method(results, "noise").items()}
    return {
        "evals_to_5pct": near,
        "evals_to_5pct_by_landscape": by_landscape(results, "near", 1),
        "not_reached": {
            name: round(sum(value >= FAR for value in values) / len(values), 4)
            for name, values in by_method(results, "near").items()
        },
        "noise_distance": far,
        "noise_distance_by_landscape": by_landscape(results, "noise", 2),
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options."""
    stored = sorted(path.name.removesuffix(".json.gz") for path in DIRECTORY.glob("*.json.gz"))
    parser = argparse.ArgumentParser(prog="python -m bench.tuner", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument(
        "--methods", type=lambda text: text.split(","), default=[], help="names of methods (default: all)"
    )
    parser.add_argument("--landscapes", type=lambda text: text.split(","), default=stored, help="names")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="two seeds on one landscape, as a quick check")
    parser.add_argument("--fresh", action="store_true", help="play all games, even those with known results")
    parser.add_argument("--store", action="store_true", help="store the peers' results in bench/tuner/peers.json")
    parser.add_argument(
        "--page", type=Path, help="file to write the page to (default: the page in docs/, if all games are included)"
    )
    given = parser.parse_args(argv)
    if given.quick:
        given.seeds, given.landscapes = QUICK_SEEDS, list(QUICK_LANDSCAPES)
    return given


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark and print its JSON object."""
    given = arguments(argv)
    everything = not given.methods and given.landscapes == arguments([]).landscapes
    results = play_all(tasks(given.methods, given.landscapes, given.seeds), given.processes, given.fresh, given.store)
    found = summary(results)
    found |= {"ask_ms": round(ask_ms(), 1), "seeds": given.seeds, "landscapes": given.landscapes}
    policies = [name for name in POLICIES if not given.methods or name in given.methods]
    found["needle_found"] = needle_found(policies, 1 if given.quick else NEEDLE_SEEDS)
    if not given.methods:
        found |= kills(given.quick)
    page = given.page or (tuner_page.PAGE if everything else None)
    if page:
        page.write_text(tuner_page.render(found))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
