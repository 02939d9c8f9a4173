# SPDX-License-Identifier: Apache-2.0
"""Tells users why their own jobs got what they got, out of the database, and what a script of theirs would get, in a
thread of its own: no decision waits."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from reprise.database import DatabaseError
from reprise.database.for_support import SupportDatabase
from reprise.eventlog import Throttle
from reprise.matcher.decision.decide import Knowledge, Question
from reprise.matcher.decision.guards import Policy
from reprise.matcher.errors import NothingKnownError, ProtocolError
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.support.behaviour import Comparison, compare
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.imagined_decision import imagined
from reprise.matcher.support.job_story import Limits, Story, of_job
from reprise.matcher.wire import protocol

log = logging.getLogger(__name__)

T = TypeVar("T")

WAITING_LIMIT = 64  # who asks when so many are waiting is told to ask again; an answer takes a few milliseconds
WAITING_OF_ONE = 4  # of one uid, so that nobody keeps the others from being told
DECISIONS_LIMIT = 20  # a job has one or two, more if it was requeued often
OUTCOMES_LIMIT = 1000  # an array has as many as tasks; about 300 bytes each
TOLD_OUTCOMES_LIMIT = 100


class Explainer:
    """What the database at `path` knows of jobs, of `cluster` unless another is named."""

    def __init__(self, path: Path, cluster: str) -> None:
        self._path = path
        self._cluster = cluster
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="explainer")
        self._throttle = Throttle()
        self._waiting: Counter[int] = Counter()

    async def reply(self, asked: protocol.Explain, uid: int, model: Model) -> dict[str, Any]:
        """The reply to `uid`: of another user's job nothing is known to them; root is told everything.

        `model` is the one in force.
        """
        return await self._in_turn(uid, self._reply, asked, uid, model)

    async def preview(self, question: Question, knowledge: Knowledge, policy: Policy) -> dict[str, Any]:
        """What the user who asks would be given, with nothing that other users' records would tell; root is told
        everything. Nothing is written, and no place is taken among jobs that are compared."""
        return await self._in_turn(question.uid, self._preview, question, knowledge, policy)

    async def compare(self, asked: protocol.Compare, uid: int) -> Comparison | dict[str, Any]:
        """Whether a job of `uid`'s behaves as its record, or the reply that says why nobody knows; root is told of all
        jobs."""
        return await self._in_turn(uid, self._compare, asked, uid)

    async def _in_turn(self, uid: int, work: Callable[..., T], *arguments: Any) -> T | dict[str, Any]:
        if self._waiting[uid] >= WAITING_OF_ONE or self._waiting.total() >= WAITING_LIMIT:
            return protocol.error_reply("too many are waiting to be told why: ask again")
        self._waiting[uid] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
        except DatabaseError as error:
            self._throttle.warning(log, "explain-failed", uid=uid, error=error)
            return protocol.error_reply("the matcher cannot read its database; its log says why")
        finally:
            self._waiting[uid] -= 1
            if not self._waiting[uid]:
                del self._waiting[uid]

    def _reply(self, asked: protocol.Explain, uid: int, model: Model) -> dict[str, Any]:
        limits = Limits(uid or None, DECISIONS_LIMIT, OUTCOMES_LIMIT)
        with SupportDatabase.open(self._path, read_only=True) as database:
            try:
                story = of_job(database, asked.cluster or self._cluster, asked.job, model, limits)
            except NothingKnownError:
                story = Story()
        told = story.outcomes[:TOLD_OUTCOMES_LIMIT]
        story = dataclasses.replace(story, outcomes=told, more=story.more or len(told) < len(story.outcomes))
        return _fitting(story if uid == 0 else hide(story, uid))

    def _compare(self, asked: protocol.Compare, uid: int) -> Comparison:
        limits = Limits(uid or None, DECISIONS_LIMIT, OUTCOMES_LIMIT)
        with SupportDatabase.open(self._path, read_only=True) as database:
            try:
                story = of_job(database, asked.cluster or self._cluster, asked.job, None, limits)
            except NothingKnownError:
                story = Story()
            return compare(database, _own(story, uid), asked, uid or None)

    def _preview(self, question: Question, knowledge: Knowledge, policy: Policy) -> dict[str, Any]:
        with SupportDatabase.open(self._path, read_only=True) as database:
            story = imagined(database, question, knowledge, policy)
        return _fitting(story if question.uid == 0 else hide(story, question.uid))


def _own(story: Story, uid: int) -> Story:
    """What is about the user's own jobs; root's are all."""
    if uid == 0:
        return story
    decisions = [one for one in story.decisions if one.decision.uid == uid]
    return dataclasses.replace(
        story, decisions=decisions, outcomes=[outcome for outcome in story.outcomes if outcome.uid == uid]
    )


def _fitting(story: Story) -> dict[str, Any]:
    """The reply, with as many decisions as it can hold, the newest of them."""
    while True:
        reply = protocol.explanation_reply(story.to_json())
        try:
            protocol.frame(reply)
            return reply
        except ProtocolError as error:
            fewer = story.decisions[: len(story.decisions) // 2]
            if not fewer:
                return protocol.error_reply(f"{error}: ask those who may read the database")
            story = dataclasses.replace(story, decisions=fewer, more=True)
