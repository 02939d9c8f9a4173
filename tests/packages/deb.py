# SPDX-License-Identifier: Apache-2.0
"""Operations on Debian packages: install dependencies, and build a newer version of a package."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.packages.systems import System
from tests.places import ROOT


def depends_on(package: Path) -> str:
    return field(package, "Depends")


def field(package: Path, name: str) -> str:
    """Return a field of a package's control file; "" if the package does not have the field."""
    words = ["dpkg-deb", "-f", str(package), name]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def maintainer() -> str:
    return subprocess.run([ROOT / "packaging/maintainer"], capture_output=True, text=True, check=True).stdout.strip()


def satisfy(machine: System, packages: list[Path]) -> None:
    """Install the dependencies of packages, but not the packages themselves."""
    for path in packages:
        machine.run(["apt-get", "-q", "satisfy", "-y", "--no-install-recommends", depends_on(path)])


def newer(package: Path, place: Path) -> Path:
    """Rebuild a package with a higher version number, and return the path of the new package."""
    tree, made = place / "tree", place / "next" / package.name
    made.parent.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    lines = [f"{line}+next" if line.startswith("Version:") else line for line in control.read_text().splitlines()]
    control.write_text("\n".join(lines) + "\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", str(tree), str(made)], check=True)
    shutil.rmtree(tree)
    return made
