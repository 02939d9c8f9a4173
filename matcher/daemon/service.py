# SPDX-License-Identifier: Apache-2.0
"""The matcher's service, which answers requests and makes their journal entries, but does not use sockets."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import pwd
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from reprise import __version__
from reprise.eventlog import Throttle
from reprise.matcher.daemon.allowance import Allowance
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.event_rows import decision_entry, forwarded_entry, outcome_entry
from reprise.matcher.daemon.fair_store import FairStore
from reprise.matcher.daemon.job_programs import JobPrograms
from reprise.matcher.daemon.metrics import Metrics
from reprise.matcher.daemon.peer import UNKNOWN
from reprise.matcher.daemon.pending_writes import Entry, Unmade
from reprise.matcher.daemon.quarantine_watch import Watch
from reprise.matcher.daemon.stored_volume import Volume
from reprise.matcher.daemon.told_admins import Admins
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.daemon.usual_patterns import UsualPatterns
from reprise.matcher.decision.decide import Decided, Question, answered
from reprise.matcher.decision.holdout_blocks import Blocks
from reprise.matcher.decision.like_jobs import like
from reprise.matcher.decision.often_wrong import is_often_wrong
from reprise.matcher.errors import ProtocolError
from reprise.matcher.support.behaviour import Behaviour, Comparison
from reprise.matcher.support.explainer import Explainer
from reprise.matcher.wire import protocol, tokens

log = logging.getLogger(__name__)

INLINE_BYTES = 8192  # larger requests are decided in a thread, since parsing a script of 128 KiB took 20 ms
REPORT_NO_END = ("salloc", "srun")  # commands whose jobs report no run time, which a comparison would need
WRITE_TIMEOUT_S = 3.0  # seconds to wait for a write; shorter than the time that a replica waits for the answer
SLOW_THREADS = min(4, os.cpu_count() or 1)  # threads that decide larger requests, at most one per uid
NAME_THREADS = 4  # threads that look up user names, at most one per uid, because a lookup may hang

ASKED_AT_ONCE = 20_000
ASKED_PER_S = 100
"""Maximum numbers of requests that one uid may make at once, and per second from then on.

A request counts once for each INLINE_BYTES or part of it. With these limits, all requests of a user who submits 500
jobs a second in a loop are answered for 50 s, and an array of 10,000 jobs that all start at once can report every
start.
"""
PREVIEW_COUNTS = 10
"""Number of requests that one preview of a script's settings counts as.

A preview opens the database, which takes some milliseconds, while a decision takes a fraction of a millisecond. A user
may thus request 2,000 previews at once, and 10 per second from then on.
"""
TOLD_ONCE = (Behaviour.ALIKE, Behaviour.OTHERWISE)
COMPARISONS_MOST = 65_536
"""Maximum number of answers to `compare` that are kept (some 20 MB), to be repeated if the same job is compared again.
"""
REPORTED_AT_ONCE = 100_000
REPORTED_PER_S = 500
"""Maximum numbers of reports by root about one uid's jobs that are accepted at once, and per second from then on.

Thus ten arrays of 10,000 jobs may end at once.
"""


def new_decision_id(at: float) -> str:
    """Return a unique decision id; such ids sort by time, and their hyphen distinguishes them from job ids."""
    return f"{int(at * 1000):011x}-{secrets.token_hex(4)}"


def _counted(size: int) -> int:
    """Return the number of requests that a request of `size` bytes counts as."""
    return 1 + size // INLINE_BYTES


def _is_trusted(uid: int) -> bool:
    """Return whether reports by `uid` count as evidence.

    slurmstepd reports as root, replicas forward as root or as the daemon's user, and no job runs as either user.
    """
    return uid in (0, os.geteuid())


class Service:
    """Service that answers requests with the configuration, model and records of `basis`.

    `put` queues an entry that must be written before its request is answered; `put_later` queues an entry that is made
    after the answer.
    """

    def __init__(
        self,
        basis: Basis,
        put: Callable[[Entry], object],
        put_later: Callable[[Unmade], object],
        *,
        clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
        admins: Admins | None = None,
    ) -> None:
        self._basis = basis
        self._metrics = metrics or Metrics()
        self._clock = clock
        self._started = time.monotonic()
        self._names: dict[int, str] = {}
        self._throttle = Throttle()
        self._slow = FairThreads(SLOW_THREADS, 1, "linkage")
        self._looking_up = FairThreads(NAME_THREADS, 1, "names")
        self._programs = JobPrograms(basis, self._slow, put_later)
        self._patterns = UsualPatterns(basis, self._slow)
        self._asked = Allowance(ASKED_AT_ONCE, ASKED_PER_S)
        self._reported = Allowance(REPORTED_AT_ONCE, REPORTED_PER_S)
        self._trusted = (0, os.geteuid())
        self.volume = Volume()
        self._put = put
        self._blocks = Blocks()
        self._is_replica = basis.config.replica.records is not None  # a changed setting takes effect only at a restart
        told = admins.quarantined if admins else None
        self.watch = Watch(clock, judges=not self._is_replica, on_quarantine=told)
        self._told: FairStore[Behaviour] = FairStore(COMPARISONS_MOST)
        self._explainer = Explainer(basis.config.database.path, basis.config.site.cluster)

    def reload(self) -> None:
        """Reload configuration and model, and clear the cache of user names. Raises the errors of `Basis.reload`."""
        self._basis.reload()
        self._names.clear()

    def is_over(self, uid: int) -> bool:
        """Return whether the uid has used up its allowance; if so, none of its requests is answered at present."""
        return uid not in self._trusted and self._asked.left(uid) < 1

    def count(self, uid: int) -> None:
        """Charge the uid's allowance for a connection that sent no complete and valid frame."""
        if uid not in self._trusted and uid != UNKNOWN:
            self._asked.take(uid, 1)

    async def answer(self, body: bytes, uid: int, is_secret: bool = True) -> tuple[dict[str, Any], Unmade | None]:
        """Return the reply to a request, and the entry to write after the reply is sent. Never raises an Exception.

        `is_secret` is False if others on the network can read the reply.
        """
        begun = time.perf_counter()
        if uid not in self._trusted and not self._asked.take(uid, _counted(len(body))):
            return self._not_now(uid), None
        try:
            request = protocol.read_request(body)
            if isinstance(request, protocol.Decide):
                return await self._decide(request, uid, begun, len(body))
            if isinstance(request, protocol.Outcome | protocol.Identity):
                return self._heard(request, uid)
            if isinstance(request, protocol.Forward):
                return await self._forward(request, uid, len(body)), None
            if isinstance(request, protocol.Explain | protocol.Preview):
                return await self._explained(request, uid, len(body)), None
            if isinstance(request, protocol.Compare):
                return await self._compared(request, uid), None
            if isinstance(request, protocol.Token):
                return self._token(uid, is_secret), None
            uptime = time.monotonic() - self._started
            records = len(self._basis.knowledge)
            return protocol.pong_reply(version=__version__, records=records, uptime_s=uptime), None
        except ProtocolError as error:
            self._metrics.refused("request")
            self._throttle.warning(log, "bad-request", uid=uid, error=error)
            return protocol.error_reply(str(error)), None
        except Exception:  # a bug must affect this answer only; the job runs with default settings
            self._metrics.refused("defect")
            self._throttle.warning(log, "failed", trace=True, uid=uid)
            return protocol.error_reply("the matcher failed; its log says why"), None

    def _not_now(self, uid: int) -> dict[str, Any]:
        self._metrics.refused("rate")
        self._throttle.warning(log, "not-now", why="rate", uid=uid)
        return protocol.error_reply(protocol.NOT_NOW)

    async def _decide(
        self, request: protocol.Decide, uid: int, begun: float, size: int
    ) -> tuple[dict[str, Any], Unmade]:
        at = self._clock()
        question = Question(
            submission=request.submission,
            user=await self._user(uid),
            uid=uid,
            point=request.point,
            mode=request.mode,
            at=at,
            facts=request.job,
            allow_list=request.client.allow_list,
        )
        decision = new_decision_id(at)
        question = await self._with_knowledge(question, size, decision)
        arguments = (question, self._basis.knowledge, self._basis.policy, decision)
        if self._basis.inline and size <= INLINE_BYTES:
            made = answered(*arguments)
        else:
            made = await self._slow.run(uid, answered, *arguments)
        made = self._dealt(made, question)
        told = made.decision
        if request.mode == "explain" and made.used and (own := await self._explainer.own_gain(made.used.id, uid)):
            told = dataclasses.replace(told, reason=f"{told.reason}; {own}")
        elapsed_ms = (time.perf_counter() - begun) * 1e3
        self._metrics.decided(made.decision.verdict, elapsed_ms / 1e3)
        make = partial(decision_entry, made, elapsed_ms, self.volume, forward=self._is_replica)
        return protocol.decision_reply(told, made.score), Unmade(uid, size, make)

    async def _with_knowledge(self, question: Question, size: int, decision: str | None = None) -> Question:
        """Return the question with what the daemon knows about the job's program besides its submission."""
        inline = size <= INLINE_BYTES
        if self._programs.are_compared:
            question = await self._programs.identified(question, inline=inline, decision=decision)
        return await self._patterns.expected(question, inline=inline)

    async def _explained(self, request: protocol.Explain | protocol.Preview, uid: int, size: int) -> dict[str, Any]:
        """Explain a decision, or preview one; a preview takes no place in a hold-out block, and is not recorded."""
        if isinstance(request, protocol.Explain):
            return await self._explainer.reply(request, uid, self._basis.knowledge.engine.model)
        more = (PREVIEW_COUNTS - 1) * _counted(size)
        if uid not in self._trusted and not self._asked.take(uid, more):
            return self._not_now(uid)
        question = Question(request.submission, await self._user(uid), uid, "submit", "on", self._clock())
        question = await self._with_knowledge(question, size)
        return await self._explainer.preview(question, self._basis.knowledge, self._basis.policy)

    async def _compared(self, request: protocol.Compare, uid: int) -> dict[str, Any]:
        """Compare a job with its record; for another user's record, the first answer about the job is repeated.

        This prevents users from probing another user's record by sending varied data about one job.
        """
        if uid not in self._trusted and not self._asked.take(uid, PREVIEW_COUNTS - 1):
            return self._not_now(uid)
        found = await self._explainer.compare(request, uid)
        if not isinstance(found, Comparison):
            return found
        if found.hidden and found.verdict in TOLD_ONCE:
            first = self._told.get(uid, found.decision)
            self._told.put(uid, found.decision, first or found.verdict)
            found = dataclasses.replace(found, verdict=first or found.verdict)
        return protocol.comparison_reply(found.to_json())

    def _dealt(self, made: Decided, question: Question) -> Decided:
        """Return the decision, with the job's place in a hold-out block if the site holds out some jobs."""
        decision, record, share = made.decision, made.used, self._basis.config.matcher.holdout
        if decision.verdict != "apply" or record is None or not share or question.submission.command in REPORT_NO_END:
            return made
        job = decision.metadata
        kind = like(
            record.scope,
            nodes=job.get("nodes"),
            tasks=job.get("tasks"),
            application=job.get("program") or job.get("job_name") or "",
        )
        often_wrong = is_often_wrong(record, user=question.user, program=job.get("program") or "")
        in_doubt = self.watch.in_doubt(record.id, decision.uid, often_wrong=often_wrong)
        place = self._blocks.place(decision.uid, (record.id, kind), decision.id, share, in_doubt=in_doubt)
        self.watch.dealt(record.id, decision.uid)
        return made.placed(place, record)

    def _heard(self, report: protocol.Outcome | protocol.Identity, uid: int) -> tuple[dict[str, Any], Unmade | None]:
        if isinstance(report, protocol.Identity):
            self._programs.take(report, uid)
            return protocol.ok_reply(), None
        if uid in self._trusted and not self._reported.take(report.job.uid, 1):
            return self._not_now(report.job.uid), None
        return self._outcome(report, uid)

    def _outcome(self, outcome: protocol.Outcome, uid: int) -> tuple[dict[str, Any], Unmade]:
        if uid not in (0, outcome.job.uid):
            raise ProtocolError(
                f"outcome: job.uid is {outcome.job.uid}, the caller is {uid}: only root may report other users' jobs"
            )
        failed = outcome.exit_status != 0 if outcome.state == "ended" else None
        confirmed = outcome.state == "ended" and _is_trusted(uid)
        if outcome.state == "ended":
            self._patterns.read(outcome.job.uid)
        self._metrics.reported(outcome.state, outcome.verdict, failed)
        arguments = (outcome, self._basis.policy.cluster, self._clock(), self.watch, self.volume)
        make = partial(outcome_entry, *arguments, confirmed=confirmed, forward=self._is_replica)
        return protocol.ok_reply(self._programs.path_to_ask(outcome, uid)), Unmade(outcome.job.uid, 0, make)

    async def _forward(self, forward: protocol.Forward, uid: int, size: int) -> dict[str, Any]:
        """Queue forwarded rows; answer after they are written, because the replica deletes them after the answer."""
        if not _is_trusted(uid):
            raise ProtocolError(f"forward: the caller is {uid}: only root and the matcher's user may forward")
        loop = asyncio.get_running_loop()
        written: asyncio.Future[bool] = loop.create_future()

        def settle(succeeded: bool) -> None:
            if not written.done():
                written.set_result(succeeded)

        def done(succeeded: bool) -> None:
            loop.call_soon_threadsafe(settle, succeeded)

        def refused(error: Exception) -> None:
            self._throttle.warning(log, "refused-row", error=error)

        self._put(forwarded_entry(forward, self.watch, size, refused=refused, done=done))
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                if await written:
                    return protocol.ok_reply()
        except TimeoutError:
            pass
        return protocol.error_reply("the rows cannot be written now; the log says why: send the request again later")

    def _token(self, uid: int, is_secret: bool) -> dict[str, Any]:
        if not is_secret:
            raise ProtocolError(
                "token: others could read it on the network, because Slurm's auth/slurm does not encrypt: run this on "
                "the matcher's host, with the endpoint of its Unix socket"
            )
        if self._is_replica:
            raise ProtocolError("token: this matcher is a replica: ask the primary for a token")
        try:
            return protocol.token_reply(tokens.make(tokens.key_of(self._basis.config), uid))
        except tokens.TokenError as error:
            self._throttle.warning(log, "no-token", uid=uid, error=error)
            return protocol.error_reply("the matcher cannot make a token; its log says why")

    async def _user(self, uid: int) -> str:
        """Return the user's name, or the uid as text if the user has no name.

        Each name is looked up once, in a thread, because the lookup may use the network.
        """
        if uid not in self._names:
            try:
                entry = await self._looking_up.run(uid, pwd.getpwuid, uid)
            except KeyError:
                return str(uid)
            self._names[uid] = entry.pw_name
        return self._names[uid]
