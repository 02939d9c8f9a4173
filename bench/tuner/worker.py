# SPDX-License-Identifier: Apache-2.0
"""Play games of one method in the method's Python environment: `python -m bench.tuner.worker METHOD`.

Each task is a line of JSON on standard input: [game, landscape or arena (landscape with noise), first seed, number of
seeds]. The answer is a line with the list of results.
"""

from __future__ import annotations

import json
import sys
import warnings

from bench.emulated import path_of
from bench.tuner.games import ARENAS, Maker, distance_under_noise, evaluations_until_near
from reprise.tuner.model.landscape import load


def _maker(method: str) -> Maker:
    kind, name = method.split(":")
    if kind == "peer":
        from bench.tuner.peers import PEERS

        return PEERS[name]
    from bench.tuner import own_methods

    return (own_methods.SEARCHES if kind == "search" else own_methods.POLICIES)[name]


def play(make: Maker, game: str, where: str, seeds: range) -> list[float]:
    """Play a game once for each seed and return the results."""
    if game == "near":
        landscape = load(path_of(where))
        return [evaluations_until_near(make, landscape, seed) for seed in seeds]
    arena = ARENAS[where]
    landscape = load(path_of(arena.landscape))
    return [distance_under_noise(make, landscape, arena, seed) for seed in seeds]


def main() -> None:
    """Play the tasks that arrive on standard input, until standard input ends."""
    warnings.simplefilter("ignore")  # the peers' libraries print warnings
    make = _maker(sys.argv[1])
    for line in sys.stdin:
        game, where, first, count = json.loads(line)
        results = play(make, game, where, range(first, first + count))
        sys.stdout.write(json.dumps(results) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
