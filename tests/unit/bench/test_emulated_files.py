# SPDX-License-Identifier: Apache-2.0
"""Test that stored landscapes can be read and name their source, and that the emulators reproduce their landscapes.

A landscape has the values of all points of a space.
"""

from pathlib import Path

import pytest

from bench.emulated import DIRECTORY, EMULATED, path_of
from reprise.tuner.model.landscape import load

QUICK = ("sbb.2", "sro.1.nfs")


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.json.gz")), ids=lambda path: path.name)
def test_every_stored_landscape_can_be_read_and_says_where_it_comes_from(path: Path) -> None:
    landscape = load(path)
    assert path_of(landscape.name) == path
    assert landscape.source.startswith(("emulated: ", "measured: "))
    assert landscape.optimum[1] < landscape.mean(landscape.default)
    assert path.stat().st_size < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_an_emulated_landscape_made_again_equals_the_stored_one(name: str, tmp_path: Path) -> None:
    EMULATED[name]().save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path_of(name).read_bytes()
