# SPDX-License-Identifier: Apache-2.0
"""Test of many clients at once, with and without write-back; some clients end without notice."""

from __future__ import annotations

import random
import threading

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import Nine

CLIENTS = 24
STEPS = 120


def play(place: Place, number: int) -> None:
    """Write a file of one's own, and compare what is read with what was written."""
    draw = random.Random(number)  # noqa: S311 - not used for security
    name, job = f"file{number}", f"job-{number % 3}"
    nine = Nine(place.directory / "clients", place.export, job)
    fid = nine.create(name)
    data = bytearray()
    for _ in range(STEPS):
        offset, more = draw.randrange(200_000), draw.randbytes(draw.choice([10, 4000, 60_000]))
        nine.write(fid, offset, more)
        data.extend(bytes(max(0, offset + len(more) - len(data))))
        data[offset : offset + len(more)] = more
        action = draw.random()
        if action < 0.2:
            assert nine.read(fid, 0, 300_000) == bytes(data)
        elif action < 0.25:
            nine.fsync(fid)
        elif action < 0.3:
            for _ in range(3):
                nine.send_read(fid, 0, 60_000)
            nine.close()
            nine = Nine(place.directory / "clients", place.export, job)
            fid = nine.open(name)
    nine.fsync(fid)
    assert (place.export / name).read_bytes() == bytes(data)
    nine.close()


@pytest.mark.slow
def test_many_clients_do_not_disturb_one_another(place: Place) -> None:
    limits = ("--destage-after=30", "--ram-bytes=2000000", "--flash-bytes=20000000")
    place.start("--write-back=flash", f"--flash={place.flash}", *limits)
    place.control("write-back job-1 ram")
    place.control("write-back job-2 off")
    errors: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            play(place, number)
        except BaseException as error:
            errors[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == {}
    status = place.control("drain")
    assert (status["delayed_bytes"], status["lost_bytes"], status["write_errors"]) == (0, 0, 0)
    assert place.terminate() == 0
    assert place.diod and place.diod.poll() is None
