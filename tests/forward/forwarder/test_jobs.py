# SPDX-License-Identifier: Apache-2.0
"""Tests of commands on the control socket, which choose write-back for single jobs."""

from __future__ import annotations

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import Nine
from tests.forward.forwarder.test_delayed import LATE, opened


def test_write_back_can_be_chosen_for_each_job(place: Place) -> None:
    place.start(f"--flash={place.flash}", LATE)
    plain, ram, flash = (place.client(job) for job in ("job-1", "job-2", "job-3"))
    for nine in (plain, ram, flash):
        nine.write(nine.create(nine_name(nine)), 0, b"direct")
    place.control("write-back job-2 ram")
    place.control("write-back job-3 flash")
    fids = [opened(place, nine, nine_name(nine)) for nine in (ram, flash)]
    for nine, fid in zip((ram, flash), fids, strict=True):
        nine.write(fid, 0, b"delayed")
    fid = plain.open(nine_name(plain))
    plain.write(fid, 0, b"still direct")
    assert (place.export / nine_name(plain)).read_bytes() == b"still direct"
    place.kill()
    place.start(f"--flash={place.flash}", LATE)
    place.control("drain")
    assert (place.export / nine_name(flash)).read_bytes() == b"delayed"
    assert (place.export / nine_name(ram)).read_bytes()[1:] == b"irect"


def nine_name(nine: Nine) -> str:
    """Return a name of a file for a client."""
    return f"file{id(nine)}"


WRONG_COMMANDS = {
    "write-back job-2": "use write-back JOB off|ram|flash",
    "write-back job-2 disk": "unknown mode: use off, ram or flash",
    "write-back job-2 flash": "there is no flash cache: start the forwarder with --flash=DIRECTORY",
    "stop": "unknown command: use status, patterns, drain, write-back, window or layout",
}


def test_a_wrong_command_gets_one_clear_line(place: Place) -> None:
    place.start()
    assert {command: place.control(command)["error"] for command in WRONG_COMMANDS} == WRONG_COMMANDS
