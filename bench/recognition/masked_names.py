# SPDX-License-Identifier: Apache-2.0
"""Measure how well programs are recognized by their files alone.

    python -m bench.recognition.masked_names [--fit]

The benchmark builds each of `PROGRAMS` from source in five ways (`BUILDS`). Program, path, job name and directory are
masked: the metadata of a job has only a user, a size, and the identity of the program's file. Each kind of build in
turn is used for the tuned jobs. Jobs with the four other kinds of builds, and with `OTHERS` executables of this host,
are then matched with the tuned jobs by the model `site`. The last line of output is a JSON object.
`masked_names_recall` is the share of builds that match their program, and `masked_names_false` is the number of the
host's executables that match any program. `--fit` prints, for each part of an identity and each similarity, the number
of pairs of builds of the same program, the number of pairs of different programs, and the resulting evidence in bits.
The evidence is log2 of a ratio: the share of the pairs of the same program that have this similarity, divided by this
share of the pairs of different programs.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

from reprise.matcher.identity.elf_file import MAGIC
from reprise.matcher.identity.identify import Identifier
from reprise.matcher.linkage import Engine, LinkableRecord, load
from reprise.matcher.linkage.comparers import hamming
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_identity import ProgramIdentity

ROOT = Path(__file__).parents[2]
SOURCES = ("accelerators", "bench", "demo", "tuner/programs")
PROGRAMS = {
    "cg": "bench/apps/cg.c",
    "ft": "bench/apps/ft.c",
    "mpiio": "bench/mpiio/mpiio.c",
    "fakeapp": "bench/fakeapp/fakeapp.c",
    "reprise-collbench": "tuner/programs/collbench/collbench.c",
    "reprise-rulesprobe": "tuner/programs/collbench/rulesprobe.c",
    "solver": "demo/solver.c",
}
"""The source file to which the build `edited` adds a function, by program.

cg and ft share source files, as do mpiio, fakeapp and reprise-rulesprobe.
"""
BUILDS = {"O0": "-O0", "O2": "-O2", "O3": "-O3 -march=native", "edited": "-O2", "stripped": "-O1"}
EDIT = '\nint one_more_step(int n);\nint one_more_step(int n) { return printf("one more step after %d\\n", n); }\n'
OTHERS = 200
WAIT_S = 10.0  # time limit to identify a file; generous, because the benchmark does not measure times

Builds = dict[tuple[str, str], ProgramIdentity]


def built(work: Path) -> Builds:
    """Build all programs in each of the ways in `BUILDS`; return their identities by program and build."""
    identifier, found = Identifier(), {}
    for build, flags in BUILDS.items():
        tree = work / build
        for folder in SOURCES:
            shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("build", "*.py", "landscapes"))
        for program, source in PROGRAMS.items():
            file = tree / source
            if build == "edited":
                file.write_text(file.read_text() + EDIT)
            output = work / f"{build}-programs"
            made = str(output / program)
            command = ["make", "-s", "-C", str(file.parent), f"BUILD={output}", f"CFLAGS={flags} -w", made]
            subprocess.run(command, check=True, stdout=sys.stderr)
            if build == "stripped":
                subprocess.run(["strip", made], check=True)
            found[program, build] = identifier.identify(made, time.monotonic() + WAIT_S)
    return found


def others() -> dict[str, ProgramIdentity]:
    """Return the identities of `OTHERS` executables of this host, evenly spaced in the order of their names."""
    files = [file for file in sorted(Path("/usr/bin").iterdir()) if not file.is_symlink() and _is_elf(file)]
    chosen = [files[number * len(files) // OTHERS] for number in range(OTHERS)] if len(files) > OTHERS else files
    identifier = Identifier()
    return {file.name: identifier.identify(str(file), time.monotonic() + WAIT_S) for file in chosen}


def _is_elf(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(4) == MAGIC
    except OSError:
        return False


def job(identity: ProgramIdentity) -> JobMetadata:
    """Return the metadata of a job with a program's identity, but without any names."""
    return JobMetadata("alice", nodes=4, tasks=16, tasks_per_node=4, submit_time=1.7e9, **asdict(identity))


def measure(builds: Builds, strangers: Mapping[str, ProgramIdentity]) -> dict[str, Any]:
    """Match the other builds and all strangers with each kind of build in turn; return the final JSON object."""
    asked = right = wrong = 0
    false: Counter[str] = Counter()
    missed: list[str] = []
    programs = list(PROGRAMS)
    for tuned in BUILDS:
        records = [
            LinkableRecord(number, job(builds[program, tuned]), 0.0, 0.1) for number, program in enumerate(programs)
        ]
        engine = Engine(load("site"), records, cluster_nodes=64, timezone="UTC")
        for (program, build), identity in builds.items():
            if build == tuned:
                continue
            matched = _matched(engine, identity)
            asked += 1
            right += matched is not None and programs[matched] == program
            wrong += matched is not None and programs[matched] != program
            if matched is None:
                missed.append(f"{program} {tuned} {build}")
        false.update(name for name, identity in strangers.items() if _matched(engine, identity) is not None)
    return {
        "masked_names_recall": round(right / asked, 4),
        "masked_names_confused": round(wrong / asked, 4),
        "masked_names_false": len(false),
        "asked": asked,
        "others": len(strangers),
        "missed": missed,
        "false": sorted(false),
    }


def _matched(engine: Engine, identity: ProgramIdentity) -> int | None:
    linkage = engine.link(job(identity), k=1)
    best = linkage.best
    return best.record.id if best and best.score >= linkage.threshold else None


def fit(builds: Builds, strangers: Mapping[str, ProgramIdentity]) -> Iterator[str]:
    """Yield the data for fitting the evidence curves of identities, one line for each part and interval of similarity.

    The intervals are 0.1 wide. For pairs of files whose parts have this similarity, a line has the number of pairs of
    builds of the same program, the number of pairs of different programs, and the resulting evidence in bits.
    """
    everything = [*(("", *key, one) for key, one in builds.items()), *(("*", n, "", o) for n, o in strangers.items())]
    for part in ("functions", "imports", "contents"):
        same: Counter[int] = Counter()
        different: Counter[int] = Counter()
        for (_, one, _, left), (_, other, _, right) in combinations(everything, 2):
            values = getattr(left, part), getattr(right, part)
            if all(values):
                (same if one == other else different)[min(9, int(10 * hamming(*values)))] += 1
        for tenth in range(10):
            shares = [(count[tenth] + 0.5) / (count.total() + 5) for count in (same, different)]
            bits = math.log2(shares[0] / shares[1])
            yield f"{part} {tenth / 10:.1f} same {same[tenth]} different {different[tenth]} bits {bits:+.1f}"


def masked_names() -> dict[str, float]:
    """Build and match all programs (half a minute); return `masked_names_recall` and `masked_names_false`."""
    with tempfile.TemporaryDirectory() as work:
        found = measure(built(Path(work)), others())
    return {name: found[name] for name in ("masked_names_recall", "masked_names_false")}


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fit", action="store_true", help="print the data for fitting the field's curves")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        builds = built(Path(work))
    strangers = others()
    if arguments.fit:
        for line in fit(builds, strangers):
            print(line)  # noqa: T201
    print(json.dumps(measure(builds, strangers)))  # noqa: T201


if __name__ == "__main__":
    main()
