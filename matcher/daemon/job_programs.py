# SPDX-License-Identifier: Apache-2.0
"""Identification of jobs' programs, by their files if the daemon can read them, otherwise by the jobs' reports."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial

from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import Throttle
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.event_rows import told_entry
from reprise.matcher.daemon.pending_writes import Unmade
from reprise.matcher.daemon.program_files import ProgramFiles
from reprise.matcher.daemon.told_programs import ToldPrograms
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.decision.decide import Question, understood
from reprise.matcher.identity.identify import identity_of_script
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import UNKNOWN, ProgramIdentity, identity_in
from reprise.matcher.support.told_identities import Told, told_identities
from reprise.matcher.wire import protocol

log = logging.getLogger(__name__)

HAVE_SCRIPTS = ("sbatch", "batch")
"""Commands whose jobs report their start; the daemon's reply to this report can request the program's identity."""
TAKEN_AT_ONCE = 16
"""Maximum number of one user's answers that wait to be parsed, at most 128 KiB each; further answers are ignored.

All answers are acknowledged before they are parsed, so that no job waits for the parsing.
"""


class JobPrograms:
    """Identification of jobs' programs; only the thread of the event loop may use it.

    `slow` is a pool of threads for slow work. `put_later` queues an entry to be written after the entries of the user's
    earlier requests.
    """

    def __init__(self, basis: Basis, slow: FairThreads, put_later: Callable[[Unmade], object]) -> None:
        self._basis = basis
        self._slow = slow
        self._put_later = put_later
        self._taking: dict[asyncio.Future[None], int] = {}  # answers being parsed, with their uids
        self._throttle = Throttle()
        self._files = ProgramFiles()
        self._told = ToldPrograms(self._stored)

    @property
    def are_compared(self) -> bool:
        """Whether decisions use the contents of programs' files; configuration and model must both allow it."""
        return self._basis.config.matcher.identity and self._basis.knowledge.engine.model.compares_program_files

    async def identified(self, question: Question, *, inline: bool, decision: str | None = None) -> Question:
        """Return the question with its job's metadata, including the program's identity if it is found in time.

        If the decision's id is given as `decision` and the daemon cannot read the program's file, the job will be
        asked, when it starts, to identify its program.
        """
        job = understood(question) if inline else await self._slow.run(question.uid, understood, question)
        found = await self._files.identified(job, question.uid)
        if identity_in(found) == UNKNOWN:
            found = await self._told.identified(job, question.uid)
            may_be_asked = question.submission.command in HAVE_SCRIPTS and not self._files.is_late(question.uid)
            if decision and program_file(job) and may_be_asked:
                self._told.want(decision, question.uid, program_file(job))
        return dataclasses.replace(question, metadata=found)

    def path_to_ask(self, outcome: protocol.Outcome, uid: int) -> str | None:
        """Return the path of the program that a starting job is to identify; None if it need not identify any."""
        return (
            self._told.path_to_ask(outcome.decision, uid) if outcome.state == "started" and self.are_compared else None
        )

    def take(self, answer: protocol.Identity, uid: int) -> None:
        """Parse a job's answer in the background, because parsing a script takes 5 ms.

        Ignore answers that were not requested, and those beyond TAKEN_AT_ONCE of one uid.
        """
        path = self._told.answered(answer.decision, uid)
        if path is not None and list(self._taking.values()).count(uid) < TAKEN_AT_ONCE:
            taking = asyncio.ensure_future(self._take(answer, uid, path))
            self._taking[taking] = uid
            taking.add_done_callback(self._taking.pop)

    async def _take(self, answer: protocol.Identity, uid: int, path: str) -> None:
        try:
            identity = await self._understood(answer, uid)
        except Exception as error:  # a bug must affect this answer only
            self._throttle.warning(log, "not-identified", error=repr(error))
            return
        at = self._told.remember(uid, path, identity).at
        self._put_later(Unmade(uid, 0, partial(told_entry, answer.decision, uid, vars(identity), at)))

    async def _understood(self, answer: protocol.Identity, uid: int) -> ProgramIdentity:
        if answer.script is not None:
            return await self._slow.run(uid, identity_of_script, answer.script)
        return ProgramIdentity(
            answer.build_id, answer.functions, answer.imports, answer.contents, answer.runtime, answer.mpi_library
        )

    def _stored(self, uid: int, now: float) -> Sequence[Told]:
        with DaemonDatabase.open(self._basis.config.database.path, read_only=True) as database:
            return told_identities(database, uid, now)
