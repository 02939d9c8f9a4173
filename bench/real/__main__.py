# SPDX-License-Identifier: Apache-2.0
"""Real programs on a virtual cluster whose network has latency: how long they take, and what settings gain them.

    python -m bench.real [--only pw,lammps] [--runs 3] [--pairs 6 [--settings allreduce-linear,...]]
        [--tune 8] [--overhead 4] [--look 6] [--results DIR] [--fresh | --stale] [--report] [--nodes 8] [--latency 500]

Each program of `bench/real/programs/` has up to five parts, measured as an ordinary user's jobs:

- `--runs`: it runs so many times by default. Its row has the median of its run time, in seconds, and the spread: the
  difference of longest and shortest, in percent of the median.
- `--pairs`: it runs in turns by default and with each of the settings of `bench/real/settings.toml` that are for
  programs of its kind; a gain is 1 - given/default with its 95 % bounds, beyond noise where these are on one side of 0.
- `--tune`: an admin's `reprise tune application` is run for it, and where that leaves a record, its user's jobs are run
  in so many pairs with Reprise and with `--reprise=off`.
- `--overhead`: it runs in so many pairs under the witness of `reprise tune profile` and without.
- `--look`: its profile's verdicts are compared with an exhaustive look at what there is to gain. Every setting of every
  component that jobs can be given here runs once, among runs of the default; what looks faster is measured in so many
  pairs (`bench/real/looking.py` says how). It says before how many runs that takes, and ends after `--look-limit`
  seconds; components for which these did not suffice are `unknown` and do not count. It comes when all programs have
  their other parts.

Each part is written to NAME.json in `--results` once it is measured. A part that is there already, asked for with the
same options, measured on the same network and with the same code of the product, is not measured again (`--fresh`: it
is; `--stale`: nor is one of other code). So the bench can be interrupted and begun again, and be run in parts. A part
that fails makes its program `wrong`, is tried again by the next run, and does not keep the others from running.

The last line is a JSON object, made of the files of all programs, whatever was measured just now; `--report` measures
nothing. A figure of which nothing was measured is null.

- `network`; `code` by program; `outdated`: programs of which something is left that is of other code or network, and
  does not count; `wrong`: programs of which a part failed, which also make the exit status 1; `seconds` of all runs
  by program; `gains` by program and setting, as gain and its bounds.
- `promises`: what was promised and what was kept, by program. `claims_held`: the share of the `claims` whose interval
  holds what was measured again. `false_claims`: how many gained nothing, that is 0 or less. `slower`: how many lost
  beyond noise. `gained`: how many gained 10 % or more, beyond noise. `mpi_gained`: how many gained beyond noise by
  settings of components that touch MPI's messages and collectives and nothing else (`touches`); `mpi_gained_10pct`:
  those of them that gained 10 % or more.
- `cost_runs`: runs of a program for its profile, recording and campaign, the median of the programs that had a
  campaign; `cost_runs_with_proxy`: with its proxy's node-hours, as runs of the program. `proxy_agreement`: the share of
  the `proxies` whose best setting takes the program at most 3 % more time than its own best, of the settings that ran
  on both.
- `verdict_right`: the share of the `verdict_pairs`, of a program and a component that jobs can be given here, for which
  the profile's verdict is right: worth trying where the look finds a setting that gains 5 % or more beyond noise, and
  not worth it elsewhere. `verdict_false_yes`: worth trying, but nothing is gained, strictly a wrong verdict though it
  names no more than an upper bound; `verdict_cannot`: those of them that this program cannot be given at all;
  `verdict_false_no`: not worth trying, but something is gained. `looks` names them by program.
- `oracle_share`: what users have over the best that the look found, a setting alone or the best of each component
  together, the mean of the `oracle_programs`: those where the best is over 5 % beyond noise and that were tuned. Where
  users have more than the best, the share is 1; where they lose, 0.
- `overheads`: percent of its run time that each program takes more under the witness, with bounds;
  `profile_overhead_pct`: the median.
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
"""What a program, or the cluster under it, can end with. Others are defects of the bench, and end it."""


def measure(place: Place, program: Program, parts: Sequence[Part], file: Kept) -> None:
    """Measure parts of a program, and keep what they find, or why they failed."""
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
    parser = argparse.ArgumentParser(
        prog="python -m bench.real", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names of programs, with commas")
    parser.add_argument("--runs", type=int, default=3, help="of each program, by default; 0 for none")
    parser.add_argument("--pairs", type=int, default=0, help="of each program and setting, 2 or more; 0 for none")
    parser.add_argument("--settings", default="", help="names of settings, with commas; all by default")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--latency", type=int, default=500, metavar="US", help="microseconds from node to node")
    parser.add_argument("--rate", default="1gbit", help="of every link, in tc's words")
    parser.add_argument("--tune", type=int, default=0, metavar="PAIRS", help="tune each, and see what its user gains")
    parser.add_argument("--later", type=float, default=120.0, metavar="S", help="to a campaign's second session")
    parser.add_argument("--overhead", type=int, default=0, metavar="PAIRS", help="see what the witness costs each")
    parser.add_argument("--look", type=int, default=0, metavar="PAIRS", help="look at all settings of all components")
    parser.add_argument("--look-limit", type=float, default=2400.0, metavar="S", help="seconds, for each program")
    parser.add_argument("--results", type=Path, default=kept_results.DIRECTORY, metavar="DIR", help="of their files")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="measure again what was measured")
    again.add_argument("--stale", action="store_true", help="count what was measured with other code")
    parser.add_argument("--report", action="store_true", help="measure nothing: print the last line")
    given = parser.parse_args(argv)
    for name, least in (("pairs", 2), ("tune", 2), ("overhead", LEAST_PAIRS), ("look", 2)):
        if 0 < getattr(given, name) < least:
            parser.error(f"--{name} takes 0, or {least} and more: fewer pairs do not say how much is noise")
    return given


def main(argv: Sequence[str] | None = None) -> int:
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
        for looks in (False, True):  # these take the most time, and come when all programs have the rest
            for program in chosen:
                file = files[program.name]
                wanted = [part for part in parts_for(program, given, described) if (part.name == bars.LOOK) is looks]
                todo = [part for part in wanted if given.fresh or not file.has(part.name, part.asked)]
                if known := [part.name for part in wanted if part not in todo]:
                    click.echo(f"{program.name:18} {', '.join(known)} known by {file.path}")
                measure(place, program, todo, file)
    result = bars.line(list(files.values()), network)
    click.echo(json.dumps(result))
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
