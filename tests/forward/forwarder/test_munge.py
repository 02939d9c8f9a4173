# SPDX-License-Identifier: Apache-2.0
"""Tests of the forwarder with a diod that asks for munge credentials, as it does by default."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import Nine
from tests.forward.forwarder.test_delayed import LATE, opened
from tests.munged import Munged
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0 or not shutil.which("munged"), reason="needs root, for mounts, and munge"),
]


def test_clients_and_delayed_writes_are_authenticated(place: Place) -> None:
    place.kill_diod()
    with Munged() as munged:
        place.start_diod(munge=munged.socket)
        place.start("--write-back=flash", f"--flash={place.flash}", LATE, munge=munged.socket)
        with pytest.raises(PermissionError):
            place.client()
        nine = Nine(place.directory / "clients", place.export, credential=munged.credential(b"", "--no-input"))
        place.clients.append(nine)
        nine.write(opened(place, nine, "file"), 0, b"data")
        place.kill()
        place.start("--write-back=flash", f"--flash={place.flash}", LATE, munge=munged.socket)
        assert place.control("drain")["delayed_bytes"] == 0
        assert (place.export / "file").read_bytes() == b"data"


def test_without_munge_writes_go_through(place: Place) -> None:
    place.kill_diod()
    with Munged() as munged:
        place.start_diod(munge=munged.socket)
        place.start("--write-back=ram", LATE, munge=place.directory / "no munged")
        nine = Nine(place.directory / "clients", place.export, credential=munged.credential(b"", "--no-input"))
        place.clients.append(nine)
        for i in range(3):
            nine.write(nine.create(f"file{i}"), 0, b"data")
            assert (place.export / f"file{i}").read_bytes() == b"data"
        wait_for("the cause", lambda: "are not delayed: munge makes no credential" in place.log())
        assert place.log().count("are not delayed") == 1
        assert place.metrics()["reprise_forwarder_cached_bytes_total"] == 0
