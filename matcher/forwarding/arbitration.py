# SPDX-License-Identifier: Apache-2.0
"""The arbiter's work: it takes what happened, decides who serves whom, and brings maps and database up to date.

Nothing here waits: the database, the maps and the clock are passed in, and what fails is tried again at the next step.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from reprise.config import Config
from reprise.database.entities import ForwarderShare, ForwarderState
from reprise.database.errors import DatabaseError
from reprise.database.forwarding import Forwarding
from reprise.eventlog import Throttle, line
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share
from reprise.matcher.arbiter.remap_cost import RemapCost
from reprise.matcher.arbiter.share_decision import Decision, State, decide, must_decide
from reprise.matcher.arbiter.share_reason import reasons
from reprise.matcher.forwarding.decision_cause import cause
from reprise.matcher.forwarding.forwarder_health import Health
from reprise.matcher.forwarding.map_directory import MapDirectory
from reprise.matcher.forwarding.present_jobs import pool_of
from reprise.matcher.forwarding.running_jobs import RunningJobs
from reprise.matcher.forwarding.slurm_queue import Listing

log = logging.getLogger(__name__)

RETRY_S = 1.0  # seconds until a failed write is tried again


@dataclass
class Counts:
    """Numbers for the metrics, since the arbiter started."""

    decisions: int = 0
    seconds: float = 0.0
    changes: int = 0
    queue_failures: int = 0
    write_failures: int = 0


class Arbitration:
    """State of the arbiter, and its steps.

    `clock` returns Unix seconds, and `monotonic` seconds that never go back.
    """

    def __init__(
        self,
        config: Config,
        maps: MapDirectory,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = config.forwarding
        self.health = Health(settings.forwarders, settings.check_s)
        self.running = RunningJobs()
        self.counts = Counts()
        self.state = State()
        self._config = config
        self._cluster = config.site.cluster
        self._policy = Policy(settings.policy)
        self._cost = RemapCost(settings.pause_s, settings.settle_s)
        self._maps = maps
        self._clock = clock
        self._monotonic = monotonic
        self._throttle = Throttle(clock=monotonic)
        self._written: dict[int, tuple[str, ...] | None] = {}  # maps in the directory; None: damaged
        self._reasons: dict[str, str] = {}
        self._sizes: dict[str, tuple[int, int, int]] = {}  # user id, nodes, processes by job
        self._stored: object = None  # what the database has
        self._newest = -1  # id of the last outcome that was read; -1 before the first look
        self._changes: int | None = None
        self._is_listed = False
        self._is_new = True  # whether anything happened since the last step
        self._again_at: float | None = None
        self._write_at = self._store_at = float("-inf")  # earliest times (monotonic) of the next tries

    # --- what happened

    def resume(self, database: Forwarding) -> None:
        """Take the maps that jobs have, and the periods of their shares, from an arbiter that ended. Raise OSError."""
        self._written = dict(self._maps.read())
        known = {str(share.job_id): share for share in database.shares_now(self._cluster)}
        names = {str(job): addresses or () for job, addresses in self._written.items()}
        same = {job: share for job, share in known.items() if names.get(job) == tuple(share.forwarders)}
        shares = {
            job: Share(0, shared=True) if job in same and same[job].shared else Share(len(addresses))
            for job, addresses in names.items()
        }
        shared = next((names[job][0] for job, share in shares.items() if share.shared and names[job]), "")
        self._reasons = {job: share.reason for job, share in same.items()}
        self.state = State(shares, names, shared, {job: share.at for job, share in same.items()})

    def look(self, database: Forwarding) -> None:
        """Read the starts and ends of jobs that were reported since the last look. Raise DatabaseError.

        If nothing was written, this takes some microseconds.
        """
        changes = database.changes_of_others()
        if changes == self._changes:
            return
        newest = database.newest_outcome()  # read before the starts, so that none is missed
        if self._newest >= 0:
            self.running.started(database.forwarded_since(self._cluster, self._newest), self._monotonic())
        self.running.ended(database.ended_outcomes(self.running.outcomes))
        self._newest, self._changes, self._is_new = newest, changes, True

    def reopened(self) -> None:
        """Read everything again, because the database's file is another one; until then, nothing is changed."""
        self.running.forget()
        self._newest, self._changes, self._stored, self._is_listed = -1, None, None, False

    def take_listing(self, listing: Listing, database: Forwarding, *, search: bool) -> None:
        """Take Slurm's list; with `search`, also look for starts of listed jobs that were missed.

        Raise DatabaseError.
        """
        if search or not self._is_listed:
            missed = database.forwarded_jobs(self._cluster, sorted(self.running.unread(listing)))
            ours = [one for one in missed if listing.jobs[one.job_id].uid == one.uid]
            self.running.started(ours, self._monotonic())
        for start in self.running.listed(listing):
            self._throttle.warning(log, "start-not-listed", job=start.job_id, uid=start.uid)
        self._is_listed = self._is_new = True

    def take_check(self, address: str, error: str) -> None:
        """Take the result of a check of a forwarder: its error, "" if it works."""
        if self.health.take(address, error, self._monotonic()):
            self._is_new = True
            if error:
                log.warning(line("forwarder-failed", address=address, error=error))
            else:
                log.info(line("forwarder-works", address=address))

    def queue_failed(self, error: Exception) -> None:
        """Log that Slurm's list cannot be read; nothing else changes."""
        self.counts.queue_failures += 1
        self._throttle.warning(log, "queue-failed", error=error)

    # --- what follows

    @property
    def needs_listing(self) -> bool:
        """Whether Slurm's list should be asked for soon."""
        return not self._is_listed or self.running.awaits_listing

    @property
    def is_ready(self) -> bool:
        """Whether Slurm's list and the states of all forwarders are known; before that, nothing is changed."""
        return self._is_listed and self.health.is_known

    def step(self, database: Forwarding | None) -> None:
        """Decide if that is due, and bring the maps and the database up to date; None: there is no database now."""
        if not self.is_ready:
            return
        now = self._clock()
        due = self._again_at is not None and now >= self._again_at
        if due or self._is_new:
            self._is_new = False  # set before the rest, during which more may happen
            jobs, working = self.running.jobs(now), self.health.working
            if due or must_decide(self.state, jobs, working):
                self._decide(jobs, working, now)
        if self._monotonic() >= self._write_at:
            self._write_maps()
        if database and self._monotonic() >= self._store_at:
            self._store(database, now)

    def _decide(self, jobs: Sequence[Job], working: Sequence[str], now: float) -> None:
        began = time.perf_counter()
        before = self.state
        pool = pool_of(self._config, len(working))
        decision = decide(self._policy, jobs, pool, working, before, now, self._cost)
        seconds = time.perf_counter() - began
        self.state, self._again_at = decision.state, decision.again_at
        self._sizes = {one.id: (self.running.user(int(one.id)), one.nodes, one.processes) for one in jobs}
        why = self._cause(before, jobs, decision)
        self._explain(jobs, pool, before, decision, why)
        self.counts.decisions += 1
        self.counts.seconds += seconds
        self.counts.changes += len(decision.changed)
        used = {name for names in decision.state.names.values() for name in names}
        log.info(
            line(
                "shared-out",
                policy=self._policy,
                jobs=len(jobs),
                forwarders=len(working),
                used=len(used),
                changed=len(decision.changed),
                why=why,
                ms=seconds * 1e3,
            )
        )
        if decision.infeasible:
            self._throttle.warning(log, "no-allocation", why=decision.infeasible, left_out=len(decision.left_out))

    def _cause(self, before: State, jobs: Sequence[Job], decision: Decision) -> str:
        running = {job.id for job in jobs}
        if not self.counts.decisions:
            return "the arbiter started"
        came = [name for name in decision.state.forwarders if name not in before.forwarders]
        went = [name for name in before.forwarders if name not in decision.state.forwarders]
        started = [job.id for job in jobs if job.id not in before.shares]
        ended = [job for job in before.shares if job not in running]
        return cause(started, ended, came, went) or "jobs that were changed may be changed again"

    def _explain(self, jobs: Sequence[Job], pool: Pool, before: State, decision: Decision, why: str) -> None:
        """Log each job whose forwarders are new or change, and keep the reason."""
        state = decision.state
        kept = {job for job in before.shares if tuple(before.names.get(job, ())) == tuple(state.names.get(job, ()))}
        news = [job for job in state.shares if job not in kept or job not in self._reasons]
        basis = reasons(self._policy, jobs, pool, state.shares) if news else {}
        basis |= dict.fromkeys(decision.left_out, "the pool is too small for all jobs, and it is one of the last")
        for job in news:
            self._reasons[job] = f"{why}: {basis[job]}"
            log.info(line("map", job=job, forwarders=",".join(state.names[job]) or "none", why=self._reasons[job]))
        self._reasons = {job: self._reasons[job] for job in state.shares}

    def _write_maps(self) -> None:
        """Write the maps that differ; those with fewer forwarders than before come first, so that these become free."""
        wanted = {int(job): tuple(names) for job, names in self.state.names.items()}
        # a map of a job that the database does not know is kept while Slurm runs the job
        for job in [job for job in self._written if job not in wanted and not self.running.runs(job)]:
            if self._did(partial(self._maps.remove, job), job):
                del self._written[job]
        differing = [job for job, names in wanted.items() if self._written.get(job) != names]
        for job in sorted(differing, key=lambda job: not set(wanted[job]) < set(self._written.get(job) or ())):
            if self._did(partial(self._maps.write, job, wanted[job]), job):
                self._written[job] = wanted[job]

    def _did(self, action: Callable[[], None], job: int) -> bool:
        try:
            action()
        except OSError as error:
            self.counts.write_failures += 1
            self._write_at = self._monotonic() + RETRY_S
            self._throttle.warning(log, "map-failed", job=job, error=error.strerror or error)
            return False
        return True

    def _store(self, database: Forwarding, now: float) -> None:
        """Store who serves whom, if that has changed."""
        states = self.health.states
        told = (self.state.names, self.state.shares, states)
        if told == self._stored:
            return
        shares = [self._share(job, names, now) for job, names in self.state.names.items()]
        of_forwarders = [ForwarderState(self._cluster, address, works, now, why) for address, works, why in states]
        try:
            database.set_forwarding(self._cluster, shares, of_forwarders, now)
            self._stored = told
        except DatabaseError as error:
            self._store_at = self._monotonic() + RETRY_S
            self._throttle.warning(log, "not-stored-yet", error=error)

    def _share(self, job: str, names: Sequence[str], now: float) -> ForwarderShare:
        uid, nodes, processes = self._sizes[job]
        return ForwarderShare(
            cluster=self._cluster,
            job_id=int(job),
            uid=uid,
            at=now,
            forwarders=tuple(names),
            shared=self.state.shares[job].shared,
            nodes=nodes,
            processes=processes,
            policy=str(self._policy),
            reason=self._reasons.get(job, ""),
        )
