# SPDX-License-Identifier: Apache-2.0
"""Tests that kill the forwarder, and diod, at random moments: no acknowledged byte may be lost."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import TFSYNC, TWRITE, Nine
from tests.forward.forwarder.test_delayed import LATE, opened
from tests.waiting import wait_for

BYTES = 300_000
"""Size of the file that is written to."""


@dataclass
class Expected:
    """Expected contents of a file after a kill, for the bytes that are sure."""

    data: bytearray = field(default_factory=lambda: bytearray(BYTES))
    sure: bytearray = field(default_factory=lambda: bytearray(b"\1" * BYTES))

    def write(self, offset: int, data: bytes, sure: bool) -> None:
        """Note a write, which is sure if it must outlive a kill."""
        self.data[offset : offset + len(data)] = data
        self.sure[offset : offset + len(data)] = bytes([sure]) * len(data)

    def check(self, seen: bytes) -> None:
        """Compare with the file's contents, which are expected from now on."""
        assert len(seen) == BYTES
        wrong = [i for i in range(BYTES) if self.sure[i] and self.data[i] != seen[i]]
        assert not wrong, f"{len(wrong)} bytes lost, from {wrong[0]} to {wrong[-1]}"
        self.data[:] = seen
        self.sure[:] = b"\1" * BYTES


def play(nine: Nine, fid: int, draw: random.Random, expected: Expected, flash: bool) -> None:
    """Write and synchronize at random, until an end that leaves some writes without acknowledgment."""
    open_writes: dict[int, tuple[int, bytes]] = {}
    sync = 0
    try:
        for _ in range(draw.randrange(1, 60)):
            if draw.random() < 0.1:
                sync = nine.send(TFSYNC, struct.pack("<II", fid, 0))
            else:
                data = draw.randbytes(draw.choice([1, 100, 4096, 60_000]))
                offset = draw.randrange(BYTES - len(data))
                body = struct.pack("<IQI", fid, offset, len(data)) + data
                expected.write(offset, data, sure=False)
                open_writes[nine.send(TWRITE, body)] = (offset, data)
            while open_writes and draw.random() < 0.9:
                reply = nine.next()
                reply.checked()
                if reply.tag == sync and not open_writes:
                    expected.sure[:] = b"\1" * BYTES
                elif reply.tag in open_writes:
                    offset, data = open_writes.pop(reply.tag)
                    if flash and not any(overlaps(offset, data, other) for other in open_writes.values()):
                        expected.write(offset, data, sure=True)
    except OSError:  # diod or the forwarder ended
        return


def overlaps(offset: int, data: bytes, other: tuple[int, bytes]) -> bool:
    """Return whether two writes overlap."""
    return offset < other[0] + len(other[1]) and other[0] < offset + len(data)


OPTIONS = {
    "ram": ("--write-back=ram", "--ram-bytes=200000", "--destage-after=5"),
    "ram, late": ("--write-back=ram", LATE),
    "ram, then flash": ("--write-back=ram", "--ram-bytes=400000", "--ram-threshold=10", "--destage-after=20"),
    "flash": ("--write-back=flash", "--destage-after=10"),
    "flash, late": ("--write-back=flash", "--ram-threshold=0", "--flash-threshold=100", LATE),
    "flash, small": ("--write-back=flash", "--flash-bytes=2097152", "--ram-bytes=200000", "--destage-after=3"),
    "flash, synced": ("--write-back=flash", "--flash-sync=yes", "--destage-after=3"),
}


def kill_and_check(place: Place, name: str, kills: int, seed: int) -> None:
    """Write, kill, start again and compare, several times."""
    options = (*OPTIONS[name], f"--flash={place.flash}")
    draw = random.Random(seed)  # noqa: S311 - not used for security
    (place.export / "file").write_bytes(bytes(BYTES))
    expected = Expected()
    place.kill_diod()
    place.start_diod("XFSZ,PIPE")
    place.start(*options)
    for _ in range(kills):
        nine = place.client()
        fid = opened(place, nine, "file")
        expected.write(0, b"?", sure=False)
        play(nine, fid, draw, expected, flash=name.startswith("flash"))
        if draw.random() < 0.2:
            place.kill_diod()
            place.start_diod("XFSZ,PIPE")
        place.kill()
        nine.close()
        place.start(*options)
        reader = place.client()
        seen = reader.read(reader.open("file"), 0, BYTES + 1)
        expected.check(seen)
        reader.close()
        if draw.random() < 0.7:
            status = place.control("drain")
            assert (status["delayed_bytes"], status["stranded_files"]) == (0, 0)
            assert (place.export / "file").read_bytes() == seen
    place.control("drain")
    assert (place.export / "file").read_bytes() == bytes(expected.data)


@pytest.mark.parametrize("name", OPTIONS)
def test_killed_forwarders_lose_no_acknowledged_byte(place: Place, name: str) -> None:
    kill_and_check(place, name, kills=4, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_many_killed_forwarders_lose_no_acknowledged_byte(place: Place, name: str) -> None:
    kill_and_check(place, name, kills=30, seed=2)


def only_segment(place: Place) -> Path:
    """Return the only segment of the journal."""
    (segment,) = (file for file in place.flash.glob("segment-*") if not file.suffix)
    return segment


def test_records_that_are_torn_or_altered_are_left_out(place: Place) -> None:
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    nine = place.client()
    fid = opened(place, nine, "file")
    for i in range(20):
        nine.write(fid, i * 100, bytes([65 + i]) * 100)
    place.kill()
    segment = only_segment(place)
    data = bytearray(segment.read_bytes())
    data[4096 * 9 + 200] ^= 1  # record 8, counted from 0; the first is that of `opened`
    data[4096 * 13 + 9] ^= 1
    segment.write_bytes(data[: 4096 * 20 + 100])
    with segment.with_name(segment.name + ".done").open("ab") as done:
        done.write(b"torn")
    place.start("--write-back=flash", f"--flash={place.flash}")
    status = place.control("drain")
    assert (status["delayed_bytes"], status["stranded_files"]) == (0, 0)
    rows = [(place.export / "file").read_bytes()[i * 100 : i * 100 + 100] for i in range(20)]
    missing = [i for i in range(20) if rows[i] != bytes([65 + i]) * 100]
    assert missing == [7, 11, 18, 19]


def test_random_bytes_as_a_journal_are_left_out(place: Place) -> None:
    draw = random.Random(5)  # noqa: S311 - not used for security
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    nine = place.client()
    nine.write(opened(place, nine, "file"), 0, b"data")
    place.kill()
    segment = only_segment(place)
    whole = segment.read_bytes()
    for i in range(12):
        data = bytearray(whole)
        for _ in range(draw.randrange(1, 30)):
            header = 4096 * draw.randrange(2) + draw.randrange(80)
            data[draw.choice([draw.randrange(len(data)), header])] = draw.randrange(256)
        name = segment.with_name(f"segment-{i + 50:016x}")
        name.write_bytes(data[: draw.randrange(len(data) + 1)])
        name.with_name(name.name + ".done").write_bytes(draw.randbytes(draw.randrange(100)))
    place.start("--write-back=flash", f"--flash={place.flash}")
    place.control("drain")
    assert (place.export / "file").read_bytes() == b"data"


def test_files_that_moved_are_stranded_and_written_once_they_are_back(place: Place) -> None:
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    nine = place.client()
    nine.write(opened(place, nine, "file"), 0, b"data")
    place.kill()
    (place.export / "file").rename(place.export / "moved")
    (place.export / "file").write_bytes(b"other")
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    status = place.control("drain")
    assert (status["stranded_files"], status["stranded_bytes"], status["lost_bytes"]) == (1, 4, 0)
    assert "another file has its name now" in place.log()
    assert (place.export / "file").read_bytes() == b"other"
    place.kill()
    (place.export / "moved").rename(place.export / "file")
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    assert place.control("drain")["stranded_files"] == 0
    assert (place.export / "file").read_bytes() == b"data"


def test_a_directory_of_another_forwarder_is_refused(place: Place) -> None:
    place.start("--write-back=flash", f"--flash={place.flash}")
    first = place.forwarder
    words = place.words("--write-back=flash", f"--flash={place.flash}", f"--listen={place.directory}/second")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert "is in use by another forwarder: give each one a directory of its own" in done.stderr
    assert first and first.poll() is None


def test_the_journal_is_readable_only_by_its_user(place: Place) -> None:
    place.start("--write-back=flash", f"--flash={place.flash}", LATE)
    nine = place.client()
    nine.write(opened(place, nine, "file"), 0, b"data")
    assert {file.stat().st_mode & 0o777 for file in place.flash.iterdir()} == {0o600}
    assert (place.directory / "control").stat().st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(str(place.directory / "control"))
        stream.sendall(b"explode\n")
        assert (
            stream.makefile().readline()
            == '{"error": "unknown command: use status, patterns, drain, write-back, window or layout"}\n'
        )


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount a small file system")
def test_a_write_is_not_executed_again_because_flash_was_full(place: Place) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place.flash)], check=True)
    options = ["--write-back=flash", f"--flash={place.flash}", "--flash-bytes=4000000", LATE]
    try:
        place.start(*options)
        client = place.client()
        fid = client.create("f")
        client.write(fid, 0, b"old" * 10_000)
        with (place.flash / "other").open("wb", 0) as other, suppress(OSError):
            while True:
                other.write(bytes(4096))
        client.fsync(fid)
        assert (place.export / "f").read_bytes() == b"old" * 10_000
        (place.export / "f").write_bytes(b"new" * 10_000)
        place.kill()
        (place.flash / "other").unlink()
        place.start(*options)
        place.control("drain")
        assert (place.export / "f").read_bytes() == b"new" * 10_000
    finally:
        place.end()
        subprocess.run(["umount", "--lazy", str(place.flash)], check=True)


class Holding:
    """A server between the forwarder and diod, which keeps one Twrite back until it ends."""

    def __init__(self, place: Place, offset: int) -> None:
        self.place, self.offset = place, offset
        self.address = place.directory / "holding"
        self.held = threading.Event()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.address))
        self.listening.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Pass each connection on to diod."""
        with suppress(OSError):
            while True:
                client, diod = self.listening.accept()[0], socket.socket(socket.AF_UNIX)
                diod.connect(str(self.place.directory / "diod"))
                for one, other in ((client, diod), (diod, client)):
                    threading.Thread(target=self.relay, args=(one, other), daemon=True).start()

    def relay(self, one: socket.socket, other: socket.socket) -> None:
        """Pass messages on, except the one that is kept back."""
        with suppress(OSError), one.makefile("rb") as stream:
            while len(start := stream.read(4)) == 4:
                message = start + stream.read(struct.unpack("<I", start)[0] - 4)
                if message[4] == TWRITE and struct.unpack_from("<Q", message, 11)[0] == self.offset:
                    self.held.set()
                else:
                    other.sendall(message)


def test_an_older_write_on_flash_does_not_replace_a_newer_one_that_went_through(place: Place) -> None:
    holding = Holding(place, 0)
    options = ["--write-back=flash", f"--flash={place.flash}", LATE]
    place.start(*options, f"--diod={holding.address}")
    one, two = place.client(), place.client()
    fid = one.create("f")
    for offset, data in ((0, b"first"), (1 << 20, b"older"), (1 << 20, b"older still")):
        one.write(fid, offset, data * 100)
    one.send(TFSYNC, struct.pack("<II", fid, 0))
    assert holding.held.wait(20)
    wait_for("the second write", lambda: (place.export / "f").read_bytes()[1 << 20 :] == b"older still" * 100)
    through = two.open("f", os.O_RDWR | os.O_SYNC)
    tag = two.send_write(through, 1 << 20, b"newer" * 220)
    two.socket.settimeout(1)
    acknowledged = False
    with suppress(TimeoutError):
        two.wait(tag).checked()
        acknowledged = True
    place.kill()
    place.start(*options)
    place.control("drain")
    assert not acknowledged or (place.export / "f").read_bytes()[1 << 20 :] == b"newer" * 220
