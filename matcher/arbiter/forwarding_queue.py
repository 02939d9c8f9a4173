# SPDX-License-Identifier: Apache-2.0
"""Simulation of a queue of jobs that share a pool of I/O forwarders (Bez 2020, section 5.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reprise.matcher.arbiter.aggregate_bandwidth import Run, aggregate, bandwidths
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share
from reprise.matcher.arbiter.remap_cost import RemapCost
from reprise.matcher.arbiter.share_decision import Decision, State, decide, must_decide
from reprise.matcher.errors import ArbiterError


@dataclass(frozen=True)
class QueuedJob:
    """A job in the queue, and the megabytes that it writes and reads. Its curve must have the numbers that it gets."""

    job: Job
    written: float
    read: float = 0.0


@dataclass(frozen=True)
class Event:
    """A decision: its time, the jobs that started or ended just before it, and the result."""

    seconds: float
    started: Sequence[str]
    ended: Sequence[str]
    decision: Decision


@dataclass(frozen=True)
class Ended:
    """A job that has ended: its start in seconds, and its run."""

    start: float
    run: Run


@dataclass(frozen=True)
class Simulation:
    """Result of a simulation: the jobs by id, in order of their ends, and all decisions."""

    jobs: Mapping[str, Ended]
    events: Sequence[Event]

    @property
    def bandwidth(self) -> float:
        """Aggregate bandwidth of all jobs in MB/s (Bez 2020, equation 5.2)."""
        return aggregate(one.run for one in self.jobs.values())


@dataclass(frozen=True)
class Timing:
    """Seconds that pass between two starts of jobs, and until running jobs notice that their forwarders change."""

    interval: float = 0.0
    delay: float = 0.0


@dataclass
class _Running:
    queued: QueuedJob
    start: float
    left: float  # megabytes
    share: Share  # in effect
    next_share: Share | None = None
    next_at: float = 0.0


@dataclass
class _Clock:
    now: float = 0.0
    next_start: float = 0.0
    running: dict[str, _Running] = field(default_factory=dict)
    ended: dict[str, Ended] = field(default_factory=dict)


def simulate(
    queue: Sequence[QueuedJob], pool: Pool, policy: Policy, timing: Timing = Timing(), cost: RemapCost | None = None
) -> Simulation:
    """Run a queue to its end under a policy.

    Jobs start in the order of the queue on `pool.compute_nodes`; a job that does not fit delays all jobs behind it.
    Whenever jobs start or end, the policy decides. Jobs that start have their share at once. A job's run time is its
    number of bytes divided by its bandwidth, which follows its curve and changes with its share. Jobs do not disturb
    each other at the file system. MCKP knows the remaining run times.

    ORACLE has as many forwarders as it asks for. Raise ArbiterError if a job can never start or has no bandwidth.
    """
    waiting = list(queue)
    for queued in waiting:
        if queued.job.nodes > pool.compute_nodes:
            raise ArbiterError(
                f"job {queued.job.id} needs {queued.job.nodes} nodes and the system has {pool.compute_nodes}: "
                "leave it out, or enlarge the system"
            )
    names = [f"forwarder{number}" for number in range(1, pool.forwarders + 1)]
    state, events, clock = State(), list[Event](), _Clock()
    again_at: float | None = None
    ended: list[str] = []
    while waiting or clock.running:
        started = _start(waiting, clock, pool, timing.interval)
        running = _timed(clock, policy, pool)
        if must_decide(state, running, names) or (again_at is not None and clock.now >= again_at):
            decision = decide(policy, running, pool, names, state, clock.now, cost)
            events.append(Event(clock.now, started, ended, decision))
            state, again_at = decision.state, decision.again_at
            _apply(clock, state, started, timing.delay)
        wakes = [clock.next_start] if waiting and clock.next_start > clock.now else []
        ended = _advance(clock, policy, pool, [*wakes, *([] if again_at is None else [again_at])])
    return Simulation(clock.ended, events)


def _start(waiting: list[QueuedJob], clock: _Clock, pool: Pool, interval: float) -> list[str]:
    started = []
    free = pool.compute_nodes - sum(one.queued.job.nodes for one in clock.running.values())
    while waiting and waiting[0].job.nodes <= free and clock.now >= clock.next_start:
        queued = waiting.pop(0)
        free -= queued.job.nodes
        clock.running[queued.job.id] = _Running(queued, clock.now, queued.written + queued.read, Share(0))
        clock.next_start = clock.now + interval
        started.append(queued.job.id)
    return started


def _timed(clock: _Clock, policy: Policy, pool: Pool) -> list[Job]:
    """Return the running jobs with their remaining run times, at the bandwidths that they have now."""
    rates = _rates(clock, policy, pool)
    return [
        replace(one.queued.job, seconds_left=one.left / rates[job]) if job in rates else one.queued.job
        for job, one in clock.running.items()
    ]


def _apply(clock: _Clock, state: State, started: Sequence[str], delay: float) -> None:
    for job, one in clock.running.items():
        share = state.shares[job]
        if job in started or not delay:
            one.share, one.next_share = share, None
        elif share == one.share:
            one.next_share = None
        elif share != one.next_share:
            one.next_share, one.next_at = share, clock.now + delay


def _advance(clock: _Clock, policy: Policy, pool: Pool, wakes: Sequence[float]) -> list[str]:
    """Let time pass until a job ends, a new share takes effect or a time in `wakes`; return the jobs that ended."""
    rates = _rates(clock, policy, pool)
    for job in clock.running:
        if job not in rates:
            raise ArbiterError(f"job {job}: its curve has no bandwidth for its share of the forwarders: add it")
    ends = {job: clock.now + one.left / rates[job] for job, one in clock.running.items()}
    times = [one.next_at for one in clock.running.values() if one.next_share is not None]
    until = min([*ends.values(), *times, *wakes])
    ended = [job for job, end in ends.items() if end <= until]
    for job, one in clock.running.items():
        one.left -= rates[job] * (until - clock.now)
        if one.next_share is not None and one.next_at <= until:
            one.share, one.next_share = one.next_share, None
    clock.now = until
    for job in ended:
        one = clock.running.pop(job)
        clock.ended[job] = Ended(one.start, Run(one.queued.written, one.queued.read, until - one.start))
    return ended


def _rates(clock: _Clock, policy: Policy, pool: Pool) -> dict[str, float]:
    jobs = [one.queued.job for one in clock.running.values()]
    shares = {job: one.share for job, one in clock.running.items()}
    return bandwidths(jobs, shares, None if policy is Policy.ORACLE else pool.forwarders)
