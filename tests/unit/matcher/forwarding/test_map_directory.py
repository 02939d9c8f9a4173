# SPDX-License-Identifier: Apache-2.0
"""Test that maps are always whole and valid, that only one arbiter writes them, and who can read them."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.config import forwarder_address
from reprise.matcher.errors import ArbiterError, ServiceError
from reprise.matcher.forwarding.map_directory import LOCK, MOST_BYTES, MapDirectory, addresses_in, is_held, map_text
from tests.examples import examples
from tests.places import ROOT
from tests.waiting import wait_for

HOSTS = st.ip_addresses().map(lambda one: f"[{one}]" if one.version == 6 else str(one))
PORTS = st.integers(1, 65535)
SOCKETS = st.text("/abc.-\u00e9", min_size=1, max_size=50).map(lambda path: f"/{path}")
ADDRESSES = st.lists(st.builds("{}:{}".format, HOSTS, PORTS) | SOCKETS, max_size=20)
ONE = "10.0.1.1:5640"

# Writes maps of two lengths, over and over; each process that it kills has one of these writes under way.
WRITING = """
import sys
from pathlib import Path
from reprise.matcher.forwarding.map_directory import MapDirectory
maps = MapDirectory(Path(sys.argv[1]))
maps.hold()
print("writing", flush=True)
while True:
    for number in (1, 500):
        maps.write(7, [f"10.0.{n // 250}.{n % 250}:5640" for n in range(number)])
"""


@pytest.fixture
def maps(tmp_path: Path) -> Iterator[MapDirectory]:
    made = MapDirectory(tmp_path / "maps")
    made.hold()
    yield made
    made.release()


@given(ADDRESSES)
@settings(max_examples=examples(200), deadline=None)
def test_every_map_is_read_as_it_was_written(addresses: list[str]) -> None:
    assert addresses_in(os.fsencode(map_text(addresses))) == tuple(addresses)


@given(ADDRESSES, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_no_part_of_a_map_is_taken_for_another_whole_map_unless_it_ends_with_a_line(
    addresses: list[str], data: st.DataObject
) -> None:
    whole = os.fsencode(map_text(addresses))
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    if part.endswith(b"\n"):
        assert addresses_in(part) == tuple(addresses)[: part.count(b"\n") - 1]
    else:
        with pytest.raises(ArbiterError):
            addresses_in(part)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda more: b"reprise-forwarders 1\n" + more))
@settings(max_examples=examples(300), deadline=None)
def test_whatever_a_file_has_is_a_valid_map_or_refused(content: bytes) -> None:
    try:
        found = addresses_in(content)
    except ArbiterError as error:
        assert "\n" not in str(error)
        return
    assert [forwarder_address(one) for one in found] == list(found) and os.fsencode(map_text(found)) == content


@pytest.mark.parametrize(
    "line",
    [
        *("", " ", "10.0.1.1", "10.0.1.1:0", "10.0.1.1:05640", "10.0.1.1:65536", "10.0.1.1:5640 ", "010.0.1.1:5640"),
        *("host:5640", "::1:5640", "[::1]", "[::1%eth0]:5640", "[10.0.1.1]:5640", "10.0.1:5640", "relative/path"),
        *("/with blank", "/with\ttab", "/" + "x" * 107, "# comment", "10.0.1.1:5640\r", "/del\x7f"),
    ],
)
def test_an_address_that_the_library_refuses_is_refused(line: str) -> None:
    with pytest.raises(ArbiterError):
        addresses_in(f"reprise-forwarders 1\n{line}\n".encode())


def test_the_largest_pool_fits_into_a_map() -> None:
    paths = [f"/{number:03d}{'x' * 103}" for number in range(512)]
    assert len(map_text(paths)) <= MOST_BYTES and addresses_in(map_text(paths).encode()) == tuple(paths)


def test_the_first_line_is_that_of_the_library() -> None:
    header = ROOT / "accelerators/forward/client/map.h"
    if header.exists():
        assert f'#define MAP_FIRST_LINE "{map_text([]).strip()}"' in header.read_text()


def test_maps_are_readable_by_jobs_and_writable_by_the_arbiter_only(maps: MapDirectory) -> None:
    before = os.umask(0o077)
    try:
        maps.write(7, [ONE])
    finally:
        os.umask(before)
    assert stat.S_IMODE((maps.path / "7").stat().st_mode) == 0o644
    assert stat.S_IMODE(maps.path.stat().st_mode) == 0o711
    assert stat.S_IMODE((maps.path / ".lock").stat().st_mode) == 0o600


def test_a_map_is_replaced_as_a_whole_and_removed(maps: MapDirectory) -> None:
    maps.write(7, [ONE])
    with (maps.path / "7").open("rb") as old:
        maps.write(7, [])
        assert addresses_in(old.read()) == (ONE,)  # a reader of the old file is not disturbed
    assert maps.read() == {7: ()}
    maps.remove(7)
    maps.remove(7)
    assert maps.read() == {}


def test_foreign_files_are_left_alone_and_links_are_not_followed(maps: MapDirectory, tmp_path: Path) -> None:
    (tmp_path / "target").write_text(map_text([ONE]))
    (maps.path / "8").symlink_to(tmp_path / "target")
    (maps.path / ".9.new").symlink_to(tmp_path / "target")
    (maps.path / "README").write_text("ours")
    os.mkfifo(maps.path / "10")
    assert maps.read() == {8: None, 10: None}
    with pytest.raises(OSError, match="symbolic links"):
        maps.write(9, [])
    maps.release()
    maps.hold()
    assert not (maps.path / ".9.new").is_symlink() and (maps.path / "README").exists()
    assert (tmp_path / "target").read_text() == map_text([ONE])


def test_a_second_arbiter_is_refused_in_one_line(maps: MapDirectory) -> None:
    with pytest.raises(ServiceError, match="another arbiter is running") as caught:
        MapDirectory(maps.path).hold(0.0)
    assert "\n" not in str(caught.value)
    assert is_held(maps.path) is True
    maps.release()
    assert is_held(maps.path) is False
    MapDirectory(maps.path).hold(0.0)


def test_readers_of_the_lock_do_not_take_each_other_for_an_arbiter(maps: MapDirectory) -> None:
    maps.release()
    with (maps.path / LOCK).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)  # as another reader does for a moment
        assert is_held(maps.path) is False


def test_a_directory_without_an_arbiter_is_not_held(tmp_path: Path) -> None:
    assert is_held(tmp_path) is False


def test_a_directory_in_which_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ServiceError, match="other users can write there"):
        MapDirectory(tmp_path).hold()


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServiceError, match=r"forwarding\.maps"):
        MapDirectory(tmp_path / "file" / "maps").hold()


def die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.parametrize(("place", "name"), [(os, "fchmod"), (os, "fsync"), (Path, "replace")])
def test_an_arbiter_killed_between_write_and_rename_leaves_the_old_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: object, name: str
) -> None:
    maps = MapDirectory(tmp_path / "maps")
    child = os.fork()
    if not child:
        maps.hold()
        maps.write(7, [ONE])
        monkeypatch.setattr(place, name, die)
        maps.write(7, ["10.0.1.2:5640", "10.0.1.3:5640"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert maps.read() == {7: (ONE,)} and (maps.path / ".7.new").exists()
    maps.hold()  # the lock died with the process
    assert not (maps.path / ".7.new").exists()
    maps.write(7, [])
    assert maps.read() == {7: ()}
    maps.release()


@pytest.mark.slow
def test_readers_see_whole_maps_while_writers_are_killed_at_random(tmp_path: Path) -> None:
    path = tmp_path / "maps"
    seen = set()
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITING, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout and writer.stdout.readline() == b"writing\n"
            wait_for("a map", (path / "7").exists)
            for _ in range(200):
                seen.add(len(addresses_in((path / "7").read_bytes())))
            writer.kill()
        seen.add(len(addresses_in((path / "7").read_bytes())))
    assert seen <= {1, 500}
