# SPDX-License-Identifier: Apache-2.0
"""Measure the gains and costs of the Small Read Optimizer, and check that programs get the same results with it.

    python -m bench.sro [--pairs 21] [--sequences 10000] [--rounds 10] [--directory /var/tmp/reprise-bench-sro] [--keep]

The benchmark needs 4 GiB in the directory and 5 GiB in build/, on a disk. Only its own files are dropped from the page
cache. The last line of output is a JSON object; `overhead`, `patterns` and `sequences` describe its keys.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.small_reads import SmallReadsError, place_data
from bench.sro.overhead import Bench, overhead
from bench.sro.patterns import patterns
from reprise.tuner.model.landscape import LandscapeError
from tests.sro.sequences import different, prepare

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
LIBRARY = ROOT / "accelerators" / "sro" / "build" / "libreprise_sro.so"
PLAYER = ROOT / "tests" / "sro" / "player.c"
FILE_BYTES = 4 << 30
READS = (4_096, 40_000, 2_000_000)
"""Number of reads of each kind: 256 MiB in order, random reads of 4 KiB from the disk, and reads from the cache.

Reading a gigabyte in order would be too noisy: it took either 0.7 s or 1.4 s, because a virtual machine shares its
host's disk.
"""
SEED = 1


def compiled(source: Path, directory: Path) -> Path:
    """Compile a C source and return the path of the program."""
    target = directory / source.stem
    words = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", str(source), "-o", str(target)]
    subprocess.run(words, check=True)
    return target


def measure_overhead(directory: Path, given: argparse.Namespace) -> Mapping[str, Any]:
    """Measure what the library costs programs that it cannot help."""
    file = directory / "file"
    place_data(file, FILE_BYTES)
    return overhead(Bench(LIBRARY, compiled(HERE / "reader.c", directory), file, READS, given.pairs, SEED))


def measure_sequences(directory: Path, given: argparse.Namespace) -> Mapping[str, Any]:
    """Run random sequences of file operations with and without the library, and compare their results."""
    where = directory / "sequences"
    where.mkdir(exist_ok=True)
    if not (where / "big").exists():
        prepare(where)
    found = list(different(compiled(PLAYER, directory), LIBRARY, where, given.sequences))
    return {"sequences": given.sequences, "sequences_different": len(found), "different": found[:10]}


def measure_patterns(_: Path, given: argparse.Namespace) -> Mapping[str, Any]:
    """Measure the gains on the four patterns of small reads."""
    return patterns(given.rounds)


MEASURES: Mapping[str, Callable[[Path, argparse.Namespace], Mapping[str, Any]]] = {
    "patterns": measure_patterns,
    "overhead": measure_overhead,
    "sequences": measure_sequences,
}


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.sro", description=__doc__)
    parser.add_argument(
        "--pairs", type=int, default=21, help="number of pairs, each of two runs with and two without the library"
    )
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument(
        "--rounds",
        type=int,
        default=10,
        help="number of rounds of all patterns: without the accelerator, with its default, and tuned; 2 or more",
    )
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp/reprise-bench-sro"))  # noqa: S108
    parser.add_argument("--keep", action="store_true", help="keep the directory for the next run")
    parser.add_argument("--only", choices=tuple(MEASURES), action="append", help="measure only this")
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("--rounds must be 2 or more")
    given.directory.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    try:
        for name in given.only or MEASURES:
            result |= MEASURES[name](given.directory, given)
    except (SmallReadsError, LandscapeError) as error:
        sys.exit(f"bench.sro: {error}")
    finally:
        if not given.keep:
            shutil.rmtree(given.directory)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
