# SPDX-License-Identifier: Apache-2.0
"""Test burst buffers: instances of the forwarder that it starts for jobs which ask for one."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forward.forwarder.burst_processes import burst_pids, kill_bursts
from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import BURST, NO_TAG, TVERSION, UNKNOWN, VERSION, Nine, contents, text
from tests.waiting import has_ended, wait_for

LATER = "destage-after=60000"
"""An option with which data stay in the burst buffer during a test."""


class Bursts:
    """A forwarder that starts burst buffers."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.bursts = place.directory / "bursts"
        self.caches = place.directory / "caches"
        for directory in (self.bursts, self.caches):
            directory.mkdir()

    def start(self, *options: str) -> None:
        """Start a forwarder that believes everybody."""
        self.start_with("--burst-auth=none", *options)

    def start_with(self, *options: str, munge: Path | None = None) -> None:
        """Start a forwarder, with munged's socket if there is one."""
        words = (f"--bursts={self.bursts}", f"--burst-flash={self.caches}", "--linger=600", *options)
        self.place.start(*words, munge=munge)

    def client(self, job: int, *words: str, user: int | None = None) -> Nine:
        user = os.getuid() if user is None else user
        version = " ".join([BURST, str(job), str(user), *words])
        self.place.clients.append(Nine(self.place.directory / "clients", self.place.export, version=version))
        return self.place.clients[-1]

    def pids(self) -> list[int]:
        """Return the process ids of all burst buffers."""
        return burst_pids(self.bursts)

    def kill(self) -> None:
        """Kill all burst buffers, and wait for their end."""
        killed = kill_bursts(self.bursts)
        wait_for("the end of the burst buffers", lambda: all(map(has_ended, killed)))


@pytest.fixture
def bursts(place: Place) -> Iterator[Bursts]:
    found = Bursts(place)
    yield found
    found.kill()


def test_a_jobs_connections_share_its_burst_buffer_and_other_jobs_do_not(bursts: Bursts, place: Place) -> None:
    bursts.start()
    data = contents(300_000)
    one, two, other = bursts.client(7, "write-back=ram", LATER), bursts.client(7), bursts.client(8)
    assert (one.version, two.version, other.version) == (BURST, BURST, BURST)
    assert len(bursts.pids()) == 2
    file = one.create("f")
    one.write(file, 0, data)
    assert two.read(two.open("f"), 0, len(data)) == data and two.size(two.walk("f")) == len(data)
    assert other.size(other.walk("f")) == place.client().size(place.clients[-1].walk("f")) == 0
    assert (place.export / "f").stat().st_size == 0
    one.fsync(file)
    assert (place.export / "f").read_bytes() == data


def test_a_drain_waits_for_all_data_of_the_job(bursts: Bursts, place: Place) -> None:
    bursts.start()
    one = bursts.client(7, "write-back=ram", LATER)
    for name in "abc":
        one.write(one.create(name), 0, name.encode() * 100_000)
    bursts.client(7, "drain")
    assert [(place.export / name).read_bytes() for name in "abc"] == [name.encode() * 100_000 for name in "abc"]
    begun = one.call(TVERSION, struct.pack("<I", 65536) + text(f"{BURST} 7 {os.getuid()} drain"), NO_TAG)
    assert begun[6:].decode() == BURST, "also on a connection in use, whose fids are given up"


def test_a_drain_starts_no_burst_buffer(bursts: Bursts) -> None:
    bursts.start()
    assert bursts.client(7, "drain").version == UNKNOWN and not bursts.pids()


def test_a_connection_that_attaches_nothing_keeps_no_burst_buffer(bursts: Bursts, place: Place) -> None:
    bursts.start("--linger=1")
    silent = Nine(place.directory / "clients")
    place.clients.append(silent)
    silent.call(TVERSION, struct.pack("<I", 65536) + text(f"{BURST} 7 {os.getuid()}"), NO_TAG)
    assert len(bursts.pids()) == 1
    wait_for("its end", lambda: not bursts.pids(), 30)


@pytest.mark.parametrize(
    "words",
    [
        ["flash=/etc"],
        ["listen=/x"],
        ["nonsense"],
        ["ram-bytes=2000001"],
        ["flash-bytes=3000001"],
        ["workers"],
        ["x" * 600],
        ["close=wait"] * 17,
    ],
)
def test_a_job_cannot_choose_what_the_site_does_not_allow(bursts: Bursts, words: list[str]) -> None:
    bursts.start("--burst-ram-bytes=2000000", "--burst-flash-bytes=3000000")
    assert bursts.client(7, *words).version == UNKNOWN
    assert bursts.client(8, "ram-bytes=2000000", "flash-bytes=3000000").version == BURST


@pytest.mark.parametrize(
    "version", [f"{BURST}", f"{BURST} 7", f"{BURST} x 0", f"{BURST} 7 ../x", f"{BURST} 07 1", "9P"]
)
def test_other_versions_are_diods_matter(bursts: Bursts, place: Place, version: str) -> None:
    bursts.start()
    assert Nine(place.directory / "clients", place.export, version=version).version == UNKNOWN
    assert place.client().version == VERSION and not bursts.pids()


def test_a_value_that_the_instance_refuses_leaves_the_job_without_burst_buffer(bursts: Bursts) -> None:
    bursts.start()
    assert bursts.client(7, "workers=0").version == UNKNOWN


def test_a_plain_forwarder_has_no_burst_buffers(passing: Place) -> None:
    client = Nine(passing.directory / "clients", passing.export, version=f"{BURST} 7 {os.getuid()}")
    assert client.version == UNKNOWN


def test_there_are_no_more_burst_buffers_than_the_site_allows(bursts: Bursts, place: Place) -> None:
    bursts.start("--burst-jobs=1")
    assert [bursts.client(job).version for job in (7, 8, 7)] == [BURST, UNKNOWN, BURST]
    metrics = place.metrics()
    names = ("burst_buffers", "burst_buffers_started_total", "burst_buffers_denied_total")
    assert [metrics[f"reprise_forwarder_{name}"] for name in names] == [1, 1, 1]


def end_of_job(bursts: Bursts, job: int) -> None:
    """Wait until the burst buffer of a job has ended, and make its directory look old."""
    wait_for("its end", lambda: not bursts.pids(), 20)
    os.utime(bursts.bursts / f"{job}.{os.getuid()}", (1, 1))


def test_a_burst_buffer_that_has_ended_takes_no_room(bursts: Bursts) -> None:
    bursts.start("--burst-jobs=1", "--linger=1")
    bursts.client(7, "write-back=ram").close()
    end_of_job(bursts, 7)
    assert bursts.client(8).version == BURST


def test_a_job_that_got_no_burst_buffer_gets_none_later(bursts: Bursts) -> None:
    bursts.start("--burst-jobs=1", "--linger=1")
    one = bursts.client(7, "write-back=ram")
    assert bursts.client(8).version == UNKNOWN
    one.close()
    end_of_job(bursts, 7)
    assert [bursts.client(job).version for job in (8, 9)] == [UNKNOWN, BURST], "its processes must see the same data"


def test_a_job_gets_a_burst_buffer_once_no_process_works_without(bursts: Bursts) -> None:
    bursts.start("--burst-jobs=1", "--linger=1")
    one, first, second = bursts.client(7, "write-back=ram"), bursts.client(8), bursts.client(8)
    for client in (one, first):
        client.close()
    end_of_job(bursts, 7)
    assert asked_once(bursts, 8) == UNKNOWN, "there is another process"
    second.close()
    wait_for("its burst buffer", lambda: asked_once(bursts, 8) == BURST)


def asked_once(bursts: Bursts, job: int) -> str:
    """Return the version that a client of a job gets who ends at once."""
    client = bursts.client(job)
    client.close()
    return client.version


def test_a_value_that_is_refused_keeps_all_processes_of_the_job_from_a_burst_buffer(bursts: Bursts) -> None:
    bursts.start()
    assert [bursts.client(7, words).version for words in ("workers=0", "workers=2")] == [UNKNOWN, UNKNOWN]


@pytest.mark.slow
def test_invented_jobs_do_not_make_the_forwarder_forget_a_job_without_burst_buffer(bursts: Bursts) -> None:
    bursts.start("--burst-jobs=1", "--linger=1")
    one = bursts.client(7, "write-back=ram")
    assert bursts.client(8).version == UNKNOWN
    for job in range(9, 1109):
        assert asked_once(bursts, job) == UNKNOWN
    one.close()
    end_of_job(bursts, 7)
    assert bursts.client(8).version == UNKNOWN, "its processes must see the same data"


def test_a_job_that_chooses_no_size_gets_at_most_what_the_site_allows(bursts: Bursts, place: Place) -> None:
    bursts.start("--burst-ram-bytes=2000000", "--burst-flash-bytes=3000000")
    one = bursts.client(7, "write-back=ram", LATER, "ram-threshold=100", "flash-threshold=100")
    one.write(one.create("f"), 0, contents(6_000_000))
    assert (place.export / "f").stat().st_size > 0


def test_a_connection_waits_for_an_instance_that_another_one_has_started(bursts: Bursts) -> None:
    bursts.start()
    directories = [parent / f"7.{os.getuid()}" for parent in (bursts.bursts, bursts.caches)]
    for directory in directories:
        directory.mkdir()
    locks = [(directory / "lock").open("w") for directory in directories]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as an instance does that does not listen yet
    with pytest.raises(ConnectionError):  # the client tries again
        bursts.client(7, "write-back=ram")


def test_a_first_message_in_pieces_and_none_at_all(bursts: Bursts, place: Place) -> None:
    bursts.start()
    body = struct.pack("<I", 65536) + text(f"{BURST} 7 {os.getuid()}")
    message = struct.pack("<IBH", 7 + len(body), TVERSION, NO_TAG) + body
    slow, silent = Nine(place.directory / "clients"), Nine(place.directory / "clients")
    for byte in message[:12]:
        slow.socket.sendall(bytes([byte]))
        assert place.client().version == VERSION, "others are served meanwhile"
    slow.socket.sendall(message[12:])
    assert slow.next().body[6:].decode() == BURST
    silent.close()
    place.clients += [slow, silent]


def test_a_killed_burst_buffer_loses_nothing_that_it_had_on_flash(bursts: Bursts, place: Place) -> None:
    bursts.start()
    data = contents(500_000)
    one = bursts.client(7, "write-back=flash", LATER)
    one.write(one.create("f"), 0, data)
    bursts.kill()
    again = bursts.client(7, "write-back=flash", LATER)
    assert again.read(again.open("f"), 0, len(data)) == data
    bursts.client(7, "drain")
    assert (place.export / "f").read_bytes() == data


def test_a_forwarder_that_starts_resumes_the_burst_buffers_with_data(bursts: Bursts, place: Place) -> None:
    bursts.start()
    data = contents(500_000)
    one = bursts.client(7, "write-back=flash", LATER)
    one.write(one.create("f"), 0, data)
    place.kill()
    bursts.kill()
    bursts.start()
    wait_for("the data", lambda: (place.export / "f").read_bytes() == data)
    (pid,) = bursts.pids()
    assert bursts.client(7).version == BURST and bursts.pids() == [pid]


def test_burst_buffers_outlive_the_forwarder_and_are_found_again(bursts: Bursts, place: Place) -> None:
    bursts.start()
    data = contents(100_000)
    one = bursts.client(7, "write-back=ram", LATER)
    file = one.create("f")
    one.write(file, 0, data)
    place.kill()
    one.write(file, len(data), data)
    bursts.start()
    two = bursts.client(7)
    assert two.read(two.open("f"), 0, 2 * len(data)) == 2 * data and len(bursts.pids()) == 1


def test_a_burst_buffer_that_nobody_needs_ends_and_leaves_nothing(bursts: Bursts, place: Place) -> None:
    bursts.start("--linger=1")
    one = bursts.client(7, "write-back=flash", "destage-after=100")
    one.write(one.create("f"), 0, b"x" * 100_000)
    one.close()
    wait_for("its end", lambda: not bursts.pids(), 20)
    assert (place.export / "f").read_bytes() == b"x" * 100_000
    assert not list((bursts.bursts / f"7.{os.getuid()}").iterdir())
    assert {path.name for path in (bursts.caches / f"7.{os.getuid()}").iterdir()} <= {"lock"}
    assert bursts.client(7).version == BURST


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start other users' burst buffers")
def test_a_burst_buffer_runs_as_the_jobs_user(bursts: Bursts, place: Place) -> None:
    place.directory.chmod(0o755)
    for file in ("clients", "diod"):
        wait_for(file, (place.directory / file).exists if file == "diod" else lambda: True)
    bursts.start()
    (place.directory / "diod").chmod(0o777)
    assert bursts.client(7, user=30001).version == BURST
    (pid,) = bursts.pids()
    assert Path(f"/proc/{pid}").stat().st_uid == 30001
    assert (bursts.caches / "7.30001").stat().st_uid == 30001
