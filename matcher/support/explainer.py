# SPDX-License-Identifier: Apache-2.0
"""Answers, read from the database, to users' requests for explanations, previews and comparisons.

These requests are handled in a separate thread, so that decisions do not wait for them.
"""

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
from reprise.matcher.benefit import own_gain, record_benefit
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

WAITING_LIMIT = 64  # maximum requests in the queue; further requests are refused. An answer takes a few milliseconds
WAITING_OF_ONE = 4  # maximum number of requests of one uid in the queue, so that no user delays other users
DECISIONS_LIMIT = 20  # maximum decisions in an explanation; a job has one or two, or more if it was requeued often
OUTCOMES_LIMIT = 1000  # maximum outcomes read for an explanation, about 300 bytes each; an array has one per task
TOLD_OUTCOMES_LIMIT = 100
COMPARED_LIMIT = 200  # maximum number of a user's latest jobs with a record that are compared
OWN_GAIN_S = 0.04
"""Seconds that a submission with --reprise=explain waits for the gain of the user's jobs, which takes some 5 ms.

The plugin waits 0.1 s for the whole decision by default.
"""


class Explainer:
    """Source of answers from the database at `path`, about jobs of `cluster` unless a request names another cluster."""

    def __init__(self, path: Path, cluster: str) -> None:
        self._path = path
        self._cluster = cluster
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="explainer")
        self._throttle = Throttle()
        self._waiting: Counter[int] = Counter()

    async def reply(self, asked: protocol.Explain, uid: int, model: Model) -> dict[str, Any]:
        """Return the explanation of a job for the user `uid`, given the model in force.

        Users see no details of other users' jobs; root sees everything.
        """
        return await self._in_turn(uid, self._reply, asked, uid, model)

    async def preview(self, question: Question, knowledge: Knowledge, policy: Policy) -> dict[str, Any]:
        """Return a preview of the decision that the caller's submission would get now.

        The reply reveals no details of other users' records, except to root. Nothing is written, and the preview takes
        no place in a hold-out block.
        """
        return await self._in_turn(question.uid, self._preview, question, knowledge, policy)

    async def compare(self, asked: protocol.Compare, uid: int) -> Comparison | dict[str, Any]:
        """Compare a job of `uid` with its record; if the request fails, return an error reply instead.

        Root may compare any user's job.
        """
        return await self._in_turn(uid, self._compare, asked, uid)

    async def own_gain(self, record_id: int, uid: int) -> str:
        """Return what a record gains for the user's own jobs, as a clause; "" if the database does not answer in time.

        A submission waits for the answer, so the time is limited.
        """
        try:
            async with asyncio.timeout(OWN_GAIN_S):
                found = await self._in_turn(uid, self._own_gain, record_id, uid)
        except TimeoutError:
            return ""
        return found if isinstance(found, str) else ""

    async def _in_turn(self, uid: int, work: Callable[..., T], *arguments: Any) -> T | dict[str, Any]:
        if self._waiting[uid] >= WAITING_OF_ONE or self._waiting.total() >= WAITING_LIMIT:
            return protocol.error_reply("too many requests for explanations are waiting: try again later")
        self._waiting[uid] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
        except DatabaseError as error:
            self._throttle.warning(log, "explain-failed", uid=uid, error=error)
            return protocol.error_reply("the matcher cannot read its database: see its log")
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

    def _own_gain(self, record_id: int, uid: int) -> str:
        with SupportDatabase.open(self._path, read_only=True) as database:
            since = record_benefit.since(database.record(record_id))
            return own_gain.told(database.lately_compared_of(record_id, uid, COMPARED_LIMIT, since=since).latest)

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
    """Return the part of a story that is about the user's own jobs; for root, return the whole story."""
    if uid == 0:
        return story
    decisions = [one for one in story.decisions if one.decision.uid == uid]
    return dataclasses.replace(
        story, decisions=decisions, outcomes=[outcome for outcome in story.outcomes if outcome.uid == uid]
    )


def _fitting(story: Story) -> dict[str, Any]:
    """Return the reply, without patterns, and with fewer shares of forwarders and decisions, if it fits no frame."""
    while True:
        reply = protocol.explanation_reply(story.to_json())
        try:
            protocol.frame(reply)
            return reply
        except ProtocolError as error:
            if story.patterns:
                story = dataclasses.replace(story, patterns={}, more=True)
                continue
            if story.forwarders:
                story = dataclasses.replace(story, forwarders=story.forwarders[: len(story.forwarders) // 2], more=True)
                continue
            fewer = story.decisions[: len(story.decisions) // 2]
            if not fewer:
                return protocol.error_reply(f"{error}: ask support staff, who can read the database")
            story = dataclasses.replace(story, decisions=fewer, more=True)
