# SPDX-License-Identifier: Apache-2.0
"""Tests of the forwarder with a diod that asks for munge credentials, as it does by default."""

from __future__ import annotations

import json
import os
import shutil
import struct

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import RLERROR, ROOT, TATTACH, TAUTH, Nine, text
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


def user_of(place: Place, job: str) -> int | str | None:
    """Return the user of a job's pattern; "none" if there is no pattern yet."""
    users: list[int | None] = [one["user"] for one in json.loads(place.command("patterns")) if one["job"] == job]
    return users[0] if users else "none"


def test_a_pattern_has_the_user_whom_munge_confirmed(place: Place) -> None:
    place.kill_diod()
    with Munged() as munged:
        place.start_diod(munge=munged.socket)
        place.start()
        credential = munged.credential(b"", "--no-input")
        nine = Nine(place.directory / "clients", place.export, "4711", credential)
        place.clients.append(nine)
        nine.write(nine.create("file"), 0, b"data")
        with pytest.raises(PermissionError):
            place.client("4711")  # it is not let in, so it changes nothing
        wait_for("the pattern", lambda: user_of(place, "4711") == os.getuid())


def test_a_pattern_has_no_user_if_diod_asks_for_no_credentials(place: Place) -> None:
    place.start()
    nine = place.client("4711")
    nine.write(nine.create("file"), 0, b"data")
    wait_for("the pattern", lambda: user_of(place, "4711") is None)


def test_a_fid_that_is_no_credential_confirms_no_user(place: Place) -> None:
    place.start()
    nine = place.client("4711")
    who = text("4711") + text(str(place.export)) + struct.pack("<I", os.getuid())
    assert nine.wait(nine.send(TAUTH, struct.pack("<I", ROOT + 100) + who)).kind == RLERROR
    nine.wait(nine.send(TATTACH, struct.pack("<II", ROOT + 101, ROOT) + who))  # whether diod takes it or not
    nine.write(nine.create("file"), 0, b"data")
    wait_for("the pattern", lambda: user_of(place, "4711") is None)
