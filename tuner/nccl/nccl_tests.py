# SPDX-License-Identifier: Apache-2.0
"""nccl-tests and rccl-tests: how to run one of their programs on a collective, and how to read its output.

The options and the form of the output are those that the README and doc/PERFORMANCE.md of nccl-tests document and that
logs of 2.13 to 2.17 show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Sample

PROGRAMS = {
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "allgather": "all_gather_perf",
    "reducescatter": "reduce_scatter_perf",
    "allreduce": "all_reduce_perf",
}
WITH_MPI = "_mpi"  # suffix of the programs in some builds
SLOWEST_RANK = "3"  # value of `-a`: report the time of the slowest rank
US = 1e-6
WRONG = "#wrong"
_RANK = re.compile(r"#\s+Rank\s+[0-9]+\s")


def program(directory: Path, collective: str) -> Path:
    """Return the program that measures a collective. Raise TunerError if it is not in the directory."""
    name = PROGRAMS[collective]
    for path in (directory / name, directory / f"{name}{WITH_MPI}"):
        if path.is_file():
            return path
    raise TunerError(f"settings: benchmark_path: {directory} has no {name}: use nccl-tests' directory of programs")


def arguments(size: int, iterations: int, warmup: int) -> list[str]:
    """Return the arguments that measure one size in bytes with one GPU per process, and check the results."""
    sizes = ["-b", str(size), "-e", str(size), "-f", "2"]
    return [*sizes, "-g", "1", "-n", str(iterations), "-w", str(warmup), "-c", "1", "-a", SLOWEST_RANK]


def time_in(stdout: str, size: int, ranks: int) -> Sample:
    """Return the time of a call in seconds: the slower of the out-of-place and the in-place call.

    Raise ObjectiveError unless the output is of `ranks` ranks and has one line for the size, without wrong results.
    """
    found = sum(bool(_RANK.match(line)) for line in stdout.splitlines())
    if found != ranks:
        raise ObjectiveError(
            f"nccl-tests ran on {found} ranks instead of {ranks}: build it with MPI=1, and check that tasks have GPUs"
        )
    times: list[Sample] = []
    columns: list[str] = []
    for line in stdout[: stdout.rfind("\n") + 1].splitlines():
        words = line.split()
        if words[:3] == ["#", "size", "count"]:
            columns = words[1:]
        elif columns and words[:1] == [str(size)]:
            times.append(_sample(_row(columns, words, line), size))
    if len(times) != 1:
        raise ObjectiveError(
            f"the output has {len(times) or 'no'} times of {size} bytes: a size must be a multiple of 4 bytes, and for "
            "allgather and reducescatter of 16 bytes for each rank"
        )
    return times[0]


def _row(columns: Sequence[str], words: Sequence[str], line: str) -> dict[str, list[str]]:
    """Return the words of a line by the names of their columns; some names occur twice.

    Raise ObjectiveError if there are more or fewer words than columns, or if the release of nccl-tests does not count
    wrong results.
    """
    if len(columns) != len(words) or WRONG not in columns:
        raise ObjectiveError(f"nccl-tests prints an unknown table ({line.strip()}): use release 2.13 or later")
    table: dict[str, list[str]] = {}
    for name, word in zip(columns, words, strict=True):
        table.setdefault(name, []).append(word)
    return table


def _sample(row: dict[str, list[str]], size: int) -> Sample:
    if any(count not in ("0", "N/A") for count in row[WRONG]) or row[WRONG][0] == "N/A":
        raise ObjectiveError(f"{size} bytes: nccl-tests counts wrong results ({', '.join(row[WRONG])})")
    try:
        times = [float(word) for word in row["time"]]
    except (KeyError, ValueError) as error:
        raise ObjectiveError(f"{size} bytes: nccl-tests printed no time") from error
    if not all(0 < time < float("inf") for time in times):
        raise ObjectiveError(f"{size} bytes: nccl-tests measured {times} us, which are not valid times")
    return Sample(max(times) * US)
