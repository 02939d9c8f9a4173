# SPDX-License-Identifier: Apache-2.0
"""Test what holds after any sequence of starts, ends, failures and restarts."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.unit.matcher.forwarding.forwarding_site import FLAT, STEEP, Site, addresses

BOB = 1002
JOBS = st.integers(1, 5)
EVENTS = st.one_of(
    st.tuples(st.just("start"), JOBS),
    st.tuples(st.just("end"), JOBS),
    st.tuples(st.just("vanish"), JOBS),
    st.tuples(st.just("forge"), JOBS),
    st.tuples(st.just("fail"), st.integers(1, 4)),
    st.tuples(st.just("repair"), st.integers(1, 4)),
    st.tuples(st.just("restart"), st.just(0)),
    st.tuples(st.just("blind"), st.just(0)),
)


class World:
    """A site and the jobs that run there in truth."""

    def __init__(self, directory: Path) -> None:
        self.site = Site(directory, forwarders=4, settle_s=0)
        self.running: set[int] = set()

    def play(self, event: str, number: int) -> None:
        site = self.site
        match event:
            case "start" if number not in self.running:
                site.start(number, (STEEP, FLAT, None)[number % 3])
                self.running.add(number)
            case "end" if number in self.running:
                site.end(number)
                del site.queue[number]
                self.running.discard(number)
            case "vanish" if number in self.running:  # the end is never reported
                del site.queue[number]
                self.running.discard(number)
            case "forge":
                site.start(number, queued=False, uid=BOB)
            case "fail":
                site.failing[addresses(4)[number - 1]] = "Connection refused"
            case "repair":
                site.failing.pop(addresses(4)[number - 1], None)
            case "restart":
                before = site.numbers()
                site.restart()
                assert site.numbers() == before
            case "blind":
                before = site.numbers()
                site.turn(listed=False)  # squeue fails
                assert set(before) & self.running <= set(site.numbers())

    def check(self) -> None:
        """Let everything settle, and check what then holds."""
        for _ in range(3):
            self.site.turn(30, search=True)
        maps = {job: self.site.map(job) for job in self.site.numbers()}
        working = set(addresses(4)) - set(self.site.failing)
        assert set(maps) == self.running
        serving = Counter(name for names in maps.values() for name in names or ())
        assert set(serving) <= working and max(serving.values(), default=1) == 1
        stored = {share.job_id: tuple(share.forwarders) for share in self.site.users.shares_now("c")}
        assert stored == maps


@given(st.lists(EVENTS, max_size=12))
@settings(max_examples=examples(40), deadline=None)
def test_running_jobs_have_whole_maps_with_forwarders_that_work_and_nobody_else_has(
    events: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory))
        try:
            for event, number in events:
                world.play(event, number)
                world.site.turn(2)
                world.site.numbers()  # reads every map, and fails if one is not whole
            world.check()
        finally:
            world.site.close()
