# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that can time a collective: how each is called, and how its output is read.

A setting is judged by the slowest rank's mean over the repetitions, since an application waits for that rank: an
algorithm that lets the root go on early lowers the mean over the ranks and makes jobs slower.

Our own measures every collective and size in one run, and gives up what is hopeless. The OSU micro-benchmarks (5.x to
7.x) and the Intel MPI Benchmarks (2018 and later) are a site's own, given by path; how they are called and read follows
their documentation and sources.
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
SIZES_FILE = "sizes"  # of IMB, in the trial's directory, where trials run
ROUND = 64  # calls that one run measures, at most: what ends it early costs the others no more than minutes
US = 1e-6
GIB = 2**30


@dataclass(frozen=True)
class Call:
    """A collective with a size in bytes (0: it has none); it may be given up above `most` seconds (None: never)."""

    collective: str
    size: int
    most: float | None = None


@dataclass(frozen=True)
class Command:
    """What measures some calls: the program with its arguments, and files of its directory."""

    argv: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)


class Benchmark(Protocol):
    """A benchmark as it is installed."""

    def joins(self, earlier: Call, later: Call) -> bool:
        """Whether a run that measures `earlier` can go on with `later`, the next one of the campaign."""

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        """How to measure calls that can be joined, or some of these, among so many ranks."""

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Return the slowest rank's mean over repetitions, in seconds, for each time that the output holds of a call.

        Lines that hold no time are passed over, whatever they are; a value may be no time at all (0, NaN).
        """


def installed(settings: Settings, config: Config) -> Benchmark:
    """The benchmark that a campaign's settings name. Raises TunerError where it cannot measure what they want."""
    path = settings.benchmark_path
    if settings.benchmark == "own":
        if path:
            raise TunerError(
                "settings: benchmark_path: it is for another benchmark: set `benchmark` to osu or imb, too"
            )
        return Own(config.tuner.libexec / OWN, settings)
    if not path:
        raise TunerError(f"settings: benchmark_path: is missing: say where {settings.benchmark.upper()} is installed")
    if settings.benchmark == "osu" and "reduce_scatter_block" in settings.collectives:
        raise TunerError(
            "settings: collectives: reduce_scatter_block cannot be measured with osu, which some releases of it lack: "
            "leave it out, or set `benchmark` to own"
        )
    if settings.benchmark == "imb":
        other = [name for name in settings.collectives if name not in IMB_NAMES]
        if other:
            raise TunerError(
                f"settings: collectives: {other[0]} cannot be measured with imb, whose releases mean different things "
                "by its size: leave it out, or set `benchmark` to own or osu"
            )
        return IMB(_programs(path, ["IMB-MPI1"])["IMB-MPI1"], settings)
    found = _programs(path, [f"osu_{name}" for name in settings.collectives])
    return OSU({name: found[f"osu_{name}"] for name in settings.collectives}, settings)


def rounds(benchmark: Benchmark, calls: Sequence[Call]) -> list[str]:
    """Of each call the name of the round that measures it: neighbours share one as far as the benchmark joins them."""
    names: list[str] = []
    number = length = 0
    for index, call in enumerate(calls):
        if not index or length == ROUND or not _goes_on(benchmark, calls[index - 1], call):
            number, length = number + 1, 0
        length += 1
        names.append(str(number))
    return names


def _goes_on(benchmark: Benchmark, earlier: Call, later: Call) -> bool:
    """Whether one run can measure both. Without sizes in its rules, a collective has one setting a run."""
    alike = earlier.collective == later.collective and not tells_sizes(later.collective)
    return not alike and benchmark.joins(earlier, later)


@dataclass(frozen=True)
class Own:
    """`reprise-collbench`: an argument for each call, and a JSON object for each on standard output after each pass."""

    program: Path
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        return True

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        argv = [str(self.program), "--warmup", str(self.settings.warmup)]
        if self.settings.repetitions is not None:
            argv += ["--repetitions", str(self.settings.repetitions)]
        argv += ["--max-seconds", f"{self.settings.max_seconds:g}", "--passes", str(self.settings.passes)]
        for call in calls:
            argv.append(f"{call.collective}:{call.size}" + ("" if call.most is None else f":{call.most:.9g}"))
        return Command(argv)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        """Of a call that a run ended in, after an earlier pass, nothing: who hangs now and then is no winner."""
        found: list[Sample] = []
        lines = list(_objects(stdout))
        for line in lines:
            try:
                # Barriers have one size, which the benchmark may name as it likes.
                if (line["collective"], line["size"], line["ranks"]) != (call.collective, call.size, ranks):
                    continue
                given_up = "above_s" in line
                value = float(line["above_s" if given_up else "max_s"])
                batches = () if given_up else tuple(float(v) for v in line["batches_s"])
                later = line.get("pass", 1) > 1
            except (ValueError, KeyError, TypeError):
                continue
            if later and found:
                found.pop()  # all calls up to an earlier pass are in it
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
    """The call that was under way when a run ended in its second pass or later: the first, in the order
    of the calls, that has calls to make and no line since that pass began. None where all have."""
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


# A table's header with `-f`, without which there is only the mean over the ranks; osu_barrier has no size.
OSU_HEADER = re.compile(r"#\s*(Size\s+)?" + r"\s+".join(rf"{name} Latency\s*\(us\)" for name in ("Avg", "Min", "Max")))
OSU_SLOWEST = 2  # that column, behind the size if there is one


@dataclass(frozen=True)
class OSU:
    """The OSU micro-benchmarks: a program for each collective, which doubles its size from the first to the last.

    Sizes are those of `Settings`. `-i` and `-x` hold for all sizes; without `-i`, 1000 calls, and 100 of large ones.
    The limit of memory (`-M`) is left alone: 7.4 has no such option.
    """

    programs: Mapping[str, Path]
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        return earlier.collective == later.collective and later.size == 2 * earlier.size

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        collective = calls[0].collective
        argv = [str(self.programs[collective]), "-f", "-x", str(self.settings.warmup)]
        if self.settings.repetitions is not None:
            argv += ["-i", str(self.settings.repetitions)]
        if takes_data(collective):
            sizes = [call.size for call in calls]
            argv += ["-m", f"{min(sizes)}:{max(sizes)}"]
        return Command(argv)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
        found: list[Sample] = []
        sized: bool | None = None  # whether the table that is being read has sizes; None: there is none yet
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


# What IMB calls them. Its Reduce_scatter and its _block are missing: a size is the whole message up to 2018, then one
# rank's part.
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
    """`IMB-MPI1` of the Intel MPI Benchmarks: any sizes, which it reads from a file; all its benchmarks get the same.

    Sizes are those of `Settings`. It warms up by itself, and repeats less what would take longer than `-time`.
    """

    program: Path
    settings: Settings

    def joins(self, earlier: Call, later: Call) -> bool:
        return earlier.collective == later.collective

    def command(self, calls: Sequence[Call], ranks: int) -> Command:
        argv = [str(self.program), "-npmin", str(ranks), "-time", f"{self.settings.max_seconds:g}"]
        if self.settings.repetitions is not None:
            # The second number, MiB in all that a size may move, would cut the first; more does not fit its C int.
            argv += ["-iter", f"{self.settings.repetitions},2047"]
        files = {}
        collective = calls[0].collective
        if takes_data(collective):
            files[SIZES_FILE] = "".join(f"{call.size}\n" for call in calls)
            # GiB of one rank for both its buffers, each of as many parts as there are ranks, at most; 1 by default.
            memory = math.ceil(2 * ranks * max(call.size for call in calls) / GIB) + 1
            argv += ["-mem", str(memory), "-msglen", SIZES_FILE]
        return Command([*argv, IMB_NAMES[collective]], files)

    def times(self, stdout: str, call: Call, ranks: int) -> list[Sample]:
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
    """Without a last line that was cut off: half a number is a number, too."""
    return stdout[: stdout.rfind("\n") + 1].splitlines()


def _time(words: Sequence[str], column: int) -> list[Sample]:
    """The time in microseconds that stands there, if one does, behind nothing but numbers."""
    try:
        return [Sample([float(word) for word in words[: column + 1]][column] * US)]
    except (ValueError, IndexError):
        return []


def _programs(path: Path, names: Sequence[str]) -> dict[str, Path]:
    """The programs of these names: `path` itself, or anywhere below it. Raises TunerError.

    A packager's prefix (`mpitests-osu_bcast` of Red Hat) is part of no name.
    """
    try:
        path.stat()  # what is not there has nothing below it, and no error either
        files = [one for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file()]
        return {name: _program(path, files, name) for name in names}
    except OSError as error:
        raise TunerError(
            f"settings: benchmark_path: {path}: {error.strerror}: give a path that this host and all nodes see"
        ) from error


def _program(path: Path, files: Sequence[Path], name: str) -> Path:
    found = {one.resolve(): one for one in files if one.name in (name, f"mpitests-{name}")}
    if not found:
        raise TunerError(f"settings: benchmark_path: {path} is not {name}, nor a directory that holds it: give either")
    if len(found) > 1:
        first, second, *_ = sorted(found.values())
        raise TunerError(f"settings: benchmark_path: {path} holds several {name} ({first}, {second}): give one's place")
    (program,) = found.values()
    if not program.stat().st_mode & 0o111:
        raise TunerError(f"settings: benchmark_path: {program} is not executable: `chmod +x` it, or give another")
    return program
