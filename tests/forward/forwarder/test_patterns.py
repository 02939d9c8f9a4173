# SPDX-License-Identifier: Apache-2.0
"""Tests of the access patterns that the forwarder counts in each second. Most use made-up clocks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest

from tests.forward.forwarder.conftest import Drivers, Place
from tests.waiting import wait_for

S = 1_000_000_000
"""Nanoseconds of a second."""
WALL = 1_700_000_000
"""Unix time at which the monotonic clock was 0."""
READ, WRITE = 0, 1
NO_WINDOW = 2**32 - 1


class Counted:
    """Requests at made-up times, and the patterns that they make. The clocks begin a second together."""

    def __init__(self, drivers: Drivers, window: int = NO_WINDOW):
        self.drivers = drivers
        self.now = 100 * S
        self.lines = [f"clock {WALL * S}", f"start {self.now} {window}"]

    def request(self, file: int, offset: int, size: int, operation: int = WRITE, job: int = 1) -> None:
        """Let a request arrive and be served at once, a microsecond after the last one."""
        self.now += 1000
        self.lines.append(f"arrived {job} {operation} {file} {offset} {size} {self.now}")
        self.lines.append(f"served {job} {operation} {size} {self.now}")

    def at(self, second: float) -> None:
        """Continue at a time after the start."""
        self.now = 100 * S + int(second * S)

    def printed(self, line: str) -> list[str]:
        """Return the lines that a command prints."""
        return self.drivers.drive("patterns", [*self.lines, line])

    def patterns(self, second: float) -> list[dict[str, Any]]:
        """Return the patterns at a time after the start."""
        (line,) = self.printed(f"json {100 * S + int(second * S)}")
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def pattern(self, second: float) -> dict[str, Any]:
        """Return the only pattern at a time after the start."""
        (one,) = self.patterns(second)
        return one


def counted(drivers: Drivers, requests: Iterable[tuple[int, int, int]]) -> dict[str, Any]:
    """Return the pattern of requests of a second: file, offset, size."""
    played = Counted(drivers)
    for request in requests:
        played.request(*request)
    return played.pattern(1)


# Bez 2020, acceptance test of the specification, section 30


def test_20_the_distance_is_0_for_a_sequential_stream_and_g_for_a_gap_g(drivers: Drivers) -> None:
    assert counted(drivers, ((7, i * 32768, 32768) for i in range(100)))["distance_mean"] == 0
    for gap in (1, 32768, 127 * 32768, 10**12):
        strided = counted(drivers, ((7, i * (32768 + gap), 32768) for i in range(100)))
        assert strided["distance_mean"] == gap


# The features


def test_a_pattern_has_the_five_features_and_the_bandwidth(drivers: Drivers) -> None:
    # File 1 from 0 to 4096, then from 6096; file 2 once; file 3 twice at the same place.
    assert counted(drivers, [(1, 0, 4096), (2, 50, 1000), (1, 6096, 10), (3, 0, 65536), (3, 0, 65536)]) == {
        "job": "job-1",
        "operation": "write",
        "begun_at": WALL + 100,
        "seconds": 1,
        "bytes": 4096 + 1000 + 10 + 2 * 65536,
        "requests": 5,
        "files": 3,
        "request_min": 10,
        "request_max": 65536,
        "request_mean": (4096 + 1000 + 10 + 2 * 65536) / 5,
        "distance_mean": (2000 + 65536) / 2,
        "window_us": None,
        "user": None,
    }


def test_each_file_and_operation_has_a_stream_of_its_own(drivers: Drivers) -> None:
    played = Counted(drivers)
    for i in range(50):
        for file in (3, 4):
            played.request(file, i * 1000, 1000, WRITE)
            played.request(file, i * 3000, 1000, READ)
            played.request(file, i * 6000, 1000, READ, job=2)
    found = {(one["job"], one["operation"]): (one["files"], one["distance_mean"]) for one in played.patterns(1)}
    assert found == {("job-1", "write"): (2, 0), ("job-1", "read"): (2, 2000), ("job-2", "read"): (2, 5000)}


def test_processes_that_share_a_file_do_not_look_sequential(drivers: Drivers) -> None:
    shared = [(7, rank * 10_000_000 + i * 1000, 1000) for i in range(10) for rank in range(4)]
    assert counted(drivers, shared)["distance_mean"] > 1_000_000


def test_one_request_of_a_file_has_no_distance(drivers: Drivers) -> None:
    one = counted(drivers, [(file, 4096, 100) for file in range(1, 20)])
    assert (one["files"], one["requests"], one["distance_mean"]) == (19, 19, None)


def test_offsets_near_the_largest_number_are_counted(drivers: Drivers) -> None:
    largest = 2**64 - 1
    one = counted(drivers, [(largest, largest, 2**32 - 1), (largest, 0, 0), (largest, largest, 1)])
    assert (one["requests"], one["files"], one["request_min"], one["request_max"]) == (3, 1, 0, 2**32 - 1)
    assert one["distance_mean"] == pytest.approx(((2**32 - 2) + largest) / 2)


# Seconds


def test_a_second_is_printed_when_it_is_complete_and_until_the_next_one_is(drivers: Drivers) -> None:
    played = Counted(drivers)
    played.request(1, 0, 100)
    assert played.patterns(0.999) == []
    assert (played.pattern(1)["bytes"], played.pattern(1.999)["bytes"]) == (100, 100)
    played.at(1.5)
    played.request(1, 100, 200)
    played.request(2, 100, 200)
    assert (played.pattern(1.9)["bytes"], played.pattern(2)["bytes"]) == (100, 400)
    last = played.pattern(1000)
    assert (last["begun_at"], last["files"]) == (WALL + 101, 2)


def test_a_stream_continues_in_the_next_second_and_its_file_is_counted_again(drivers: Drivers) -> None:
    played = Counted(drivers)
    for second in range(3):
        played.at(second + 0.2)
        played.request(1, second * 5000, 1000)
    last = played.pattern(3)
    assert (last["files"], last["requests"], last["distance_mean"]) == (1, 1, 4000)


def test_bytes_count_when_they_are_served(drivers: Drivers) -> None:
    played = Counted(drivers)
    played.lines.append(f"arrived 1 0 5 0 4096 {played.now + 1}")
    played.at(1.2)
    played.lines.append(f"served 1 0 4096 {played.now}")
    first, second = played.pattern(1.9), played.pattern(2)
    assert (first["requests"], first["bytes"], first["request_mean"]) == (1, 0, 4096)
    assert (second["requests"], second["bytes"], second["request_mean"]) == (0, 4096, None)


def test_the_first_second_begins_at_the_start_and_ends_with_the_clock(drivers: Drivers) -> None:
    played = Counted(drivers)
    played.lines = [f"clock {WALL * S + 300_000_000}", f"start {played.now} 0"]
    played.request(1, 0, 100)
    one = played.pattern(0.7)
    assert (one["begun_at"], one["seconds"]) == (WALL + 100.3, 0.7)
    played.lines[0] = f"clock {WALL * S + 800_000_000}"
    one = played.pattern(1.2)
    assert (one["begun_at"], one["seconds"]) == (WALL + 100.8, 1.2)


def test_a_clock_that_is_set_loses_no_bytes(drivers: Drivers) -> None:
    draw = random.Random(4)  # noqa: S311 - not used for security
    played = Counted(drivers)
    for i in range(1, 400):
        played.lines.append(f"clock {WALL * S + draw.randrange(-90 * S, 90 * S)}")
        played.at(i * 0.1)
        played.request(1, 0, 100)
        played.lines.append(f"json {played.now + 1}")
    lines = [json.loads(line) for line in played.printed(f"json {200 * S}")]
    seen = {(one["begun_at"], one["seconds"]): one["bytes"] for (one,) in filter(None, lines)}
    assert all(0.5 <= seconds <= 1.5 for _, seconds in seen)
    assert sum(seen.values()) == 39_900


def test_the_window_is_printed_unless_it_changed_in_the_second(drivers: Drivers) -> None:
    played = Counted(drivers, window=1000)
    windows = []
    for second, change in enumerate((None, 125, 125, 0, 0, 8000, None)):
        played.at(second + 0.1)
        played.request(1, 0, 100)
        if change is not None:
            played.lines.append(f"window {change} {played.now + 1}")
        played.request(1, 0, 100, READ, job=2)
        windows.append([one["window_us"] for one in played.patterns(second + 1)])
    assert windows == [[window] * 2 for window in (1000, None, 125, None, 0, None, 8000)]


# Bounds


def test_more_files_than_fit_are_counted_roughly_and_forgotten(drivers: Drivers) -> None:
    played = Counted(drivers)
    for i in range(20_000):
        played.request(i, 0, 10)
    for i in range(20_000):
        played.request(i, 10, 10)
    one = played.pattern(1)
    assert 20_000 <= one["files"] <= 40_000 and one["requests"] == 40_000
    assert int(played.printed(f"metrics {101 * S}")[-1].partition(" ")[2]) > 3_000
    played.at(1.1)
    for i in range(1000):
        played.request(99_999, i * 10, 10)
    again = played.pattern(2)
    assert (again["files"], again["distance_mean"]) == (1, 0)


@pytest.mark.parametrize("step", [1, 32, 1 << 20])
def test_the_number_of_files_is_exact_up_to_4096(drivers: Drivers, step: int) -> None:
    played = Counted(drivers)
    for repeat in range(3):
        for i in range(4096):
            played.request(1_000_003 + i * step, repeat * 10, 10)
    one = played.pattern(1)
    assert (one["files"], one["distance_mean"]) == (4096, 0)


def test_jobs_beyond_the_limit_are_counted_together(drivers: Drivers) -> None:
    played = Counted(drivers)
    for job in range(200):
        played.request(1, 0, 100 + job, job=job)
    assert len(played.patterns(1)) <= 65


def test_metrics_are_those_of_the_busiest_jobs_in_the_last_second(drivers: Drivers) -> None:
    played = Counted(drivers)
    draw = random.Random(9)  # noqa: S311 - not used for security
    for job in draw.sample(range(1, 51), 50):
        played.request(1, 0, 1000 * job, job=job)
        played.request(1, 1000 * job, 1000 * job, READ, job=job)
    page = played.printed(f"metrics {101 * S + 1}")
    name = "reprise_forwarder_pattern_bytes_per_second"
    lines = [line.removeprefix(name) for line in page if line.startswith(f"{name}{{")]
    expected = [
        f'{{job="job-{job}",operation="{kind}"}} {job * 1000}'
        for job in range(50, 34, -1)
        for kind in ("read", "write")
    ]
    assert lines == expected
    assert not [line for line in page if "distance" in line and not line.startswith("#")]  # there is none
    assert not [line for line in played.printed(f"metrics {103 * S}") if line.startswith("reprise")]


def test_counting_a_request_takes_less_than_a_microsecond(drivers: Drivers) -> None:
    for shape in ("16 4", "1000000 60"):
        (printed,) = drivers.drive("patterns", [f"start {S} 0", f"time 300000 {shape}"])
        assert float(printed) < 1000


# A real forwarder


@pytest.mark.parametrize("options", [(), ("--write-back=ram",), ("--scheduler=twins", "--servers=2")])
def test_patterns_of_jobs_are_counted_with_diod(place: Place, options: tuple[str, ...]) -> None:
    place.start(*options)
    assert place.command("patterns") == "[]\n"
    (place.export / "strided").open("wb").truncate(1 << 40)
    writer, reader = place.client("job-1"), place.client("job-2")
    written, strided = writer.create("written"), reader.open("strided", 0)
    ends = [0, 0]

    def play() -> list[dict[str, Any]] | None:
        writer.write(written, ends[0], bytes(8192))
        assert len(reader.read(strided, ends[1], 4096)) == 4096
        ends[:] = ends[0] + 8192, ends[1] + 4096 + 1000
        found: list[dict[str, Any]] = json.loads(place.command("patterns"))
        return found if [one["requests"] > 1 for one in found] == [True, True] else None

    stream, gaps = wait_for("the patterns", play)
    assert (stream["job"], stream["operation"], stream["files"]) == ("job-1", "write", 1)
    assert (stream["request_min"], stream["request_mean"], stream["request_max"]) == (8192, 8192, 8192)
    assert stream["distance_mean"] == 0
    assert (gaps["job"], gaps["operation"], gaps["files"], gaps["request_mean"]) == ("job-2", "read", 1, 4096)
    assert gaps["distance_mean"] == 1000


# Users


def test_a_name_that_several_users_or_unconfirmed_ones_give_has_no_user(drivers: Drivers) -> None:
    unknown = 2**32 - 1
    of_job = {1: [1000, 1000, 0], 2: [1000, 1001, 1000, 1001], 3: [unknown, 1000], 4: [1000, unknown, 1000], 5: [0]}
    lines = [f"let-in {job} {user}" for job, users in of_job.items() for user in users]
    confirmed = [1000, 1000, unknown, 1000, *[unknown] * 3, unknown, unknown, 1000, unknown, unknown, 0]
    assert drivers.drive("patterns", lines) == [str(user) for user in confirmed]


def test_the_pattern_of_a_job_has_its_user(drivers: Drivers) -> None:
    played = Counted(drivers)
    played.lines.append("let-in 1 1000")
    played.request(7, 0, 4096)
    *_, line = played.printed(f"json {101 * S}")
    assert [one["user"] for one in json.loads(line)] == [1000]
