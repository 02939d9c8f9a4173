# SPDX-License-Identifier: Apache-2.0
"""Report how many branches of spank/ the tests take, and which untaken branches uncovered.toml does not list.

`make coverage-plugin` runs this program. gcov counts each outcome of each condition as a branch. uncovered.toml lists
the branches that no test takes, by the text of their line, with the reason. It is an error if a branch is neither taken
nor listed, or if a listed branch is taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SPANK = ROOT / "spank"
LIST = HERE / "uncovered.toml"
WANTED = 0.95
TESTS = ["tests/spank", "tests/faults"]

Branches = dict[str, dict[int, list[int]]]  # by file and line: how often each branch was taken
Missed = Counter[tuple[str, str]]  # number of branches not taken, by file and text of the line


def run_tests(directory: Path) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--basetemp", str(directory), "-m", "not cluster"]
    env = {**os.environ, "REPRISE_COUNT_BRANCHES": "1"}
    return subprocess.run([*words, *TESTS], cwd=ROOT, env=env, check=False).returncode == 0


def count(directory: Path) -> Branches:
    """Return how often each branch was taken in all programs together, according to gcov's files."""
    branches: Branches = defaultdict(dict)
    for data in sorted(directory.glob("*.gcda")):
        words = ["gcov", "--branch-probabilities", "--json-format", "--stdout", str(data)]
        for document in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
            for file in json.loads(document)["files"]:
                path = Path(file["file"]).resolve()
                if path.is_relative_to(SPANK):
                    add(branches[str(path.relative_to(SPANK))], file["lines"])
    return branches


def add(taken: dict[int, list[int]], lines: list[dict[str, object]]) -> None:
    for line in lines:
        found, number = line["branches"], line["line_number"]
        assert isinstance(found, list) and isinstance(number, int)
        before = taken.get(number) or [0] * len(found)
        taken[number] = [a + branch["count"] for a, branch in zip(before, found, strict=True)]


def missed_in(branches: Branches) -> Missed:
    missed: Missed = Counter()
    for name, taken in branches.items():
        texts = (SPANK / name).read_text().splitlines()
        for number, counts in taken.items():
            missed[name, texts[number - 1].strip()] += counts.count(0)
    return +missed


def explained() -> Missed:
    entries = tomllib.loads(LIST.read_text())["uncovered"]
    assert all(entry["reason"] for entry in entries)
    return Counter({(entry["file"], entry["line"]): entry["branches"] for entry in entries})


def figure(name: str, lines: Iterable[list[int]]) -> tuple[str, float]:
    counts = [count for line in lines for count in line]
    taken = len(counts) - counts.count(0)
    share = taken / len(counts) if counts else 1.0
    return f"{name:20} {taken:4} of {len(counts):4} branches {share:7.1%}", share


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="reprise-coverage-") as directory:
        passed = run_tests(Path(directory) / "pytest")
        branches = count(Path(directory) / "pytest" / "spank-programs")
    for name, taken in sorted(branches.items()):
        print(figure(name, taken.values())[0])
    line, share = figure("spank/", (counts for taken in branches.values() for counts in taken.values()))
    print(line)
    missed, listed = missed_in(branches), explained()
    for (name, text), number in sorted((missed - listed).items()):
        print(f"spank/{name}: {text}: {number} branches are not taken: test them, or explain them in {LIST.name}")
    for (name, text), number in sorted((listed - missed).items()):
        print(f"spank/{name}: {text}: {number} branches are taken: remove them from {LIST.name}")
    if share < WANTED:
        print(f"tests take less than {WANTED:.0%} of the branches of spank/: test more of them")
    return 0 if passed and share >= WANTED and missed == listed else 1


if __name__ == "__main__":
    sys.exit(main())
