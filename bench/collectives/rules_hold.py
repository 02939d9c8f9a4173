# SPDX-License-Identifier: Apache-2.0
"""Whether the rules that a campaign published still hold in a later session, by the slowest rank's time.

    python -m bench.collectives.rules_hold [--collectives bcast,reduce] [--sizes 16:256K] [--repeats 12] [--later 600]
        [--latency 500] [--rate 1gbit]

On a virtual cluster as for `bench.collectives`: `reprise tune collectives` as it is, which confirms its winners in a
second session of its own, `--between` seconds after the first. `--later` seconds after the campaign's end, each problem
is measured with the published choices and with the default, in a new allocation, in random order and so many times.

The last line is a JSON object. `rules`: published ones. `rules_slower`: those that are slower than the default beyond
noise, where the upper bound of the gain (`statistics.paired_gain`) is below 0; `slower` names them. `rules_faster`:
those with a lower bound over 0. `claims_held`: the share of the rules whose published bounds hold the gain that is
measured now. `problems`: how many were tuned; `gain_median`: of the rules, in percent, as measured now.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.collectives.__main__ import (
    BETWEEN_S,
    DEFAULT,
    NODES,
    REPEATS,
    SHARED,
    Bench,
    Points,
    Times,
    chosen,
    rounded,
    slower,
)
from bench.collectives.__main__ import gain as gain_of
from reprise.tuner.openmpi import collective_spaces
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install

COLLECTIVES = "bcast,reduce,allreduce,allgather,alltoall,reduce_scatter,barrier"
SIZES = "16:256K"
LATER_S = 600.0


def summary(told: Mapping[str, Any], points: Points, again: Mapping[str, Times]) -> dict[str, Any]:
    """All keys of the last line but `network`, from what a campaign told and what was measured later."""
    rules = [rule for record in told["records"] for rule in record["parametrization"]["rules"] if rule["applied"]]
    found = {
        rule["problem"]: gain_of(again[DEFAULT][rule["problem"]], again[SHARED][rule["problem"]]) for rule in rules
    }
    held = [rule["gain_low"] <= found[rule["problem"]][0] <= rule["gain_high"] for rule in rules]
    behind = slower(again[DEFAULT], again[SHARED], points)
    return {
        "rules": len(rules),
        "rules_slower": len(behind),
        "rules_faster": sum(low > 0 for _, low, _ in found.values()),
        "claims_held": rounded(sum(held) / len(held)) if held else None,
        "gain_median": rounded(100 * statistics.median(gain for gain, _, _ in found.values())) if found else None,
        "problems": len(points),
        "slower": behind,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.collectives.rules_hold", description=__doc__)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--between", type=float, default=BETWEEN_S, metavar="S", help="between a campaign's sessions")
    parser.add_argument("--later", type=float, default=LATER_S, metavar="S", help="after the campaign's end")
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="microseconds from node to node")
    parser.add_argument("--rate", default="1gbit", help="of every link, in tc's words")
    given = parser.parse_args(argv)
    with VirtualCluster(NODES, given.rate, given.latency, pinned=True) as cluster:
        install(cluster)
        bench = Bench(cluster, given.collectives.split(","), given.sizes, given.between)
        campaign = bench.run(SHARED)
        time.sleep(given.later)
        published = chosen(campaign)
        defaults = dict.fromkeys(published, collective_spaces.DEFAULT)
        again = bench.measure({DEFAULT: defaults, SHARED: published}, given.repeats)
        network = cluster.describe()
    print(json.dumps(summary(campaign.told, published, again) | {"network": network}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
