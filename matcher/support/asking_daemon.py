# SPDX-License-Identifier: Apache-2.0
"""What the daemon tells users: about a job of theirs, or about a script that they have not submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise.config import Config
from reprise.endpoint import configured
from reprise.matcher.errors import MatcherError
from reprise.matcher.submission import Submission
from reprise.matcher.support.job_story import Story
from reprise.matcher.wire.client import ask_in_order, explain_request, preview_request
from reprise.matcher.wire.protocol import EXPLANATION_LIMIT

DAEMON_TIMEOUT_S = 5.0


def story_of(config: Config, job: str, cluster: str | None) -> Story:
    """The answer of the first matcher that decided about the job; else of one that the job reported to; else nothing.

    Raises MatcherError where no matcher says anything, DaemonUnreachableError where none answers.
    """
    return _story(config, explain_request(job, cluster), "the matcher does not say why")


def story_of_script(config: Config, submission: Submission) -> Story:
    """What the first matcher that answers says the caller's job would be given. Raises as `story_of`."""
    return _story(config, preview_request(submission), "the matcher does not say what the script would be given")


def _story(config: Config, request: Mapping[str, Any], without: str) -> Story:
    """`without`: how an error begins where a matcher answers, and tells nothing."""
    told: list[Story] = []
    refused: list[str] = []
    for endpoint, reply in ask_in_order(
        configured(config.matcher),
        request,
        matcher_uid=config.matcher.uid,
        munge_socket=str(config.matcher.munge_socket or ""),
        timeout_s=DAEMON_TIMEOUT_S,
        limit=EXPLANATION_LIMIT,
    ):
        if reply.get("kind") == "explanation":
            told.append(Story.from_json(reply.get("story")))
        else:
            refused.append(f"{endpoint}: {without}: {reply.get('reason')}")
        if told and told[-1].decisions:
            return told[-1]
    if refused and not any(told):
        raise MatcherError("; ".join(refused))
    return next(filter(None, told), Story())
