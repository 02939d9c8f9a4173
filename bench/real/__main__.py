# SPDX-License-Identifier: Apache-2.0
"""Measure run times and gains of real programs on a virtual cluster with network latency.

    python -m bench.real [--only pw,lammps] [--runs 3] [--pairs 6 [--settings allreduce-linear,...]]
        [--tune 8] [--overhead 4] [--look 6] [--results DIR] [--fresh | --stale] [--report] [--nodes 8] [--latency 500]

Each program of `bench/real/programs/` has up to five parts, which are measured as an ordinary user's jobs:

- `--runs N` runs the program N times with default settings. Its row has the median run time in seconds, and the spread,
  which is the longest run time minus the shortest, in percent of the median.
- `--pairs N` runs the program N times with default settings and N times with each of the settings that
  `bench/real/settings.toml` has for programs of its kind, in alternation. A gain is 1 - given/default with its 95 %
  bounds. A gain is beyond noise if both bounds have the same sign.
- `--tune N` tunes the program with `reprise tune application`, as an administrator does. If the campaign leaves a
  record, the user's jobs run in N pairs, with Reprise and with `--reprise=off`.
- `--overhead N` runs the program in N pairs, with and without the witness of `reprise tune profile`.
- `--look N` compares the verdicts of the program's profile with an exhaustive search for gains, the look. Every setting
  of every component that jobs on this cluster can use runs once, among runs of the default. Settings that seem faster
  are measured again in N pairs (see `bench/real/looking.py`). The look first prints the number of runs that it needs,
  and ends after `--look-limit` seconds; unfinished components are `unknown` and do not count. Looks run last, after all
  other parts of all programs.

The result of each part is written to NAME.json in `--results` immediately. A part that was measured with the same
options, on the same network and with the same code of the product is not measured again, unless `--fresh` is set; with
`--stale`, the code may differ. The benchmark can therefore be interrupted, restarted and run in parts. If a part fails,
its program counts as `wrong`, the other parts continue, and the next run of the benchmark tries the part again.

The last line of output is a JSON object, computed from the stored results of all programs, including those of earlier
runs. `--report` prints this line without measuring. A key without measurements is null.

- `network`: the description of the network. `code`: the digest of the code, by program. `outdated`: programs with
  results from other code or another network; these results do not count. `wrong`: programs with a failed part; if there
  are any, the exit status is 1. `seconds`: the times of all runs in seconds, by program. `gains`: each gain and its
  bounds, by program and setting.
- `promises`: promised and measured gains, by program; `by_communication` is the gain of the settings of communication
  alone (see `mpi_gained`). `claims`: the number of promises. `claims_held`: the share of promises whose interval
  contains the gain measured afterwards. `false_claims`: the number of programs with a promise that gained 0 or less.
  `slower`: the number of programs that lost beyond noise. `gained`: the number of programs that gained 10 % or more,
  beyond noise. `mpi_gained`: the number of programs that gained beyond noise by their record's settings of
  communication, which are the settings of components that touch only MPI messages and collectives (`touches`). If the
  record has other settings too, each round of the pairs of `--tune` has a third job, with `--reprise=off` and only the
  settings of communication as variables of its own environment; the gain is that of these jobs. `mpi_gained_10pct`: the
  number of the programs in `mpi_gained` whose gain by communication is 10 % or more.
- `cost_runs`: the number of runs of a program for its profile, recording and campaign (median over the programs that
  had a campaign). `cost_runs_with_proxy`: this number plus the node-hours of the program's proxy, converted to runs of
  the program. `proxies`: the number of programs with a proxy. `proxy_agreement`: the share of proxies whose best
  setting makes the program at most 3 % slower than the program's own best setting, among settings that ran on both. If
  the two settings differ, `--tune` measures them in as many rounds as pairs (`proxy_loss` in `promises`).
  `proxies_used` and `proxy_agreement_used`: the same number and share, but only of the proxies whose ranking the search
  used. If the first runs of the program refute the ranking, the search continues without it.
  `proxy_disagrees_beyond_noise`: the number of proxies that are over these 3 % beyond noise.
- `verdict_pairs`: the number of pairs of a program and a component that jobs on this cluster can use. `verdict_right`:
  the share of these pairs with a right verdict. The right verdict is "worth trying" if the look finds a setting of the
  component that gains 5 % or more beyond noise, else "not worth trying". `verdict_false_yes`: the number of pairs with
  the verdict "worth trying" but without such a gain; they count as wrong, although a verdict only claims an upper bound
  of the gain. `verdict_cannot`: how many of the pairs in `verdict_false_yes` have a program that cannot use the
  component at all. `verdict_false_no`: the number of pairs with the verdict "not worth trying", but with such a gain.
  `looks`: the components with each of these outcomes, by program.
- `oracle_share`: the users' gain divided by the best gain that the look found, either of one setting or of the best
  settings of all components together. It is the mean over the tuned programs whose best gain is over 5 % and beyond
  noise; `oracle_programs` is their number. The share of a program is 1 if its users gain more than the best gain, and 0
  if they lose.
- `overheads`: the additional run time of each program with the witness, in percent with bounds. `profile_overhead_pct`:
  the median over the programs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from bench.real import bars, kept_results
from bench.real.catalogue import Program, programs
from bench.real.kept_results import Kept
from bench.real.parts import Part, parts_for
from bench.real.placing import Place
from bench.real.running import ProgramError
from bench.real.witnessing import LEAST_PAIRS
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.waiting import NotSeenError

SETTINGS = Path(__file__).with_name("settings.toml")
FAILURES = (ProgramError, ClusterError, NotSeenError, OSError, subprocess.SubprocessError)
"""Errors of a program or the cluster, which fail only one part. Any other error is a bug in the benchmark and ends
it."""


def measure(place: Place, program: Program, parts: Sequence[Part], file: Kept) -> None:
    """Measure parts of a program. Store the result of each part, or the reason for its failure."""
    for part in parts:
        try:
            found = part.measure(place.cluster(program), program)
        except FAILURES as error:
            click.echo(f"{program.name}: {part.name}: {error}", err=True)
            file.fail(part.name, str(error))
            place.drop()
        else:
            file.keep(part.name, part.asked, found)
            for line in part.rows(program, found):
                click.echo(line)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.real", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="comma-separated names of programs")
    parser.add_argument("--runs", type=int, default=3, help="default runs of each program; 0: none")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of each program and setting, 2 or more; 0: none")
    parser.add_argument("--settings", default="", help="comma-separated names of settings (default: all)")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="latency between nodes, in microseconds")
    parser.add_argument("--rate", default="1gbit", help="rate of every link, in tc syntax")
    parser.add_argument(
        "--tune", type=int, default=0, metavar="PAIRS", help="tune each program, then measure its user's gain"
    )
    parser.add_argument(
        "--later", type=float, default=120.0, metavar="S", help="seconds until the second session of a campaign"
    )
    parser.add_argument("--overhead", type=int, default=0, metavar="PAIRS", help="measure the overhead of the witness")
    parser.add_argument(
        "--look",
        type=int,
        default=0,
        metavar="PAIRS",
        help="try all settings of all components, and measure the fastest in pairs",
    )
    parser.add_argument(
        "--look-limit",
        type=float,
        default=2400.0,
        metavar="S",
        help="time limit of the look for gains of each program, in seconds",
    )
    parser.add_argument(
        "--results", type=Path, default=kept_results.DIRECTORY, metavar="DIR", help="directory of the results"
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="measure all parts again")
    again.add_argument("--stale", action="store_true", help="also use results of other code")
    parser.add_argument("--report", action="store_true", help="only print the final JSON object, without measuring")
    given = parser.parse_args(argv)
    for name, least in (("pairs", 2), ("tune", 2), ("overhead", LEAST_PAIRS), ("look", 2)):
        if 0 < getattr(given, name) < least:
            parser.error(f"--{name} must be 0, or {least} or more: fewer pairs do not show the noise")
    return given


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its JSON object."""
    given = arguments(argv)
    described = tomllib.loads(SETTINGS.read_text())

    def made() -> VirtualCluster:
        return VirtualCluster(given.nodes, given.rate, given.latency)

    network, product = made().describe(), kept_results.product()
    files = {
        program.name: kept_results.kept(
            given.results, program, kept_results.origin(program, product, network), stale=given.stale
        )
        for program in programs()
    }
    click.echo(network)
    with Place(made, installed=bool(given.tune or given.overhead or given.look)) as place:
        chosen = [] if given.report else programs(given.only)
        for looks in (False, True):  # looks take the most time, so they run last
            for program in chosen:
                file = files[program.name]
                wanted = [part for part in parts_for(program, given, described) if (part.name == bars.LOOK) is looks]
                todo = [part for part in wanted if given.fresh or not file.has(part.name, part.asked)]
                if known := [part.name for part in wanted if part not in todo]:
                    click.echo(f"{program.name:18} {', '.join(known)} taken from {file.path}")
                measure(place, program, todo, file)
    result = bars.line(list(files.values()), network)
    click.echo(json.dumps(result))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
