# SPDX-License-Identifier: Apache-2.0
"""Tests of the forwarder without write-back: everything passes through, and nothing that arrives can stop it."""

from __future__ import annotations

import os
import random
import resource
import socket
import struct
import subprocess

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import (
    NO_FID,
    NO_TAG,
    ROOT,
    TCLUNK,
    TFLUSH,
    TREAD,
    TVERSION,
    TWALK,
    TWRITE,
    Nine,
    contents,
    text,
)
from tests.waiting import wait_for


def test_data_pass_both_ways(passing: Place) -> None:
    nine = passing.client()
    data = contents(300_000)
    fid = nine.create("file")
    nine.write(fid, 5, data)
    assert (passing.export / "file").read_bytes() == bytes(5) + data
    assert nine.read(fid, 0, 400_000) == bytes(5) + data
    assert nine.size(fid) == 300_005
    nine.truncate(fid, 7)
    nine.fsync(fid)
    nine.clunk(fid)
    assert (passing.export / "file").stat().st_size == 7


def test_errors_pass_unchanged(passing: Place) -> None:
    nine = passing.client()
    with pytest.raises(FileNotFoundError):
        nine.walk("missing")
    (passing.export / "file").write_bytes(b"x")
    fid = nine.open("file", os.O_RDONLY)
    with pytest.raises(OSError, match="Bad file descriptor"):
        nine.write(fid, 0, b"y")
    with pytest.raises(OSError, match="Bad file descriptor"):
        nine.clunk(77)


def test_a_fid_number_can_be_used_again(passing: Place) -> None:
    nine = passing.client()
    for name in ("one", "two"):
        (passing.export / name).write_text(name)
    for name in ("one", "two") * 50:
        nine.fid = 5
        fid = nine.open(name, os.O_RDONLY)
        assert (fid, nine.read(fid, 0, 9)) == (6, name.encode())
        nine.clunk(fid)


def test_overlapping_requests_of_a_fid_keep_their_order(passing: Place) -> None:
    nine = passing.client()
    fid = nine.create("file")
    for round_number in range(20):
        tags = []
        for i in range(64):
            tags.append(nine.send_write(fid, 0, bytes([i]) * 3000))
            tags.append(nine.send_read(fid, 1000, 1000))
        replies = [nine.wait(tag).checked() for tag in tags]
        seen = [reply[4:] for reply in replies[1::2]]
        assert seen == [bytes([i]) * 1000 for i in range(64)], round_number


def test_fsync_and_clunk_follow_the_writes_before_them(passing: Place) -> None:
    nine = passing.client()
    for i in range(20):
        fid = nine.create(f"file{i}")
        writes = [nine.send_write(fid, k * 1000, b"w" * 1000) for k in range(60)]
        last = nine.send(TCLUNK, struct.pack("<I", fid))
        assert not [nine.wait(tag).checked() for tag in writes if not tag]
        nine.wait(last).checked()
        assert (passing.export / f"file{i}").stat().st_size == 60_000


def test_a_flushed_request_is_answered_before_the_flush_or_never(passing: Place) -> None:
    nine = passing.client()
    fid = nine.create("file")
    for _ in range(200):
        writes = [nine.send_write(fid, 0, b"w" * 5000) for _ in range(4)]
        flush = nine.send(TFLUSH, struct.pack("<H", writes[-1]))
        nine.wait(flush).checked()
        answered = writes[-1] in nine.early
        assert [nine.wait(tag).checked() for tag in writes[:-1]]
        if not answered:
            again = nine.send(TREAD, struct.pack("<IQI", fid, 0, 10), writes[-1])
            assert len(nine.wait(again).checked()) == 14
        else:
            nine.early.pop(writes[-1])
    assert nine.wait(nine.send(TFLUSH, struct.pack("<H", 60_000))).kind == TFLUSH + 1


def test_a_client_that_ends_during_replies_does_not_harm_diod(passing: Place) -> None:
    (passing.export / "file").write_bytes(bytes(1 << 20))
    for _ in range(30):
        nine = passing.client()
        fid = nine.open("file", os.O_RDONLY)
        for i in range(16):
            nine.send_read(fid, i * 60_000, 60_000)
        nine.close()
    wait_for("the sessions' end", lambda: passing.control("status")["connections"] == 0)
    assert passing.diod and passing.diod.poll() is None
    assert passing.client().walk("file")


def test_connections_end_with_diod_and_work_again_with_it(passing: Place) -> None:
    nine = passing.client()
    passing.kill_diod()
    with pytest.raises(ConnectionError):
        nine.walk("")
    passing.start_diod()
    assert passing.client().walk("")


MALFORMED = {
    "size below the header": struct.pack("<IBH", 6, TREAD, 1),
    "size over the limit": struct.pack("<IBH", 1 << 30, TWRITE, 1),
    "short read": struct.pack("<IBHI", 11, TREAD, 1, ROOT),
    "count of another size": struct.pack("<IBHIQI", 25, TWRITE, 1, ROOT, 0, 1 << 31) + b"xx",
    "too many names": struct.pack("<IBHIIH", 17, TWALK, 1, ROOT, 9, 65535),
    "name beyond the end": struct.pack("<IBHIIHH", 19, TWALK, 1, ROOT, 9, 1, 500),
    "tag of Tversion": struct.pack("<IBHI", 11, TCLUNK, NO_TAG, ROOT),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_message_ends_only_its_connection(passing: Place, name: str) -> None:
    other = passing.client()
    nine = passing.client()
    nine.socket.sendall(MALFORMED[name])
    with pytest.raises(ConnectionError):
        nine.next()
    assert other.walk("")
    assert passing.metrics()["reprise_forwarder_refused_total"] == 1


def test_a_request_before_tversion_and_a_tag_in_use_end_the_connection(passing: Place) -> None:
    nine = Nine(passing.directory / "clients")
    nine.send(TCLUNK, struct.pack("<I", 1))
    with pytest.raises(ConnectionError):
        nine.next()
    nine = passing.client()
    fid = nine.create("file")
    body = struct.pack("<IQI", fid, 0, 60_000) + bytes(60_000)
    with pytest.raises(ConnectionError):
        for _ in range(50):
            nine.send(TWRITE, body, 5)
        while True:
            nine.next()


def test_unknown_requests_are_refused(passing: Place) -> None:
    nine = passing.client()
    for kind in (0, 6, 9, 112, 114, 124, 126, 255):
        with pytest.raises(OSError, match="not supported"):
            nine.call(kind, b"")
    with pytest.raises(OSError, match="Bad file descriptor"):
        nine.call(TWALK, struct.pack("<IIH", ROOT, NO_FID, 0))


def test_random_bytes_stop_nothing(passing: Place) -> None:
    draw = random.Random(3)  # noqa: S311 - not used for security
    (passing.export / "kept").touch()  # so that no request can remove the export
    other = passing.client()
    for _ in range(300):
        nine = passing.client()
        try:
            for _ in range(draw.randrange(1, 6)):
                kind = draw.choice([*range(8, 127, 2), draw.randrange(256)])
                body = draw.randbytes(draw.choice([0, 4, 8, 10, 12, 16, 19, 25, 60, 300]))
                if draw.random() < 0.7:
                    body = struct.pack("<I", draw.choice([ROOT, ROOT, 2, NO_FID])) + body
                nine.send(kind, body, draw.randrange(4))
            nine.socket.settimeout(0.005)
            while True:
                nine.next()
        except OSError:
            nine.close()
    assert other.walk("")
    assert passing.forwarder and passing.forwarder.poll() is None


def test_a_new_tversion_ends_all_fids(passing: Place) -> None:
    nine = passing.client()
    fid = nine.walk("")
    nine.call(TVERSION, struct.pack("<I", 8192) + text("9P2000.L"), NO_TAG)
    with pytest.raises(OSError, match="Bad file descriptor"):
        nine.clunk(fid)


def test_metrics_count_requests_by_job(passing: Place) -> None:
    nine = passing.client(user='job-12"\n')
    fid = nine.create("file")
    nine.write(fid, 0, bytes(150_000))
    assert nine.read(fid, 0, 1000) == bytes(1000)
    values = passing.metrics()
    job = 'job="job-12??"'
    assert values[f'reprise_forwarder_bytes_total{{{job},operation="write"}}'] == 150_000
    assert values[f'reprise_forwarder_bytes_total{{{job},operation="read"}}'] == 1000
    assert values[f'reprise_forwarder_request_seconds_count{{{job},operation="write"}}'] == 3
    buckets = [values[name] for name in values if "bucket" in name and job in name and '"write"' in name]
    assert buckets == sorted(buckets) and buckets[-1] == 3
    assert values["reprise_forwarder_queue_length"] == 0


def test_one_worker_serves_many_requests(place: Place) -> None:
    place.start("--workers=1", "--job=job-3")
    nine = place.client()
    fid = nine.create("file")
    data = contents(2_000_000)
    nine.write(fid, 0, data)
    assert nine.read(fid, 0, 2_000_000) == data
    assert any('job="job-3"' in name for name in place.metrics())


def test_metrics_of_jobs_that_ended_make_room_for_others(passing: Place) -> None:
    stays = passing.client("job-first")
    stays.walk("")
    for i in range(100):
        nine = passing.client(f"job-{i}")
        nine.walk("")
        nine.close()
        wait_for("the session's end", lambda: passing.control("status")["connections"] == 1)
    counts = [name for name in passing.metrics() if "seconds_count" in name and '"other"}' in name]
    assert len(counts) == 64
    assert any("job-first" in name for name in counts) and any("job-99" in name for name in counts)


@pytest.mark.parametrize("limit", [40, 41])  # one of them ends at a client's descriptor, the other at diod's
def test_a_lack_of_descriptors_passes(passing: Place, limit: int) -> None:
    assert passing.forwarder
    resource.prlimit(passing.forwarder.pid, resource.RLIMIT_NOFILE, (limit, limit))
    more = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for one in more:
        one.connect(str(passing.directory / "clients"))
    wait_for("the line", lambda: "Too many open files" in passing.log())
    for one in more:
        one.close()

    def is_served() -> bool:
        try:
            return passing.client().walk("") > 0
        except OSError:
            return False

    wait_for("a client", is_served)
    assert passing.log().count("Too many open files") < 50


BAD_OPTIONS = {
    "--workers=0": 'workers="0" is invalid: use a number from 1 to 64',
    "--workers=1x": 'workers="1x" is invalid: use a number from 1 to 64',
    "--write-back=disk": 'write-back="disk" is unknown: use one of off|ram|flash',
    "--write-back=flash": "write-back=flash has no directory: use --flash=DIRECTORY",
    "--wrokers=3": 'there is no option "wrokers": `reprise-forwarder --help` lists them',
    "workers": '"workers" is no option: write it as --name=value',
    "--scheduler=best": 'scheduler="best" is unknown: use fifo, sjf or twins',
    "--config=/nowhere": "/nowhere cannot be read: No such file or directory",
    "--listen=a": 'listen="a" cannot be listened on: it is neither HOST:PORT nor a path that begins with "/"',
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_a_bad_option_gets_one_clear_line(place: Place, option: str) -> None:
    done = subprocess.run(place.words(option), capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (1, f"reprise-forwarder: {BAD_OPTIONS[option]}\n")


def test_options_can_be_in_a_file(place: Place) -> None:
    file = place.directory / "options"
    file.write_text("# comment\n\nworkers = 3\njob = job-99\n")
    place.start(f"--config={file}")
    place.client().walk("")
    assert any('job="job-99"' in name for name in place.metrics())
    file.write_text("workers = 3\nworkers 4\n")
    done = subprocess.run(place.words(f"--config={file}"), capture_output=True, text=True, check=False, timeout=20)
    assert done.stderr == f'reprise-forwarder: {file}, line 2: write it as "name = value"\n'


def test_the_forwarder_ends_on_sigterm(passing: Place) -> None:
    nine = passing.client()
    assert passing.terminate() == 0
    with pytest.raises(ConnectionError):
        nine.walk("")
