# SPDX-License-Identifier: Apache-2.0
"""Measure, by the time of the slowest rank, whether published rules are still faster in a later session.

    python -m bench.collectives.rules_hold [--collectives bcast,reduce] [--sizes 16:256K] [--repeats 12]
        [--between 120] [--later 600] [--latency 500] [--rate 1gbit]

On a virtual cluster as for `bench.collectives`, `reprise tune collectives` runs with its defaults and confirms its
winners in a second session, `--between` seconds after the first. `--later` seconds after the end of the campaign, each
problem is measured `--repeats` times with the published choices and with the default, in a new allocation and in random
order.

The last line of output is a JSON object. `rules` is the number of published rules. `rules_slower` is the number of
rules that are slower than the default beyond noise, i.e. whose gain has an upper bound (`statistics.paired_gain`) below
0; `slower` lists these rules. `rules_faster` is the number of rules whose gain has a lower bound over 0. `claims_held`
is the share of rules whose published bounds contain the gain measured in the later session. `problems` is the number of
tuned problems. `gain_median` is the median gain of the rules in the later session, in percent.
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
    """Return the final JSON object, except its key `network`, from the campaign's report and the later measurements."""
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
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.collectives.rules_hold", description=__doc__)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--between", type=float, default=BETWEEN_S, metavar="S", help="seconds between sessions")
    parser.add_argument(
        "--later", type=float, default=LATER_S, metavar="S", help="seconds from the campaign to the later session"
    )
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="latency between nodes, in microseconds")
    parser.add_argument("--rate", default="1gbit", help="rate of every link, in tc syntax")
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
