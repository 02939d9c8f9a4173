# SPDX-License-Identifier: Apache-2.0
"""What the daemon tells a user about a job of theirs."""

from __future__ import annotations

from reprise.config import Config
from reprise.endpoint import configured
from reprise.matcher.errors import MatcherError
from reprise.matcher.support.job_story import Story
from reprise.matcher.wire.client import ask_in_order, explain_request
from reprise.matcher.wire.protocol import EXPLANATION_LIMIT

DAEMON_TIMEOUT_S = 5.0


def story_of(config: Config, job: str, cluster: str | None) -> Story:
    """The answer of the first matcher that decided about the job; else of one that the job reported to; else nothing.

    Raises MatcherError where no matcher says anything, DaemonUnreachableError where none answers.
    """
    told: list[Story] = []
    refused: list[str] = []
    for endpoint, reply in ask_in_order(
        configured(config.matcher),
        explain_request(job, cluster),
        matcher_uid=config.matcher.uid,
        munge_socket=str(config.matcher.munge_socket or ""),
        timeout_s=DAEMON_TIMEOUT_S,
        limit=EXPLANATION_LIMIT,
    ):
        if reply.get("kind") == "explanation":
            told.append(Story.from_json(reply.get("story")))
        else:
            refused.append(f"{endpoint}: the matcher does not say why: {reply.get('reason')}")
        if told and told[-1].decisions:
            return told[-1]
    if refused and not any(told):
        raise MatcherError("; ".join(refused))
    return next(filter(None, told), Story())
