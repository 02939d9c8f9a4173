# SPDX-License-Identifier: Apache-2.0
"""Compare skeletons with their programs: messages, run times, and choices of settings.

    python -m bench.skeleton [--only F1,cg] [--llvm 19] [--pairs 3] [--rounds 3] [--tuned-ranks 4]

Each program of `bench/skeleton/programs.toml` is compiled in the usual way and as a skeleton. Both run under Open MPI's
monitoring with several numbers of ranks. Programs with `computing` arguments (see `programs.toml`) then take turns with
their skeletons, `--pairs` times, on two ranks. A third run, with the witness of `reprise tune profile`, measures the
share of time in which the program computes. Finally, program and skeleton run alternately with each of five settings,
`--rounds` times; the ratios of Sartori (2024, table 4.1) are computed from the medians. All ranks share this machine's
memory, so no network is involved.

The last line of output is a JSON object:

- `golden`: for F1 to F4, whether program and skeleton behave as the comment in the fixture's source says;
- `identical`: by program, whether all communication matrices are identical, or the program is refused as expected;
- `refused`: by program, the message with which reprise-skeleton refused it;
- `speed_up`, `cpu_ratio`: the program's time divided by its skeleton's, in wall time and in CPU time including the
  launcher;
- `computing`: the share of the program's wall time, including the launcher, in which its slowest rank computes or waits
  for ranks that compute;
- `ratios`: the ratios of Sartori, by program; `agree`: whether the best setting of the skeleton is also the best
  setting of the program;
- `bar`: whether all programs are golden, whether all are identical, and whether `speed_up` is at least 5 for each
  program whose `computing` is at least 0.8 (if a program computes less, even a skeleton that omits all computing cannot
  be 5 times as fast); `met`: whether all three conditions are met;
- `load`: the number of runnable processes on this machine at the start and at the end.

The exit status is 1 if `met` is false.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bench.skeleton.foreign_sources import SourceError, version
from bench.skeleton.skeleton_programs import (
    BenchProgram,
    compile_application,
    compile_skeleton,
    read_programs,
    with_ranks,
)
from bench.skeleton.skeleton_runs import (
    AS_ROOT,
    COMPUTING_SHARE_MIN,
    DEFAULT,
    MPIRUN,
    SETTINGS,
    Took,
    bar,
    computing_share,
    speed_up,
    timed_run,
    witnessed_run,
)
from reprise.tuner.proxy.agreement import agreement, ratios
from reprise.tuner.proxy.fidelity import fidelity
from reprise.tuner.proxy.monitoring_matrix import MonitoringMatrix, monitoring_arguments, read_matrix

COMPUTING_RANKS = 2
RUN_TIMEOUT_S = 1800
GOLDEN = ("F1", "F2", "F3", "F4")


def golden_matrix(matrix: MonitoringMatrix) -> bool:
    """Return whether a communication matrix of five ranks equals that of Sartori's matrix product (F1)."""
    return all(
        (sent.messages, sent.bytes, back.messages, back.bytes) == (2, 51_200 + 12_800, 1, 12_800)
        for worker in range(1, 5)
        for sent, back in [(matrix.point_to_point(0, worker), matrix.point_to_point(worker, 0))]
    )


class Bench:
    """The measurements by program, and a folder for compiled files."""

    def __init__(self, folder: Path, llvm: str) -> None:
        self.folder = folder
        self.llvm = llvm
        self.golden: dict[str, bool] = {}
        self.identical: dict[str, bool] = {}
        self.refused: dict[str, str] = {}
        self.speed_up: dict[str, float] = {}
        self.cpu_ratio: dict[str, float] = {}
        self.computing: dict[str, float] = {}
        self.ratios: dict[str, dict[str, float]] = {}
        self.agree: dict[str, bool] = {}
        self.versions: dict[str, str] = {}

    def compare(self, program: BenchProgram) -> tuple[str, str] | None:
        """Build a program and its skeleton, and compare their messages; return both commands, None if refused."""
        folder = program.folder()
        if program.source:
            self.versions[program.source] = version(program.source)
        application, made = self.folder / program.name, self.folder / f"{program.name}-skeleton"
        done = compile_skeleton(program, folder, made, self.llvm)
        if program.refused or done.returncode:
            lines = done.stderr.strip().splitlines() or ["it printed nothing"]
            self.refused[program.name] = lines[-1].removeprefix("reprise-skeleton: ")
            said = bool(program.refused) and program.refused in lines[-1] and done.returncode != 0
            (self.golden if program.name in GOLDEN else self.identical)[program.name] = said
            click.echo(f"{program.name:<12} refused: {self.refused[program.name]}")
            return None
        compile_application(program, folder, application)
        differing = [
            f"{found.ranks} ranks: {found.differences[0]}"
            for ranks in program.ranks
            for found in fidelity(
                [str(application), *with_ranks(program.arguments, ranks)],
                [str(made), *with_ranks(program.arguments, ranks)],
                [ranks],
                mpirun=MPIRUN,
                timeout_s=RUN_TIMEOUT_S,
            )
            if not found.identical
        ]
        self.identical[program.name] = not differing
        if program.name in GOLDEN:
            self.golden[program.name] = not differing and (program.name != "F1" or self._is_golden(application, made))
        click.echo(f"{program.name:<12} {differing[0] if differing else 'identical'}")
        return str(application), str(made)

    def _is_golden(self, *commands: Path) -> bool:
        for command in commands:
            prefix = command.with_suffix(".profile")
            timed_run([*monitoring_arguments(prefix), str(command)], 5, {})
            if not golden_matrix(read_matrix(prefix, 5)):
                return False
        return True

    def time(self, program: BenchProgram, commands: tuple[str, str], pairs: int) -> None:
        """Run program, skeleton, and program with the witness in turn; store speed-ups and the share of computing."""
        arguments = with_ranks(program.computing, COMPUTING_RANKS)
        took: tuple[list[Took], list[Took]] = ([], [])
        shares = []
        for number in range(pairs):
            for command, times in zip(commands, took, strict=True):
                times.append(timed_run([command, *arguments], COMPUTING_RANKS, {}))
            reports = self.folder / f"{program.name}-reports-{number}"
            shares.append(computing_share(*witnessed_run([commands[0], *arguments], COMPUTING_RANKS, reports)))
        clock, cpu = speed_up(*took)
        self.speed_up[program.name], self.cpu_ratio[program.name] = round(clock, 2), round(cpu, 2)
        share = self.computing[program.name] = round(statistics.median(shares), 3)
        counts = (
            "" if share >= COMPUTING_SHARE_MIN else f", less than {COMPUTING_SHARE_MIN:.0%}: does not count for the bar"
        )
        click.echo(
            f"{program.name:<12} {clock:.1f} times faster, {cpu:.1f} by CPU time; "
            f"computes for {share:.0%} of its time{counts}"
        )

    def tune(self, program: BenchProgram, commands: tuple[str, str], rounds: int, ranks: int) -> None:
        """Run program and skeleton alternately with each setting, and store the ratios of their times."""
        arguments = with_ranks(program.tuned, ranks)
        application: dict[str, list[float]] = {name: [] for name in SETTINGS}
        skeleton: dict[str, list[float]] = {name: [] for name in SETTINGS}
        for _ in range(rounds):
            for name, environment in SETTINGS.items():
                for command, seconds in zip(commands, (application, skeleton), strict=True):
                    seconds[name].append(timed_run([command, *arguments], ranks, environment).seconds)
        found = ratios(application, skeleton, DEFAULT)
        self.ratios[program.name] = {key: round(value, 3) for key, value in dataclasses.asdict(found).items()}
        verdict = agreement(application, skeleton)
        self.agree[program.name] = verdict.agrees
        click.echo(f"{program.name:<12} {self.ratios[program.name]} {verdict.reason}")

    def result(self) -> dict[str, Any]:
        """Return the final JSON object, except the keys that `main` adds."""
        met = bar(self.golden, self.identical, self.speed_up, self.computing)
        names = ("golden", "identical", "refused", "speed_up", "cpu_ratio", "computing", "ratios", "agree", "versions")
        return {name: getattr(self, name) for name in names} | {"bar": met, "met": all(met.values())}


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark, print its JSON object and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.skeleton", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="comma-separated names of programs")
    parser.add_argument("--llvm", default="", help="version of LLVM, if the pass is built for several")
    parser.add_argument("--pairs", type=int, default=3, help="number of runs per program with `computing`; 0: none")
    parser.add_argument("--rounds", type=int, default=3, help="number of runs with each setting; 0: none")
    parser.add_argument("--tuned-ranks", type=int, default=4, help="number of ranks in the runs with each setting")
    asked = parser.parse_args(words)
    try:
        programs = read_programs(asked.only)
    except ValueError as error:
        parser.error(str(error))
    os.environ.update(AS_ROOT)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="reprise-bench-skeleton-") as folder:
        bench = Bench(Path(folder), asked.llvm)
        built: list[tuple[BenchProgram, tuple[str, str]]] = []
        for program in programs:
            try:
                commands = bench.compare(program)
            except SourceError as error:
                click.echo(f"bench: {error}: {program.name} is left out", err=True)
                bench.identical[program.name] = False
                continue
            if commands:
                built.append((program, commands))
        for program, commands in built:
            if program.computing and asked.pairs:
                bench.time(program, commands, asked.pairs)
        for program, commands in built:
            if program.tuned and asked.rounds:
                bench.tune(program, commands, asked.rounds, asked.tuned_ranks)
    result = bench.result()
    loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    click.echo(json.dumps({"llvm": asked.llvm or "newest", **result, "load": loads}))
    return 0 if result["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
