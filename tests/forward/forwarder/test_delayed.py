# SPDX-License-Identifier: Apache-2.0
"""Tests of write-back, in RAM and on flash: any connection reads what was written, and the file system gets it."""

from __future__ import annotations

import os
import random
import resource
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import TCLUNK, TREMOVE, TWRITE, Nine, contents
from tests.waiting import wait_for

LATE = "--destage-after=60000"
"""Option that keeps data in the cache, until a test asks for them."""
MODES = ["ram", "flash"]


def start(place: Place, mode: str, *options: str) -> Nine:
    """Start the forwarder with write-back, and return a client."""
    place.start(f"--write-back={mode}", f"--flash={place.flash}", *options)
    return place.client()


def opened(place: Place, nine: Nine, name: str, flags: int = os.O_RDWR) -> int:
    """Return the fid of a file, made if need be, whose writes are delayed from now on."""
    fid = nine.open(name, flags) if (place.export / name).exists() else nine.create(name, flags)

    def is_delayed() -> bool:
        before = place.metrics()["reprise_forwarder_cached_bytes_total"]
        nine.write(fid, 0, b"?")
        return place.metrics()["reprise_forwarder_cached_bytes_total"] > before

    wait_for("delayed writes", is_delayed)
    return fid


def delayed(place: Place) -> int:
    """Return the number of bytes that are not yet in the file system."""
    return int(place.control("status")["delayed_bytes"])


@pytest.mark.parametrize("mode", MODES)
def test_a_write_is_acknowledged_first_and_written_by_fsync(place: Place, mode: str) -> None:
    nine = start(place, mode, LATE)
    fid = opened(place, nine, "file")
    data = contents(200_000)
    nine.write(fid, 0, data)
    assert (place.export / "file").read_bytes() != data
    assert delayed(place) == 200_000
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == data
    assert delayed(place) == 0


@pytest.mark.parametrize("mode", MODES)
def test_reads_see_delayed_writes_from_any_connection(place: Place, mode: str) -> None:
    (place.export / "file").write_bytes(b"old " * 25_000)
    nine = start(place, mode, LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 50_000, b"new " * 10_000)
    nine.write(fid, 300_000, b"far")
    other = place.client()
    reader = other.open("file", os.O_RDONLY)
    expected = (
        b"?" + (b"old " * 25_000)[1:50_000] + b"new " * 10_000 + (b"old " * 25_000)[90_000:] + bytes(200_000) + b"far"
    )
    assert other.read(reader, 0, 400_000) == expected
    assert other.read(reader, 299_990, 100) == bytes(10) + b"far"
    assert other.read(reader, 150_000, 1000) == bytes(1000)
    assert other.read(reader, 300_003, 10) == b""
    assert other.size(reader) == other.size(other.walk("file")) == 300_003
    assert (place.export / "file").stat().st_size == 100_000


@pytest.mark.parametrize("mode", MODES)
def test_data_get_to_the_file_system_by_age_and_at_the_end(place: Place, mode: str) -> None:
    nine = start(place, mode, "--destage-after=30")
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"by age")
    wait_for("age", lambda: (place.export / "file").read_bytes() == b"by age")
    place.terminate()  # at once: diod may still have to answer, and dies of SIGPIPE if nobody listens
    assert place.diod and place.diod.poll() is None
    nine = start(place, mode, LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"at end")
    assert place.terminate() == 0
    assert (place.export / "file").read_bytes() == b"at end"


def test_data_of_a_client_that_ended_get_to_the_file_system(place: Place) -> None:
    nine = start(place, "ram", LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"data")
    nine.close()
    wait_for("the session's end", lambda: place.control("status")["connections"] == 0)
    assert place.control("drain")["delayed_bytes"] == 0
    assert (place.export / "file").read_bytes() == b"data"
    assert place.metrics()["reprise_forwarder_delayed_files"] == 0


@pytest.mark.parametrize(("close", "seen"), [("return", b"?"), ("wait", b"data")])
def test_close_waits_only_if_the_site_says_so(place: Place, close: str, seen: bytes) -> None:
    nine = start(place, "ram", LATE, f"--close={close}")
    fid = opened(place, nine, "file")
    nine.fsync(fid)
    nine.write(fid, 0, b"data")
    nine.clunk(fid)
    assert (place.export / "file").read_bytes() == seen


def test_truncation_rename_and_removal_follow_the_writes(place: Place) -> None:
    nine = start(place, "ram", LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"0123456789")
    nine.truncate(fid, 4)
    assert (place.export / "file").read_bytes() == b"0123"
    assert nine.read(fid, 0, 100) == b"0123"
    nine.write(fid, 4, b"45")
    nine.rename(nine.walk("file"), "renamed")
    assert (place.export / "renamed").read_bytes() == b"012345"
    nine.write(fid, 6, b"67")
    again = nine.open("renamed", os.O_RDWR | os.O_TRUNC)
    assert (nine.size(again), nine.read(again, 0, 10)) == (0, b"")
    nine.write(fid, 0, b"ab")
    nine.call(TREMOVE, struct.pack("<I", nine.walk("renamed")))
    assert delayed(place) == 0
    nine.write(fid, 0, b"cd")  # the file is open, although it has no name any more
    nine.fsync(fid)
    assert nine.read(fid, 0, 10) == b"cd"


def test_writes_that_append_or_sync_go_through(place: Place) -> None:
    nine = start(place, "ram", LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"12345")
    appending = nine.open("file", os.O_WRONLY | os.O_APPEND)
    nine.write(appending, 0, b"end")
    assert (place.export / "file").read_bytes() == b"12345end"
    nine.write(fid, 0, b"abc")
    synced = nine.open("file", os.O_WRONLY | os.O_SYNC)
    nine.write(synced, 1, b"BCD")
    assert (place.export / "file").read_bytes() == b"aBCD5end"
    assert nine.read(fid, 0, 20) == b"aBCD5end"


def test_a_full_cache_writes_through(place: Place) -> None:
    nine = start(place, "ram", LATE, "--ram-bytes=500000", "--ram-threshold=100")
    fid = opened(place, nine, "file")
    data = contents(3_000_000)
    nine.write(fid, 0, data)
    assert 0 < delayed(place) <= 500_000
    assert nine.read(fid, 0, 3_000_000) == data
    nine.write(fid, 100, data[:1000])  # over delayed data
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == data[:100] + data[:1000] + data[1100:]
    values = place.metrics()
    assert values["reprise_forwarder_through_bytes_total"] > 2_000_000
    assert values["reprise_forwarder_write_errors_total"] == 0


def test_ram_over_its_threshold_moves_to_flash(place: Place) -> None:
    nine = start(
        place,
        "ram",
        LATE,
        "--ram-bytes=1000000",
        "--ram-threshold=20",
        "--flash-threshold=90",
        "--flash-bytes=60000000",
    )
    fid = opened(place, nine, "file")
    data = contents(5_000_000)
    for at in range(0, len(data), 100_000):
        nine.write(fid, at, data[at : at + 100_000])
    wait_for("flash", lambda: place.control("status")["ram_bytes"] <= 200_000)
    status = place.control("status")
    assert status["flash_bytes"] > 3_000_000 and status["delayed_bytes"] > 3_000_000
    assert nine.read(fid, 0, 5_000_000) == data
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == data
    assert place.control("status")["flash_bytes"] < 2 << 20


def test_exports_without_write_back_are_left_alone(place: Place) -> None:
    nine = start(place, "ram", LATE, "--exports=/elsewhere,/other")
    fid = nine.create("file")
    nine.write(fid, 0, b"data")
    assert (place.export / "file").read_bytes() == b"data"
    assert place.metrics()["reprise_forwarder_cached_bytes_total"] == 0
    place.terminate()
    nine = start(place, "ram", LATE, f"--exports=/elsewhere,{place.export}")
    assert opened(place, nine, "file")


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_a_delayed_write_is_reported_once_by_fsync_or_close(place: Place, mode: str) -> None:
    assert place.diod
    nine = start(place, mode, LATE)
    fid, other = opened(place, nine, "one"), opened(place, nine, "two")
    nine.fsync(fid)
    resource.prlimit(place.diod.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    nine.write(fid, 5000, b"too far")
    nine.write(other, 5000, b"too far")
    with pytest.raises(OSError, match="File too large"):
        nine.fsync(fid)
    nine.fsync(fid)
    assert nine.read(fid, 0, 10) == b"?"
    place.control("drain")
    with pytest.raises(OSError, match="File too large"):
        nine.call(TCLUNK, struct.pack("<I", other))
    values = place.metrics()
    assert (values["reprise_forwarder_write_errors_total"], values["reprise_forwarder_lost_bytes_total"]) == (2, 14)


def test_delayed_data_outlive_diod(place: Place) -> None:
    nine = start(place, "ram", LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"data")
    place.kill_diod()
    wait_for("the session's end", lambda: place.control("status")["connections"] == 0)
    place.start_diod()
    assert place.control("drain")["delayed_bytes"] == 0
    assert (place.export / "file").read_bytes() == b"data"


def test_another_file_of_the_same_name_is_not_written_to(place: Place) -> None:
    nine = start(place, "ram", LATE)
    fid = opened(place, nine, "file")
    nine.write(fid, 0, b"data")
    place.kill_diod()
    (place.export / "other").write_bytes(b"other")
    (place.export / "other").rename(place.export / "file")
    place.start_diod()
    status = place.control("drain")
    assert (status["delayed_bytes"], status["stranded_files"], status["lost_bytes"]) == (0, 1, 4)
    assert (place.export / "file").read_bytes() == b"other"


class Model:
    """A file in memory, with the operations of a client, for comparison."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, offset: int, data: bytes) -> None:
        self.data.extend(bytes(max(0, offset + len(data) - len(self.data))))
        self.data[offset : offset + len(data)] = data


RANDOM = {
    "ram": ("--write-back=ram", "--ram-bytes=300000", "--destage-after=3"),
    "ram, late": ("--write-back=ram", "--ram-bytes=3000000", LATE),
    "ram, then flash": ("--write-back=ram", "--ram-bytes=400000", "--ram-threshold=10", "--destage-after=20"),
    "flash": ("--write-back=flash", "--ram-bytes=400000", "--ram-threshold=0", "--destage-after=5"),
    "flash, small": ("--write-back=flash", "--flash-bytes=2097152", "--ram-threshold=50", "--destage-after=1"),
    "flash, synced": ("--write-back=flash", "--flash-sync=yes", "--ram-threshold=0", "--destage-after=5"),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_operations_give_what_a_plain_file_gives(place: Place, name: str) -> None:
    place.start(*RANDOM[name], f"--flash={place.flash}")
    draw = random.Random(name)  # noqa: S311 - not used for security
    clients = [place.client() for _ in range(3)]
    fids = [opened(place, clients[0], "file"), *(nine.open("file") for nine in clients[1:])]
    model = Model()
    model.write(0, b"?")
    for _ in range(400):
        which = draw.randrange(3)
        nine, fid = clients[which], fids[which]
        action = draw.random()
        offset = draw.randrange(draw.choice([100, 5000, 400_000]))
        if action < 0.55:
            data = draw.randbytes(draw.choice([1, 50, 3000, 70_000]))
            nine.write(fid, offset, data)
            model.write(offset, data)
        elif action < 0.9:
            count = draw.choice([1, 500, 100_000])
            assert nine.read(fid, offset, count) == bytes(model.data[offset : offset + count])
            assert nine.size(fid) == len(model.data)
        elif action < 0.93:
            nine.truncate(fid, offset)
            model.write(offset, b"")
            del model.data[offset:]
        elif action < 0.97:
            nine.fsync(fid)
            assert (place.export / "file").read_bytes() == bytes(model.data)
        else:
            nine.clunk(fid)
            fids[which] = nine.open("file")
    place.control("drain")
    assert (place.export / "file").read_bytes() == bytes(model.data)
    assert place.metrics()["reprise_forwarder_lost_bytes_total"] == 0


class Relay:
    """A socket in front of diod that notes the fids of the writes that pass."""

    def __init__(self, place: Place) -> None:
        self.address, self.diod = place.directory / "relay", place.directory / "diod"
        self.written: list[int] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.address))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                near, far = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
                far.connect(str(self.diod))
                threading.Thread(target=self.pass_on, args=(near, far, self.written), daemon=True).start()
                threading.Thread(target=self.pass_on, args=(far, near, []), daemon=True).start()

    def pass_on(self, source: socket.socket, to: socket.socket, written: list[int]) -> None:
        with suppress(OSError):  # the forwarder is stopped with requests under way
            stream = source.makefile("rb")
            while head := stream.read(4):
                rest = stream.read(struct.unpack("<I", head)[0] - 4)
                if rest[0] == TWRITE:
                    written.append(struct.unpack("<I", rest[3:7])[0])
                to.sendall(head + rest)
            to.shutdown(socket.SHUT_WR)


def test_files_are_written_in_turn(place: Place) -> None:
    relay = Relay(place)
    nine = start(place, "ram", LATE, "--flash-destagers=2", f"--diod={relay.address}")
    fids = [opened(place, nine, f"file-{number}") for number in range(4)]
    place.control("drain")
    for fid in fids:
        nine.write(fid, 0, contents(640_000))
    relay.written.clear()
    place.control("drain")
    relay.listener.close()
    assert len(relay.written) >= 40  # messages have 64 KiB
    # data servers of several files work at the same time, and no file waits for the end of another
    assert all(len(set(relay.written[number : number + 4])) == 4 for number in range(0, 36, 4))
    assert all((place.export / f"file-{number}").read_bytes() == contents(640_000) for number in range(4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sync", ["no", "yes"])
def test_a_file_that_was_replaced_often_gets_to_the_file_system(place: Place, mode: str, sync: str) -> None:
    nine = start(place, mode, LATE, f"--flash-sync={sync}")
    fid = opened(place, nine, "file")
    for seed in range(400):
        nine.write(fid, 0, contents(5_000, seed))
    assert delayed(place) == 5_000
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == contents(5_000, 399)


def test_pipelined_writes_are_not_reordered(place: Place) -> None:
    nine = start(place, "flash", "--destage-after=1", "--ram-destagers=8", "--flash-destagers=8")
    fid = opened(place, nine, "file")
    for _ in range(5):
        tags = [nine.send(TWRITE, struct.pack("<IQI", fid, 0, 900) + bytes([i]) * 900) for i in range(200)]
        assert all(nine.wait(tag).checked() for tag in tags)
        assert nine.read(fid, 0, 1000) == bytes([199]) * 900
        nine.fsync(fid)
        assert Path(place.export / "file").read_bytes() == bytes([199]) * 900


@pytest.mark.parametrize("mode", MODES)
def test_a_flash_cache_that_cannot_be_written_to_does_no_harm(place: Place, mode: str) -> None:
    nine = start(place, mode, "--destage-after=20", "--ram-threshold=0", "--ram-bytes=500000")
    fid = opened(place, nine, "file")
    assert place.forwarder
    resource.prlimit(place.forwarder.pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    data = contents(3_000_000)
    nine.write(fid, 0, data)
    assert nine.read(fid, 0, 3_000_000) == data
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == data
    assert place.metrics()["reprise_forwarder_lost_bytes_total"] == 0
    assert "the flash cache cannot be written to: File too large" in place.log()
