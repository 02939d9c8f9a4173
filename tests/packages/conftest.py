# SPDX-License-Identifier: Apache-2.0
"""Fixtures that build the packages for the tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.matrix.roots import Release
from tests.packages.systems import BUILDING, system


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a directory that all users may enter, in which root directories are created."""
    directory = Path("/var/tmp") / f"reprise-packages-{tmp_path_factory.mktemp('x').name}-{id(tmp_path_factory)}"
    directory.mkdir(mode=0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def packages_of() -> dict[Release, list[Path]]:
    """Return an empty mapping, to which `built` adds each release and the packages built for it."""
    return {}


@pytest.fixture(scope="module")
def built(release: Release, place: Path, packages_of: dict[Release, list[Path]]) -> list[Path]:
    """Return this release's packages: those in the directory $REPRISE_PACKAGES if set, else newly built ones."""
    if given := os.environ.get("REPRISE_PACKAGES"):
        return sorted(Path(given).glob(f"*+deb{release.name.split()[-1]}_*.deb"))
    if release not in packages_of:
        with system(release, BUILDING, place) as builder:
            builder.run(["/src/packaging/deb", "/out"], source=True)
            found = [Path(shutil.copy(path, place)) for path in sorted(builder.path("/out").glob("*.deb"))]
        assert [path.name.split("_")[0] for path in found] == ["reprise-plugin", "reprise-tools", "reprise"]
        packages_of[release] = found
    return packages_of[release]
