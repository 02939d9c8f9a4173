# SPDX-License-Identifier: Apache-2.0
"""Measure I/O forwarding: the arbiter, the library, forwarders and burst buffers.

    .venv/bin/python -m bench.forwarding [--only decisions,disturbed,stream,overhead,live,bursts] [--rounds 3]

Parts:

- `decisions` (a minute): the knapsack on table 5.3 of Bez 2020, and the time of large decisions.
- `disturbed` (10 minutes): random programs while their map changes, and while forwarders, diods and burst buffers are
  killed.
- `stream` (a minute): a sequential stream on a virtual cluster.
- `overhead` (5 minutes): programs that have nothing to forward.
- `live` (two hours): queues of users' jobs under each policy, on a virtual cluster with a parallel file system.
- `bursts` (an hour): checkpoints of a program with and without burst buffers, and a campaign over their
  parameters.

The last line of output is a JSON object with the results of the parts that ran, and `null` for the others.

- `mckp_fixture`: sums of bandwidths in MB/s under STATIC and MCKP, and their ratio. `decide_ms`: median and largest
  time of a decision for 1,000 jobs and 512 forwarders, in milliseconds.
- `remap_errors`, `kill_errors`, `burst_lost`: sequences of calls with wrong results or bytes. `remaps`, `kills`,
  `burst_kills`: the number of disturbances.
- `stream_share`: bandwidth of a forwarded stream divided by that of the link or of diod alone, whichever is less.
- `overhead_pct`: additional run time in percent, with its bounds, for the program for which it is largest.
- `mckp_vs_static`: aggregate bandwidth under MCKP divided by that under STATIC, with bounds. `mckp_vs_best_other`: the
  same for the best policy other than MCKP and ORACLE.
- `burst_gain`: run time of direct access divided by that with burst buffers, with bounds, for bursts that fit into the
  cache. `burst_worst`: the same for bursts that do not fit, in comparison with direct access or with forwarding without
  burst buffers, whichever gives the smaller ratio. `burst_tuned_gain`: gain of a campaign's best parameters over the
  defaults, with bounds.
- `details`: everything else that the parts report. `failed`: parts that ended with an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bench.forwarder_queues.decisions import decide_ms, fixture
from bench.forwarding import bursts, disturbed, forwarding_cost, live, stream
from bench.run_parts import Results, parser, run

REMAPS, KILLS = 1000, 200
KEYS = (
    *("mckp_fixture", "decide_ms", "remaps", "remap_errors", "kills", "kill_errors", "burst_kills", "burst_lost"),
    *("stream_share", "overhead_pct", "mckp_vs_static", "mckp_vs_best_other"),
    *("burst_gain", "burst_worst", "burst_tuned_gain"),
)


def _decisions(_: int) -> Results:
    return {"mckp_fixture": fixture(), "decide_ms": decide_ms()}


def _disturbed(_: int) -> Results:
    remaps, remap_errors = disturbed.remaps(REMAPS)
    kills, kill_errors = disturbed.kills(KILLS)
    burst_kills, burst_lost = disturbed.burst_kills(KILLS)
    return {
        "remaps": remaps,
        "remap_errors": remap_errors,
        "kills": kills,
        "kill_errors": kill_errors,
        "burst_kills": burst_kills,
        "burst_lost": burst_lost,
    }


def _stream(rounds: int) -> Results:
    found = stream.measured(rounds)
    return {"stream_share": found["share"], "details": {"stream": found}}


def _overhead(rounds: int) -> Results:
    found = forwarding_cost.measured(4 * rounds)
    return {"overhead_pct": max(found.values(), key=lambda one: one[0]), "details": {"overhead": found}}


def _live(rounds: int) -> Results:
    found = live.measured(rounds, max(3, rounds))
    ratios = {policy: ratio for policy, ratio in found["mckp_to"].items() if policy != "oracle"}
    best = min(ratios, key=lambda policy: float(ratios[policy][0]))
    return {
        "mckp_vs_static": ratios["static"],
        "mckp_vs_best_other": {"policy": best, "ratio": ratios[best]},
        "details": {"live": found},
    }


def _bursts(rounds: int) -> Results:
    found = bursts.measured(2 * rounds)
    return {key: found[key] for key in KEYS if key in found} | {"details": {"bursts": found}}


PARTS: Mapping[str, Callable[[int], Results]] = {
    "decisions": _decisions,
    "disturbed": _disturbed,
    "stream": _stream,
    "overhead": _overhead,
    "live": _live,
    "bursts": _bursts,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts, print the JSON object, and return 1 if a part failed."""
    command_line = parser("forwarding", __doc__ or "", list(PARTS))
    command_line.add_argument("--rounds", type=int, default=3, help="rounds of each comparison")
    given = command_line.parse_args(argv)
    return run(given.only, {name: partial(part, given.rounds) for name, part in PARTS.items()}, KEYS)


if __name__ == "__main__":
    sys.exit(main())
