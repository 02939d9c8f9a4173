# SPDX-License-Identifier: Apache-2.0
"""Requests to the daemon about a user's job, or about a script that has not been submitted yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprise.config import Config
from reprise.endpoint import Endpoint, configured
from reprise.matcher.benefit.profile_distance import Profiled
from reprise.matcher.errors import MatcherError
from reprise.matcher.submission import Submission
from reprise.matcher.support.behaviour import Comparison
from reprise.matcher.support.job_story import Story
from reprise.matcher.wire.client import ask_in_order, compare_request, explain_request, preview_request
from reprise.matcher.wire.credentials import credential_settings
from reprise.matcher.wire.protocol import EXPLANATION_LIMIT

DAEMON_TIMEOUT_S = 5.0


def story_of(config: Config, job: str, cluster: str | None) -> Story:
    """Return the daemon's explanation of a job.

    The explanation comes from the first matcher that made a decision about the job or, if no matcher did, from the
    first one that received a report of the job. If no matcher knows the job, the story is empty. Raises MatcherError if
    a matcher refuses and no other one knows the job, DaemonUnreachableError if no matcher answers.
    """
    return _story(config, explain_request(job, cluster), "the matcher cannot explain the job")


def story_of_script(config: Config, submission: Submission) -> Story:
    """Return the decision about a script by the first matcher that answers. Raises the errors of `story_of`."""
    return _story(config, preview_request(submission), "the matcher cannot preview the script")


def comparison(config: Config, job: str, cluster: str | None, profile: Profiled) -> Comparison:
    """Return the comparison of a job's profile with its record's profile, by the first matcher that has the record."""
    told: list[Comparison] = []
    refused: list[str] = []
    shares = {name: min(1.0, share) for name, share in profile.shares.items()}
    request = compare_request(job, cluster, shares, min(1.0, profile.waiting))
    for endpoint, reply in _replies(config, request):
        if reply.get("kind") == "comparison":
            told.append(Comparison.from_json(reply))
        else:
            refused.append(f"{endpoint}: the matcher cannot compare profiles: {reply.get('reason')}")
        if told and told[-1].record is not None:
            return told[-1]
    if not told:
        raise MatcherError("; ".join(refused))
    return told[0]


def _replies(config: Config, request: Mapping[str, Any]) -> Iterator[tuple[Endpoint, dict[str, Any]]]:
    return ask_in_order(
        configured(config.matcher),
        request,
        matcher_uid=config.matcher.uid,
        credential=credential_settings(config.matcher),
        timeout_s=DAEMON_TIMEOUT_S,
        limit=EXPLANATION_LIMIT,
    )


def _story(config: Config, request: Mapping[str, Any], without: str) -> Story:
    """Return the first story with a decision, or else any story; `without` begins the messages about refusals."""
    told: list[Story] = []
    refused: list[str] = []
    for endpoint, reply in _replies(config, request):
        if reply.get("kind") == "explanation":
            told.append(Story.from_json(reply.get("story")))
        else:
            refused.append(f"{endpoint}: {without}: {reply.get('reason')}")
        if told and told[-1].decisions:
            return told[-1]
    if refused and not any(told):
        raise MatcherError("; ".join(refused))
    return next(filter(None, told), Story())
