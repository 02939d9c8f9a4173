# SPDX-License-Identifier: Apache-2.0
"""Tests of the bandwidth and the load that a forwarder reports to the council, with a made-up clock."""

from __future__ import annotations

import random

from tests.forward.forwarder.conftest import Drivers

S = 10**9
MS = 10**6
MB = 10**6


class Loaded:
    """Requests at made-up times. Time is in ms from the beginning of the measurement."""

    def __init__(self, drivers: Drivers):
        self.drivers = drivers
        self.lines = [f"begin {S}"]

    def arrived(self, at: float, size: int = 65536) -> None:
        """Let a request arrive."""
        self.lines.append(f"arrived {size} {S + int(at * MS)}")

    def ended(self, at: float, size: int = 65536, served: int | None = None) -> None:
        """Answer a request."""
        self.lines += [f"served {size if served is None else served}", f"ended {size} {S + int(at * MS)}"]

    def measured(self, at: float) -> tuple[float, int, float, float | None]:
        """Return seconds, bytes, bandwidth and load at a time."""
        *_, line = self.drivers.drive("load", [*self.lines, f"measure {S + int(at * MS)}"])
        seconds, count, bandwidth, load = line.split()
        return float(seconds), int(count), float(bandwidth), None if load == "none" else float(load)


def test_requests_that_wait_all_the_time_have_a_bandwidth_and_no_load(drivers: Drivers) -> None:
    played = Loaded(drivers)
    played.arrived(0)
    for at in range(1, 1000):  # the next one arrives before the last one is answered
        played.arrived(at)
        played.ended(at)
    assert played.measured(1000) == (1, 999 * 65536, 999 * 65536 / MB, None)


def test_a_program_that_waits_for_each_request_has_no_low_load(drivers: Drivers) -> None:
    """Its demand is the bandwidth, however slow the window makes it: it would look low if it were reported."""
    played = Loaded(drivers)
    for at in range(0, 1000, 20):
        played.arrived(at)
        played.ended(at + 8)  # its next request comes 12 ms later
    assert played.measured(1000)[3] is None


def test_a_program_that_pauses_has_a_load(drivers: Drivers) -> None:
    played = Loaded(drivers)
    for at in range(0, 800, 8):
        played.arrived(at)
        played.ended(at + 7)
    served = 100 * 65536 / MB
    assert played.measured(1000) == (1, 100 * 65536, served, served)  # 0.2 s without requests
    assert played.measured(840)[3] is None  # 0.047 s of 0.84 s are too few


def test_requests_that_wait_at_the_beginning_and_the_end_are_part_of_the_load(drivers: Drivers) -> None:
    played = Loaded(drivers)
    played.arrived(0, 4 * MB // 4)
    played.lines.append(f"begin {S + 500 * MS}")
    played.ended(600, 4 * MB // 4)
    played.arrived(900, 500_000)
    seconds, count, bandwidth, load = played.measured(1500)
    assert (seconds, count, bandwidth, load) == (1, MB, 1, 1.5)


def test_a_second_without_requests_has_neither_bandwidth_nor_load(drivers: Drivers) -> None:
    assert Loaded(drivers).measured(1000) == (1, 0, 0, 0)


def test_reads_at_the_end_of_a_file_count_for_the_bytes_that_they_got(drivers: Drivers) -> None:
    played = Loaded(drivers)
    played.arrived(0, 1000)
    played.ended(1, 1000, served=10)
    assert played.measured(1000) == (1, 10, 10 / MB, 10 / MB)


def test_requests_for_more_than_a_message_holds_count_for_a_message(drivers: Drivers) -> None:
    played = Loaded(drivers)
    played.arrived(900, 2**32 - 1)
    assert played.measured(1000)[3] == 1048576 / MB
    played.ended(950, 2**32 - 1, served=0)
    assert played.measured(1000)[3] == 0


def test_a_measurement_of_no_time_is_finite(drivers: Drivers) -> None:
    played = Loaded(drivers)
    played.arrived(0)
    assert played.measured(0)[2] == 0
    played.lines.append(f"begin {2 * S}")
    assert played.measured(0)[0] > 0  # a clock that would go back


def test_requests_in_any_order_leave_nothing_outstanding(drivers: Drivers) -> None:
    draw = random.Random(9)  # noqa: S311 - not used for security
    played, at, running, served = Loaded(drivers), 0.0, list[int](), 0
    for _ in range(3000):
        at += draw.choice([0.01, 0.3, 25])
        if running and draw.random() < 0.5:
            size = running.pop(draw.randrange(len(running)))
            played.ended(at, size)
            served += size
        else:
            running.append(draw.choice([1, 4096, 65536]))
            played.arrived(at - draw.choice([0, 0.005]), running[-1])
    for size in running:
        played.ended(at, size)
        served += size
    seconds, count, bandwidth, load = played.measured(2 * at)
    assert count == served and load == bandwidth and abs(seconds - 2 * at / 1000) < 1e-6
