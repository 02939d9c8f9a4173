# SPDX-License-Identifier: Apache-2.0
"""A site with forwarders for tests of the arbiter: a real database and real maps, and a clock and a queue made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database import Database
from reprise.database.entities import Measurement
from reprise.matcher.arbiter.record_curve import with_samples
from reprise.matcher.forwarding.arbitration import Arbitration
from reprise.matcher.forwarding.map_directory import MapDirectory, addresses_in
from reprise.matcher.forwarding.slurm_queue import Listing, QueuedJob
from tests.unit.database_values import decision, outcome, record

TUNED = Measurement(300.0, 290.0, 310.0, 5)
STEEP: Mapping[int, Sequence[float]] = {
    **{0: [50.0, 50.1], 1: [200.0, 200.2], 2: [350.0, 350.3]},
    **{4: [600.0, 600.4], 8: [700.0, 700.5]},
}
FLAT: Mapping[int, Sequence[float]] = {0: [200.0, 201.0], 1: [80.0, 81.0]}
ALICE = 1001


def addresses(number: int) -> list[str]:
    return [f"10.0.1.{index}:5640" for index in range(1, number + 1)]


class Site:
    """A cluster with a pool of forwarders, whose arbiter can be restarted."""

    def __init__(self, directory: Path, forwarders: int = 8, **settings: Any) -> None:
        self.config = Config.model_validate(
            {
                "site": {"cluster": "c", "nodes": 64},
                "database": {"path": str(directory / "reprise.db")},
                "forwarding": {"forwarders": addresses(forwarders), "maps": str(directory / "maps"), **settings},
            }
        )
        self.now = 10_000.0
        self.queue: dict[int, QueuedJob] = {}
        self.failing: dict[str, str] = {}
        self.database = Database.open(self.config.database.path, create=True)
        self.users = Database.open(self.config.database.path)  # another connection, like the daemon's
        self.arbiter = self._arbiter()

    def _arbiter(self) -> Arbitration:
        self.maps = MapDirectory(self.config.forwarding.maps)
        self.maps.hold(0.0)
        made = Arbitration(self.config, self.maps, clock=lambda: self.now, monotonic=lambda: self.now)
        made.resume(self.database)
        return made

    def restart(self) -> None:
        """End the arbiter as if it was killed, and start another one."""
        self.maps.release()
        self.arbiter = self._arbiter()

    def close(self) -> None:
        self.maps.release()
        self.users.close()
        self.database.close()

    def record(self, samples: Mapping[int, Sequence[float]] | None = STEEP) -> int:
        parametrization = {} if samples is None else with_samples({}, samples)
        given = {"component": "forwarders", "parametrization": parametrization, "default": TUNED, "tuned": TUNED}
        return self.users.add_record(record(**given))

    def start(
        self,
        job: int,
        samples: Mapping[int, Sequence[float]] | None = STEEP,
        *,
        nodes: int = 8,
        uid: int = ALICE,
        queued: bool = True,
    ) -> int:
        """Start a job: Slurm lists it, and its start is reported; return the id of the outcome."""
        name = f"d{job}-{self.now:.0f}"
        self.users.add_decision(decision(name, verdict="apply", record_id=self.record(samples), uid=uid))
        if queued:
            self.queue[job] = QueuedJob(uid, nodes, nodes * 8)
        return self.users.report_start(outcome(self.now, job_id=job, decision_id=name, uid=uid))

    def end(self, job: int, *, uid: int = ALICE) -> None:
        """Report a job's end; Slurm lists it until `queue` is changed."""
        (reported, *_) = self.users.outcomes_of_job("c", job)
        elapsed = self.now - reported.started_at
        self.users.report_end(
            outcome(
                reported.started_at,
                job_id=job,
                decision_id=reported.decision_id,
                uid=uid,
                ended_at=self.now,
                elapsed_s=elapsed,
                exit_status=0,
                confirmed=True,
            )
        )

    def checked(self) -> None:
        """Check the forwarders that are due; those in `failing` give an error."""
        for address in self.arbiter.health.due(self.now):
            self.arbiter.take_check(address, self.failing.get(address, ""))

    def listing(self) -> Listing:
        return Listing(dict(self.queue), self.now)

    def turn(self, seconds: float = 1.0, *, search: bool = False, listed: bool = True) -> None:
        """Let time pass, and do what the arbiter does then."""
        self.now += seconds
        self.checked()
        self.arbiter.look(self.database)
        if listed and (search or self.arbiter.needs_listing):
            self.arbiter.take_listing(self.listing(), self.database, search=search)
        self.arbiter.step(self.database)

    def map(self, job: int) -> tuple[str, ...] | None:
        """Return the addresses in a job's map, None if there is no map; raise ArbiterError if it is not whole."""
        try:
            return addresses_in((self.config.forwarding.maps / str(job)).read_bytes())
        except FileNotFoundError:
            return None

    def numbers(self) -> dict[int, int]:
        """Return the number of forwarders in each map."""
        names = (path.name for path in self.config.forwarding.maps.iterdir())
        return {int(name): len(self.map(int(name)) or ()) for name in names if name.isdecimal()}
