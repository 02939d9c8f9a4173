# SPDX-License-Identifier: Apache-2.0
"""The results of `make test-matrix`, and the table of the stored results in docs/reference/installation.md.

Every whole run writes its results to build/matrix/results.json. `make docs-matrix` stores this file in the repository
and regenerates the table.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Protocol, runtime_checkable

from tests.matrix.roots import SOURCE, Release

NEWEST = SOURCE / "build/matrix/results.json"
STORED = Path(__file__).with_name("results.json")
PAGE = SOURCE / "docs/reference/installation.md"
TABLE = re.compile(r"(?<=<!-- matrix -->\n).*?(?=<!-- end -->)", re.DOTALL)


@runtime_checkable
class Subject(Protocol):
    """A release of some software that the tests run with."""

    def described(self) -> tuple[str, str]:
        """Return the software with its exact version, and the system that it is from."""


@dataclass(frozen=True)
class WithoutMunge:
    """A release of Slurm on a cluster with `auth/slurm`."""

    release: Release

    def __str__(self) -> str:
        return f"auth/slurm, {self.release}"

    def described(self) -> tuple[str, str]:
        slurm, system = self.release.described()
        return f"{slurm} with `auth/slurm`, without munge", system


@dataclass(frozen=True)
class Python:
    """The Python of a Debian release."""

    debian: Release

    def described(self) -> tuple[str, str]:
        return f"Python {self.debian.version_of('python3')}", self.debian.name


@dataclass(frozen=True)
class Result:
    """Number of passed checks with a release, and number of all its checks."""

    software: str
    system: str
    passed: int
    checks: int

    def __str__(self) -> str:
        return f"{self.software} ({self.system}): {self.passed} of {self.checks} checks passed"


def write(results: Iterable[Result]) -> None:
    """Write the results of a whole run, with today's date."""
    found = {"date": f"{date.today():%Y-%m-%d}", "results": [asdict(one) for one in results]}
    NEWEST.parent.mkdir(parents=True, exist_ok=True)
    NEWEST.write_text(json.dumps(found, indent=2) + "\n")


def table(stored: Path = STORED) -> str:
    """Return the table of the stored results, with the date of the run."""
    found = json.loads(stored.read_text())
    rows = [Result(**one) for one in found["results"]]
    lines = [f"| {one.software} | {one.system} | {one.passed} of {one.checks} |" for one in rows]
    return "\n".join([f"| run on {found['date']} | from | checks passed |", "|---|---|---:|", *lines, ""])


def main() -> None:
    """Store the newest results, and write their table."""
    if not NEWEST.exists():
        sys.exit(f"make docs-matrix: {NEWEST} is missing: run `make test-matrix` to its end")
    shutil.copyfile(NEWEST, STORED)
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text()))


if __name__ == "__main__":
    main()
