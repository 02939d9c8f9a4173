# SPDX-License-Identifier: Apache-2.0
"""Tests of the order in which reads and writes go to diod. Most drive a policy with a made-up clock."""

from __future__ import annotations

import random
import re
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.forward.forwarder.conftest import Drivers, Place
from tests.forward.forwarder.nine import TFLUSH, Nine, connects
from tests.forward.forwarder.test_reference import PAGE
from tests.waiting import in_time, wait_for

MS = 1_000_000
"""Nanoseconds of the usual window."""
BEGIN = 3_000 * MS
"""Wall clock at which a window of each length begins, and the turn of queue 0 if there are three queues."""
STRIPE = 4096
SERVERS = 3
LONG = ("--scheduler=twins", f"--servers={SERVERS}", f"--layout=stripe:{STRIPE}", "--window=1000000")
"""Options with windows of a second, so that queues form whatever else the machine does."""


class Played:
    """A policy, with requests whose data servers are given."""

    def __init__(self, drivers: Drivers, policy: str = "twins", servers: int = 3, number: int = 0, window: int = 1000):
        self.drivers = drivers
        self.lines = [f"policy {policy} {servers} file {number} {window}"]

    def add(self, number: int, server: int, size: int = 4096, arrived: int = 0) -> None:
        """Queue a request."""
        self.lines.append(f"add {number} {server} 0 {size} {arrived}")

    def next(self, wall: int) -> None:
        """Ask for the next request; both clocks are the same, but begin at other times."""
        self.lines.append(f"next {wall - BEGIN} {wall}")

    def answers(self) -> list[str]:
        """Return the requests that went, by number, or the times to which the policy waited."""
        return self.drivers.drive("policies", self.lines)


# Bez 2020, acceptance tests of the specification, section 30


def test_18_requests_of_the_current_server_go_and_then_nothing_until_the_window_ends(drivers: Drivers) -> None:
    played = Played(drivers)
    for number, server in enumerate((0, 1, 0, 2)):
        played.add(number, server)
    for wall in (0, 1, 2, MS // 2, MS - 1):  # the first window
        played.next(BEGIN + wall)
    for wall in (MS, MS + 1, 2 * MS - 1, 2 * MS, 2 * MS + 1):
        played.next(BEGIN + wall)
    first, second = f"wait {MS}", f"wait {2 * MS}"
    assert played.answers() == ["0", "2", first, first, first, "1", second, second, "3", "wait 0"]


def test_19_two_forwarders_with_the_same_traffic_serve_different_servers_at_any_instant(drivers: Drivers) -> None:
    draw = random.Random(5)  # noqa: S311 - not used for security
    for servers, window in ((2, 125), (3, 1000), (4, 250), (7, 8000)):
        walls = sorted(draw.randrange(BEGIN, BEGIN + 40 * window * 1000) for _ in range(400))
        seen = []
        for forwarder in range(2):
            played = Played(drivers, servers=servers, number=forwarder, window=window)
            for number in range(servers * 400):
                played.add(number, number % servers)
            for wall in walls:
                played.next(wall)
            seen.append([int(answer) % servers for answer in played.answers()])
        assert not [pair for pair in zip(*seen, strict=True) if pair[0] == pair[1]]
        assert [set(one) for one in seen] == [set(range(servers))] * 2  # and each server has its turn


# TWINS


def test_as_many_forwarders_as_servers_serve_one_server_each(drivers: Drivers) -> None:
    current = []
    for forwarder in range(5):
        played = Played(drivers, servers=5, number=forwarder)
        for server in range(5):
            played.add(server, server)
        played.next(BEGIN + 7 * MS + 3)
        current.append(played.answers()[0])
    assert sorted(current) == ["0", "1", "2", "3", "4"]


def test_a_request_of_the_current_server_goes_in_the_window_in_which_it_arrives(drivers: Drivers) -> None:
    played = Played(drivers)
    played.add(0, 1)
    played.next(BEGIN)
    played.add(1, 0)
    played.next(BEGIN + MS // 2)
    played.next(BEGIN + MS // 2)
    assert played.answers() == [f"wait {MS}", "1", f"wait {MS}"]


def test_windows_of_servers_without_requests_pass_without_a_call(drivers: Drivers) -> None:
    played = Played(drivers, servers=100)
    played.add(0, 99)
    played.add(1, 40)
    begin = BEGIN // (100 * MS) * 100 * MS
    played.next(begin + 5)
    assert played.answers() == [f"wait {begin - BEGIN + 40 * MS}"]


def test_one_data_server_never_waits(drivers: Drivers) -> None:
    played = Played(drivers, servers=1, number=4095, window=1_000_000)
    for number in range(50):
        played.add(number, number)
    for number in range(51):
        played.next(BEGIN + number)
    assert played.answers() == [*map(str, range(50)), "wait 0"]


def test_the_window_changes_while_requests_wait(drivers: Drivers) -> None:
    played = Played(drivers, window=1000)
    played.add(0, 1)
    played.add(1, 2)
    played.next(BEGIN)
    played.lines.append("window 125")
    played.next(BEGIN)
    played.next(BEGIN + 125_000)
    played.next(BEGIN + 125_001)
    assert played.answers() == [f"wait {MS}", "wait 125000", "0", "wait 250000"]


@pytest.mark.parametrize("servers", [1, 5, 1024])
def test_without_windows_requests_go_in_order_of_arrival_at_once(drivers: Drivers, servers: int) -> None:
    draw = random.Random(7)  # noqa: S311 - not used for security
    answers = []
    for policy in ("twins", "fifo"):
        played = Played(drivers, policy, servers=servers, number=2, window=0)
        for number in range(3000):
            played.add(number, draw.randrange(2 * servers), draw.choice([512, 65536]), arrived=draw.randrange(10**9))
        played.lines += [f"withdraw {number}" for number in range(0, 3000, 7)]
        for _ in range(3000):
            played.next(BEGIN)
        answers.append(played.answers())
    assert answers[0] == answers[1]
    assert answers[0][0] == "1" and answers[0][-1] == "wait 0"


def test_windows_begin_and_end_while_requests_wait(drivers: Drivers) -> None:
    played = Played(drivers)
    for number, server in enumerate((2, 1, 0, 2, 1, 0)):
        played.add(number, server)
    played.next(BEGIN)  # the turn of server 0
    played.lines.append("window 0")
    played.next(BEGIN)
    played.add(6, 0)
    played.lines.append("window 1000")
    for _ in range(3):
        played.next(BEGIN + 1)
    played.lines.append("window 0")
    for _ in range(4):
        played.next(BEGIN + 2)
    assert played.answers() == ["2", "0", "5", "6", f"wait {MS}", "1", "3", "4", "wait 0"]


def test_a_clock_that_is_set_back_stops_nothing(drivers: Drivers) -> None:
    played = Played(drivers)
    for server in range(3):
        played.add(server, server)
    played.next(BEGIN + 1)
    played.lines += [f"next {5 * MS} {5 * MS}", f"next {6 * MS} {6 * MS}", f"next {7 * MS} {7 * MS}"]
    assert played.answers() == ["0", "2", f"wait {7 * MS}", "1"]


@pytest.mark.parametrize("policy", ["fifo", "sjf", "twins"])
def test_withdrawn_requests_never_go_and_all_others_go_once(drivers: Drivers, policy: str) -> None:
    draw = random.Random(6)  # noqa: S311 - not used for security
    played = Played(drivers, policy, servers=4)
    queued: list[int] = []
    gone: list[int] = []
    for number in range(2000):
        played.add(number, draw.randrange(8), draw.choice([512, 4096, 65536]), number)
        queued.append(number)
        if draw.random() < 0.3:
            number = queued.pop(draw.randrange(len(queued)))
            played.lines.append(f"withdraw {number}")
            gone.append(number)
    for turn in range(4):
        for _ in range(2000):
            played.next(BEGIN + turn * MS)
    went = [int(answer) for answer in played.answers() if not answer.startswith("wait")]
    assert sorted(went) == queued and not set(went) & set(gone)


# Layouts


def test_layouts_place_files_and_stripes(drivers: Drivers) -> None:
    lines = ["policy twins 4 file 0 1000", "server 6 0", "server 6 99999999", "server 18446744073709551615 0"]
    assert drivers.drive("policies", lines) == ["2", "2", "3"]
    lines = ["policy twins 4 stripe:65536 0 1000", "server 6 0", "server 6 65535", "server 6 65536", "server 6 131072"]
    lines += ["server 6 393216", "server 18446744073709551615 18446744073709551615"]
    assert drivers.drive("policies", lines) == ["2", "2", "3", "0", "0", "2"]


def test_a_map_has_the_servers_of_single_files(drivers: Drivers, tmp_path: Path) -> None:
    file = tmp_path / "map"
    file.write_text("# from lfs getstripe\n\n6 65536 3 1\n 18446744073709551615\t4096 0 \n6 1048576 2 0 1")
    lines = [f"policy twins 4 map:{file} 0 1000", "server 6 0", "server 6 1048575", "server 6 1048576"]
    lines += ["server 6 2097152", "server 6 3145728", "server 18446744073709551615 99999", "server 7 0", "server 11 5"]
    assert drivers.drive("policies", lines) == ["2", "2", "0", "1", "2", "0", "3", "3"]


def test_a_map_of_many_files_is_found_whole(drivers: Drivers, tmp_path: Path) -> None:
    file = tmp_path / "map"
    file.write_text("".join(f"{i << 20} 4096 {i % 5} {i % 7}\n" for i in range(65536)))
    lines = [f"policy twins 7 map:{file} 0 1000"]
    lines += [f"server {i << 20} {offset}" for i in range(0, 65536, 101) for offset in (0, 4096)]
    expected = [str(i % modulus) for i in range(0, 65536, 101) for modulus in (5, 7)]
    assert drivers.drive("policies", lines) == expected


GETSTRIPE = """\
{0}
stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1

{0}/plain file
lmm_stripe_count:  3
lmm_stripe_size:   1048576
lmm_pattern:       raid0
lmm_layout_gen:    0
lmm_stripe_offset: 2
\tobdidx\t\t objid\t\t objid\t\t group
\t     2\t             2\t          0x2\t             0
\t     0\t            17\t         0x11\t             0
\t     1\t             2\t          0x2\t             0

{0}/composite
  lcm_layout_gen:    2
  lcm_entry_count:   1
    lcme_extent.e_end:   EOF
      lmm_stripe_size:   4194304
      lmm_objects:
      - 0: {{ l_ost_idx: 0, l_fid: [0x100000000:0x2:0x0] }}

{0}/last
lmm_stripe_count:  1
lmm_stripe_size:   65536
lmm_stripe_offset: 28
\tobdidx\t\t objid\t\t objid\t\t group
\t    28\t      23877295\t    0x16c56af\t   0xac0000400

"""


def test_the_script_of_the_page_makes_a_map_of_lustre_files(drivers: Drivers, tmp_path: Path) -> None:
    (script,) = re.findall(r"^```sh\n(lfs getstripe.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "map"
    for name in ("plain file", "composite", "last"):
        (tmp_path / name).touch()
    (tmp_path / "printed").write_text(GETSTRIPE.format(tmp_path))
    script = script.replace("lfs getstripe -r /scratch", f"cat {tmp_path}/printed")
    subprocess.run(["sh", "-ec", script.replace("> FILE", f"> {file}")], check=True)
    plain, last = ((tmp_path / name).stat().st_ino for name in ("plain file", "last"))
    assert file.read_text() == f"{plain} 1048576 2 0 1\n{last} 65536 28\n"
    lines = [f"policy twins 32 map:{file} 0 1000", f"server {plain} 1048576", f"server {last} 1048576"]
    assert drivers.drive("policies", lines) == ["0", "28"]


FORMAT = 'write it as "INODE STRIPE_BYTES SERVER ..."'
SERVER = "servers are numbers below the option servers"
BAD_LINES = {
    b"6": FORMAT,
    b"-6 4096 1": FORMAT,
    b"6 4095 1": FORMAT,
    b"6 99999999999999999999999 1": FORMAT,
    b"99999999999999999999 4096 1": FORMAT,
    b"6 4096": SERVER,
    b"6 4096 1 4": SERVER,
    b"6 4096 1 2x": SERVER,
    b"6 4096 1 -1": SERVER,
    b"6 4096 1\0": "it is no text",
    b"6 4096" + b" 1" * (1 << 19) + b" 1": "there are too many stripes",
    b"\n".join(b"%d 4096 1" % i for i in range(65537)): "there are too many files",
}


@pytest.mark.parametrize("number", range(len(BAD_LINES)))
def test_a_bad_map_gets_one_clear_line(drivers: Drivers, tmp_path: Path, number: int) -> None:
    line, cause = list(BAD_LINES.items())[number]
    file = tmp_path / "map"
    file.write_bytes(b"1 4096 1\n" + line + b"\n")
    line_number = 2 + line.count(b"\n")
    assert drivers.drive("policies", [f"policy twins 4 map:{file} 0 1000"]) == [f"{file}, line {line_number}: {cause}"]


# SJF and FIFO


def test_sjf_lets_small_requests_go_first_and_equal_ones_in_order_of_arrival(drivers: Drivers) -> None:
    played = Played(drivers, "sjf")
    for number, size in enumerate((65536, 512, 4096, 512, 65536)):
        played.add(number, 0, size, number)
    for _ in range(6):
        played.next(BEGIN)
    assert played.answers() == ["1", "3", "2", "0", "4", "wait 0"]


def test_sjf_lets_no_request_pass_a_large_one_after_a_microsecond_a_byte(drivers: Drivers) -> None:
    played = Played(drivers, "sjf")
    played.add(0, 0, 65536, 0)
    for number in range(1, 1000):
        played.add(number, 0, 512, number * 100_000)  # ten small requests each millisecond, without end
    for _ in range(1000):
        played.next(BEGIN)
    went = list(map(int, played.answers()))
    assert went[went.index(0) - 1 : went.index(0) + 2] == [650, 0, 651]  # 65,536 - 512 us are 650 requests
    assert [number for number in went if number] == list(range(1, 1000))


def test_sjf_agrees_with_a_sorted_list(drivers: Drivers) -> None:
    draw = random.Random(7)  # noqa: S311 - not used for security
    played = Played(drivers, "sjf")
    waiting: dict[int, int] = {}
    expected: list[str] = []
    for number in range(3000):
        size = draw.choice([100, 4096, 65536, 1 << 20])
        arrived = number * 30_011
        played.add(number, 0, size, arrived)
        waiting[number] = arrived + size * 1000
        while waiting and draw.random() < 0.48:
            first = min(waiting, key=lambda one: waiting[one])
            played.next(BEGIN)
            expected.append(str(first))
            del waiting[first]
    assert len(expected) > 2000 and played.answers() == expected


def test_fifo_keeps_the_order_of_arrival(drivers: Drivers) -> None:
    played = Played(drivers, "fifo")
    for number, size in enumerate((65536, 512, 4096)):
        played.add(number, number, size, number)
    for _ in range(4):
        played.next(BEGIN)
    assert played.answers() == ["0", "1", "2", "wait 0"]


# Real forwarders


def test_fifo_is_the_default_and_has_no_window(passing: Place) -> None:
    assert "window_us" not in passing.control("status")
    assert passing.control("window 500") == {
        "error": "the scheduler has no windows: start the forwarder with --scheduler=twins"
    }
    assert passing.forwarder
    opened = []
    for file in Path(f"/proc/{passing.forwarder.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # the connection that asked above is closed in the meantime
            opened.append(str(file.readlink()))
    assert opened and not [file for file in opened if "timerfd" in file]


def test_twins_without_windows_says_so(place: Place) -> None:
    place.start("--scheduler=twins", "--servers=3", "--window=0")
    assert place.control("status")["window_us"] == 0
    assert place.metrics()["reprise_forwarder_window_us"] == 0


def prepared(place: Place) -> int:
    """Create a file with a stripe on each data server, and return the number of the first stripe's server."""
    file = place.export / "file"
    file.write_bytes(bytes(SERVERS * STRIPE))
    return file.stat().st_ino % SERVERS


def current(second: int, number: int = 0) -> int:
    """Return the data server whose turn it is in a second, at a forwarder with windows of a second."""
    return (second - number) % SERVERS


def wait_for_a_turn(*servers: int) -> int:
    """Wait until the turn of one of some data servers begins, and return the time."""

    def begin() -> int | None:
        now = time.time()
        return int(now) if now % 1 < 0.1 and current(int(now)) in servers else None

    return wait_for("a turn", begin, every_s=0.002)


def send_reads(nine: Nine, place: Place, servers: tuple[int, ...]) -> list[int]:
    """Send a read to each of some data servers, and return the tags."""
    first = prepared(place)
    fid = nine.open("file", 0)
    return [nine.send_read(fid, (server - first) % SERVERS * STRIPE, 100) for server in servers]


def arrivals(nine: Nine, tags: list[int]) -> list[tuple[int, float]]:
    """Return the positions of tags and the times of their replies, in order of the replies."""
    return [(tags.index(nine.next().tag), time.time()) for _ in tags]


def test_twins_serves_one_server_in_a_window_with_diod(place: Place) -> None:
    place.start(*LONG)
    nine = place.client()
    prepared(place)
    nine.open("file", 0)
    servers = (0, 1, 0, 2)

    def play() -> list[int]:
        begin = wait_for_a_turn(0)
        tags = send_reads(nine, place, servers)
        replies = arrivals(nine, tags)
        for position, at in replies:
            assert at >= begin + servers[position]  # never before the turn of its server
        return [position for position, _ in replies]

    # Unless the machine stopped for most of a second meanwhile, all requests arrive in the turn of server 0.
    assert in_time(play, lambda order: order == [0, 2, 1, 3]) == [0, 2, 1, 3]


@contextmanager
def second_forwarder(place: Place) -> Iterator[Path]:
    """Run another forwarder in front of the same diod, and yield the address for its clients."""
    at = place.directory
    own = [f"--listen={at}/clients2", f"--control={at}/control2", f"--metrics={at}/metrics2", "--number=1"]
    with (at / "forwarder.log").open("ab") as log:
        other = subprocess.Popen(place.words(*LONG, *own), stdout=log, stderr=log)
    try:
        wait_for("the second forwarder", connects(at / "clients2"))
        yield at / "clients2"
    finally:
        other.kill()
        other.wait()


def test_two_forwarders_serve_different_servers_with_diod(place: Place) -> None:
    place.start(*LONG, "--number=0")
    prepared(place)
    with second_forwarder(place) as address:
        pair = (place.client(), Nine(address, place.export))
        place.clients.append(pair[1])

        def play() -> list[list[int]]:
            begin = wait_for_a_turn(*range(SERVERS))
            turns = [current(begin, number) for number in range(2)]
            sent = [send_reads(nine, place, (0, 1, 2)) for nine in pair]
            orders = []
            for nine, tags, turn in zip(pair, sent, turns, strict=True):
                replies = arrivals(nine, tags)
                for server, at in replies:
                    assert at >= begin + (server - turn) % SERVERS
                orders.append([(server - turn) % SERVERS for server, _ in replies])
            return orders

        # Each begins with its own current server and goes round; forwarder 1 is a server behind.
        assert in_time(play, lambda orders: orders == [[0, 1, 2]] * 2) == [[0, 1, 2]] * 2


def waiting(place: Place) -> int:
    return int(place.control("status")["queue_length"])


def test_requests_of_a_client_that_ends_leave_the_queues(place: Place) -> None:
    place.start(*LONG)

    def play() -> int:
        nine = place.client()
        wait_for_a_turn(0)
        send_reads(nine, place, (1, 2) * 20)
        queued = waiting(place)
        nine.close()
        wait_for("the session's end", lambda: place.control("status")["connections"] == 0)
        assert waiting(place) == 0
        return queued

    assert in_time(play, lambda queued: queued == 40) == 40
    nine = place.client()
    tags = send_reads(nine, place, (0, 1, 2))
    assert sorted(position for position, _ in arrivals(nine, tags)) == [0, 1, 2]


def test_a_flushed_request_leaves_its_queue(place: Place) -> None:
    place.start(*LONG)
    nine = place.client()

    def play() -> bool:
        wait_for_a_turn(0)
        (tag,) = send_reads(nine, place, (2,))
        nine.wait(nine.send(TFLUSH, struct.pack("<H", tag))).checked()
        return nine.early.pop(tag, None) is None and waiting(place) == 0

    assert in_time(play, bool)


def test_the_window_can_be_changed_while_requests_wait(place: Place) -> None:
    place.start(*LONG)
    assert place.control("status")["window_us"] == 1_000_000
    nine = place.client()
    for window in (125, 500_000, 0, 8000):
        tags = send_reads(nine, place, (0, 1, 2))
        assert place.control(f"window {window}")["window_us"] == window
        assert len(arrivals(nine, tags)) == 3
    assert place.metrics()["reprise_forwarder_window_us"] == 8000


@pytest.mark.parametrize("word", ["1", "124", "1000001", "1e3", "-5", "", " 500", '"', "99999999999999999999"])
def test_an_invalid_window_is_refused_and_changes_nothing(place: Place, word: str) -> None:
    place.start(*LONG)
    assert place.control(f"window {word}") == {"error": "use window MICROSECONDS: 0, or 125 to 1000000"}
    assert place.control("status")["window_us"] == 1_000_000


def test_the_map_is_read_again_on_command(place: Place) -> None:
    file = place.directory / "map"
    options = ("--scheduler=twins", "--servers=3", f"--layout=map:{file}", "--window=125")
    done = subprocess.run(place.words(*options), capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (
        1,
        f"reprise-forwarder: {file} cannot be read: No such file or directory\n",
    )
    file.write_text("1 4096 0\n")
    place.start(*options)
    nine = place.client()
    for text, works in (("2 4096 1 0\n", True), ("2 4096 3\n", False), ("", True)):
        tags = send_reads(nine, place, (0, 1, 2) * 10)
        file.write_text(text)
        assert ("error" not in place.control("layout")) == works
        assert len(arrivals(nine, tags)) == 30
    assert f"{file}, line 1: servers are numbers below the option servers" in place.log()


def test_only_a_map_can_be_read_again(passing: Place) -> None:
    assert passing.control("layout") == {"error": "there is no map: start the forwarder with --layout=map:FILE"}


NUMBERS = {"servers": "1 to 1024", "number": "0 to 4095", "window": "0 to 1000000"}
VALUES = ("-1", "1e3", "99999999999999999999", "x", "")
BYTES = ("", "0", "4095", "-4096", "+4096", "0x1000", "4096x", " 4096", "1099511627777", "99999999999999999999999")
RULES = ("stripes:4096", "File", "map:", "map", "file:4096", "stripe", *(f"stripe:{value}" for value in BYTES))
REFUSED = {
    f"--{name}={value}": f'{name}="{value}" is invalid: use a number from {numbers}'
    for name, numbers in NUMBERS.items()
    for value in VALUES
}
REFUSED |= {
    f"--layout={rule}": f'layout="{rule}" is unknown: '
    "use file, map:FILE, or stripe:BYTES with 4096 to 1099511627776 bytes"
    for rule in RULES
}
REFUSED |= {
    f"--window={value}": f'window="{value}" is invalid: use 0, or a number from 125 to 1000000' for value in (1, 124)
}
REFUSED["--layout="] = "layout has no value: use which data server has which bytes: file, stripe:BYTES or map:FILE"


@pytest.mark.parametrize("option", REFUSED)
def test_a_hostile_option_gets_one_clear_line(place: Place, option: str) -> None:
    done = subprocess.run(place.words(option), capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (1, f"reprise-forwarder: {REFUSED[option]}\n")


@pytest.mark.parametrize("scheduler", ["sjf", "twins"])
@pytest.mark.parametrize("write_back", ["off", "ram"])
def test_data_are_the_same_with_each_scheduler(place: Place, scheduler: str, write_back: str) -> None:
    options = (f"--scheduler={scheduler}", "--servers=3", f"--layout=stripe:{STRIPE}", "--window=125")
    place.start(*options, f"--write-back={write_back}", "--destage-after=20")
    nine = place.client()
    fid = nine.create("file")
    draw = random.Random(8)  # noqa: S311 - not used for security
    data = bytearray()
    for _ in range(60):
        offset, more = draw.randrange(200_000), draw.randbytes(draw.choice([10, 4000, 60_000]))
        nine.write(fid, offset, more)
        data.extend(bytes(max(0, offset + len(more) - len(data))))
        data[offset : offset + len(more)] = more
    assert nine.read(fid, 0, 300_000) == bytes(data)
    nine.fsync(fid)
    assert (place.export / "file").read_bytes() == bytes(data)
