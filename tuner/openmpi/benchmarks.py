# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that can time collectives: how to run them and how to read their output.

A setting is judged by the slowest rank's mean time over the repetitions, since an application waits for that rank. An
algorithm that lets the root continue early lowers the mean over the ranks but makes jobs slower.

Reprise's benchmark measures all collectives and sizes in one run, and stops measurements that exceed a given time. The
OSU micro-benchmarks (5.x to 7.x) and the Intel MPI Benchmarks (2018 and later) are installed by the site and given by
path. Their options and the form of their output are taken from their documentation and source code.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from reprise.config import Config
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Sample
from reprise.tuner.openmpi.catalogue import takes_data, tells_sizes
from reprise.tuner.openmpi.collectives_settings import Settings

OWN = "reprise-collbench"
SIZES_FILE = "sizes"  # name of IMB's input file, which lists the sizes; it is in the trial's directory
# Maximum number of calls that one run measures. If a call ends its run early, only this run's measurements of other
# calls are lost, which is a loss of minutes.
ROUND = 64
US = 1e-6
GIB = 2**30


@dataclass(frozen=True)
class Call:
    """A call to measure: a collective with a size in bytes (0: the collective has no size).

    The benchmark may stop measuring the call if a single execution takes more than `most` seconds (None: never).
    """

    collective: str
    size: int
    most: float | None = None


@dataclass(frozen=True)
class Command:
    """A command that measures some calls: the program with its arguments, and its input files (content by name)."""

    argv: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)


class Benchmark(Protocol):
    """Interface to an installed benchmark."""

    def joins(self, earlier: Call, later: Call) -> bool:
        """Return whether a run that measures `earlier` can continue with `later`, the campaign's next call."""

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        """Return the command that measures some calls of one round (see `rounds`) on `ranks` ranks."""

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Return the samples of a call in the output: the slowest rank's mean over the repetitions, in seconds.

        Lines without a time are skipped; a value may be invalid (0, NaN).
        """


def installed(settings: Settings, config: Config) -> Benchmark:
    """Return the benchmark that a campaign's settings name.

    Raise TunerError if it cannot measure the requested calls.
    """
    path = settings.benchmark_path
    if settings.benchmark == "own":
        if path:
            raise TunerError(
                "settings: benchmark_path: applies only to other benchmarks: also set `benchmark` to osu or imb"
            )
        return Own(config.tuner.libexec / OWN, settings)
    if not path:
        raise TunerError(f"settings: benchmark_path: is missing: set it to the path of {settings.benchmark.upper()}")
    if settings.benchmark == "osu" and "reduce_scatter_block" in settings.collectives:
        raise TunerError(
            "settings: collectives: reduce_scatter_block cannot be measured with osu, since some releases lack it: "
            "leave it out, or set `benchmark` to own"
        )
    if settings.benchmark == "imb":
        other = [name for name in settings.collectives if name not in IMB_NAMES]
        if other:
            raise TunerError(
                f"settings: collectives: {other[0]} cannot be measured with imb, since its releases disagree about the "
                "meaning of its size: leave it out, or set `benchmark` to own or osu"
            )
        return IMB(_programs(path, ["IMB-MPI1"])["IMB-MPI1"], settings)
    found = _programs(path, [f"osu_{name}" for name in settings.collectives])
    return OSU({name: found[f"osu_{name}"] for name in settings.collectives}, settings)


def rounds(benchmark: Benchmark, calls: Sequence[Call]) -> list[str]:
    """Return the name of each call's round, which is one run of the benchmark that measures several calls.

    Consecutive calls share a round if the benchmark can join them, up to ROUND calls.
    """
    names: list[str] = []
    number = length = 0
    for index, call in enumerate(calls):
        if not index or length == ROUND or not _continues(benchmark, calls[index - 1], call):
            number, length = number + 1, 0
        length += 1
        names.append(str(number))
    return names


def _continues(benchmark: Benchmark, earlier: Call, later: Call) -> bool:
    """Return whether one run can measure both calls.

    If rules do not distinguish a collective's sizes, one rule applies to all sizes in a run, so the run measures only
    one size.
    """
    conflict = earlier.collective == later.collective and not tells_sizes(later.collective)
    return not conflict and benchmark.joins(earlier, later)


@dataclass(frozen=True)
class Own:
    """`reprise-collbench`, which has an argument for each call and prints a JSON object per call after each pass."""

    program: Path
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        """Return True, since one run can measure any combination of calls."""
        return True

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        """Return the command with an argument for each call."""
        argv = [str(self.program), "--warmup", str(self.settings.warmup)]
        if self.settings.repetitions is not None:
            argv += ["--repetitions", str(self.settings.repetitions)]
        argv += ["--max-seconds", f"{self.settings.max_seconds:g}", "--passes", str(self.settings.passes)]
        for call in calls:
            argv.append(f"{call.collective}:{call.size}" + ("" if call.most is None else f":{call.most:.9g}"))
        return Command(argv)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Return the samples of a call.

        A run measures all its calls in each of several passes. If the run ended early, during this call in the second
        pass or later, return no sample, since a setting that hangs occasionally must not win.
        """
        found: list[Sample] = []
        lines = list(_objects(stdout))
        for line in lines:
            try:
                # For a barrier, the benchmark prints the size from its arguments, which has no meaning.
                if (line["collective"], line["size"], line["ranks"]) != (call.collective, call.size, ranks):
                    continue
                given_up = "above_s" in line
                value = float(line["above_s" if given_up else "max_s"])
                batches = () if given_up else tuple(float(v) for v in line["batches_s"])
                later = line.get("pass", 1) > 1
            except (ValueError, KeyError, TypeError):
                continue
            if later and found:
                found.pop()  # the line of a later pass includes the results of all earlier passes
            found.append(Sample(value, batches, given_up=given_up))
        return [] if _ended_in(lines) == _name(call.collective, call.size) else found


def _objects(stdout: str) -> Iterator[dict[str, Any]]:
    for line in stdout.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            if line.startswith("{") and isinstance(found := json.loads(line), dict):
                yield found


def _name(collective: object, size: object) -> str:
    return f"{collective}:{size}"


def _ended_in(lines: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the call that was running when the benchmark ended in its second pass or later, or None.

    The call is the first one, in order, that has repetitions left and no line since the last pass began.
    """
    waiting: dict[str, None] = {}
    behind: list[str] = []
    for line in lines:
        call = _name(line.get("collective"), line.get("size"))
        if "begins" in line:
            behind = list(waiting)
            continue
        behind = [one for one in behind if one != call]
        if line.get("repetitions") == line.get("planned"):
            waiting.pop(call, None)
        else:
            waiting[call] = None
    return behind[0] if behind else None


# Header of a table that OSU prints with the option `-f`. Without that option, the table has only the mean over the
# ranks. The table of osu_barrier has no column of sizes.
OSU_HEADER = re.compile(r"#\s*(Size\s+)?" + r"\s+".join(rf"{name} Latency\s*\(us\)" for name in ("Avg", "Min", "Max")))
OSU_SLOWEST = 2  # index, among the columns of times, of the slowest rank's time


@dataclass(frozen=True)
class OSU:
    """The OSU micro-benchmarks: one program per collective, which doubles the size from measurement to measurement.

    Sizes have the meaning that `Settings` describes. The numbers of repetitions (`-i`) and warm-up calls (`-x`) apply
    to all sizes; without `-i`, OSU makes 1000 calls, or 100 for large sizes. The memory limit (`-M`) is not set, since
    7.4 has no such option.
    """

    programs: Mapping[str, Path]
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        """Return whether `later` has the same collective as `earlier`, and twice its size."""
        return earlier.collective == later.collective and later.size == 2 * earlier.size

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        """Return the command of the collective's program with its range of sizes."""
        collective = calls[0].collective
        argv = [str(self.programs[collective]), "-f", "-x", str(self.settings.warmup)]
        if self.settings.repetitions is not None:
            argv += ["-i", str(self.settings.repetitions)]
        if takes_data(collective):
            sizes = [call.size for call in calls]
            argv += ["-m", f"{min(sizes)}:{max(sizes)}"]
        return Command(argv)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Return the slowest rank's times for a call, in seconds, from the tables in the output."""
        found: list[Sample] = []
        sized: bool | None = None  # whether the current table has sizes; None: no table yet
        for line in _whole_lines(stdout):
            if header := OSU_HEADER.match(line):
                sized = bool(header[1])
            elif sized is takes_data(call.collective):
                words = line.split()
                if not sized:
                    found += _time(words, OSU_SLOWEST)
                elif words and words[0] == str(call.size):
                    found += _time(words, OSU_SLOWEST + 1)
        return found


# IMB's names of the collectives. Reduce_scatter and Reduce_scatter_block are left out: their size means the whole
# message in releases up to 2018, and one rank's part in later releases.
IMB_NAMES = {
    name: name.capitalize()
    for name in (
        *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv"),
        *("barrier", "bcast", "gather", "reduce", "scatter"),
    )
}
IMB_SLOWEST = "t_max[usec]"


@dataclass(frozen=True)
class IMB:
    """`IMB-MPI1` of the Intel MPI Benchmarks, which reads any sizes from a file and uses them for all its benchmarks.

    Sizes have the meaning that `Settings` describes. IMB has its own warm-up, and makes fewer repetitions if a
    measurement would take longer than the seconds given by `-time`.
    """

    program: Path
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        """Return whether both calls are of one collective."""
        return earlier.collective == later.collective

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        """Return the command, with an input file that lists the sizes."""
        argv = [str(self.program), "-npmin", str(ranks), "-time", f"{self.settings.max_seconds:g}"]
        if self.settings.repetitions is not None:
            # The second number of `-iter`, a limit in MiB per size, could reduce the number of repetitions. 2047 is the
            # largest limit that fits IMB's C int.
            argv += ["-iter", f"{self.settings.repetitions},2047"]
        files = {}
        collective = calls[0].collective
        if takes_data(collective):
            files[SIZES_FILE] = "".join(f"{call.size}\n" for call in calls)
            # `-mem` is in GiB per rank: enough for two buffers, each with at most one part for each rank. IMB's default
            # is 1.
            memory = math.ceil(2 * ranks * max(call.size for call in calls) / GIB) + 1
            argv += ["-mem", str(memory), "-msglen", SIZES_FILE]
        return Command([*argv, IMB_NAMES[collective]], files)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Return the slowest rank's times for a call, in seconds, from IMB's tables in the output."""
        found: list[Sample] = []
        block = ("", 0)  # the benchmark's name and the number of processes
        columns: list[str] = []
        for line in _whole_lines(stdout):
            words = line.split()
            if words[:2] == ["#", "Benchmarking"]:
                block, columns = (" ".join(words[2:]), 0), []
            elif words[:3] == ["#", "#processes", "="]:
                block = (block[0], int(words[3]) if words[3:] and words[3].isdecimal() else 0)
            elif IMB_SLOWEST in words:
                columns = words
            elif not columns or block != (IMB_NAMES[call.collective], ranks):
                continue
            elif columns[0] != "#bytes" or words[:1] == [str(call.size)]:
                found += _time(words, columns.index(IMB_SLOWEST))
        return found


def _whole_lines(stdout: str) -> list[str]:
    """Return the lines without a truncated last line, whose last number might have lost digits."""
    return stdout[: stdout.rfind("\n") + 1].splitlines()


def _time(words: Sequence[str], column: int) -> list[Sample]:
    """Return the sample in a column of microseconds; an empty list if a column up to this one is not a number."""
    try:
        return [Sample([float(word) for word in words[: column + 1]][column] * US)]
    except (ValueError, IndexError):
        return []


def _programs(path: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the programs with these names: `path` itself, or files anywhere below it.

    The prefix `mpitests-`, which Red Hat's packages add, is ignored. Raise TunerError if a program is missing,
    ambiguous or not executable.
    """
    try:
        path.stat()  # rglob reports no error for a missing path
        files = [one for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file()]
        return {name: _program(path, files, name) for name in names}
    except OSError as error:
        raise TunerError(
            f"settings: benchmark_path: {path}: {error.strerror}: use a path that this host and all nodes can access"
        ) from error


def _program(path: Path, files: Sequence[Path], name: str) -> Path:
    found = {one.resolve(): one for one in files if one.name in (name, f"mpitests-{name}")}
    if not found:
        raise TunerError(
            f"settings: benchmark_path: {path} is neither {name} nor a directory that contains it: specify one of them"
        )
    if len(found) > 1:
        first, second, *_ = sorted(found.values())
        raise TunerError(
            f"settings: benchmark_path: {path} contains several programs named {name} ({first}, {second}): specify one"
        )
    (program,) = found.values()
    if not program.stat().st_mode & 0o111:
        raise TunerError(f"settings: benchmark_path: {program} is not executable: `chmod +x` it, or specify another")
    return program
