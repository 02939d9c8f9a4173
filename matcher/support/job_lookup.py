# SPDX-License-Identifier: Apache-2.0
"""Lookup of a job's decisions and reports, in the database or, if the caller cannot read it, through the daemon."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reprise.database.errors import AccessError, MissingError
from reprise.database.for_support import SupportDatabase
from reprise.matcher.errors import DaemonUnreachableError, MatcherError, NothingKnownError
from reprise.matcher.support import job_story, slurm_job, staff
from reprise.matcher.support.explanation import elsewhere_text, silence_text, unknown_text, waiting_text
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.job_story import Story, check_name
from reprise.matcher.support.jobs import run_time_rank
from reprise.matcher.support.slurm_job import submit_time, user, waits

# Without these, and what they import, a stored decision is shown in less than half the time.
if TYPE_CHECKING:
    from reprise.config import Config
    from reprise.matcher.decision.decide import Knowledge, Question
    from reprise.matcher.linkage.linkage_model import Model
    from reprise.matcher.submission.metadata import JobMetadata
    from reprise.matcher.support.jobs.run_time_rank import Beside
    from reprise.matcher.support.staff import Reader

SLURM_CLOCK_S = 1.0
"""Resolution of Slurm's times, in seconds; a job may have been submitted at any moment of the reported second."""
READING_S = 2.0
"""Seconds after which reading a program's file stops; the limit may be long, since no submission waits."""
SUBMISSION_S = 2.0
"""Maximum time in seconds between a decision and the submission of its job to Slurm."""


def known(config: Config, job: str, cluster: str | None) -> Story:
    """Return all information about a job that the caller may see.

    The information comes from the database or its snapshot. If the caller can read neither, or if the snapshot lacks
    the job, it comes from the daemon. Raises NothingKnownError if there is no information, DaemonUnreachableError if
    the database cannot be read and no daemon answers.
    """
    return _known(config, job, cluster, is_compared=False)[0]


def known_and_compared(config: Config, job: str, cluster: str | None) -> tuple[Story, Beside | None]:
    """Return what `known` returns, and how the job's run time compares with the run times of other jobs.

    The comparison is None if the job has no record, or if the information comes from the daemon.
    """
    return _known(config, job, cluster, is_compared=True)


def known_to_owner(config: Config, job: str, cluster: str | None) -> tuple[Story, Beside | None]:
    """Return what `known_and_compared` returns, without what the job's own user may not see, even if the caller may."""
    story, rank = _known(config, job, cluster, is_compared=True, for_owner=True)
    return hide(story, _owner(story)), rank


def _owner(story: Story) -> int:
    """Return the uid of a job's user, from the newest report or decision."""
    return story.outcomes[0].uid if story.outcomes else story.decisions[0].decision.uid


def _known(
    config: Config, job: str, cluster: str | None, *, is_compared: bool, for_owner: bool = False
) -> tuple[Story, Beside | None]:
    try:
        database = SupportDatabase.open_to_read(config.database.path, config.database.snapshot)
    except (AccessError, MissingError) as error:  # the database is another user's, or on another host
        return _from_daemon(config, job, cluster, error), None
    with database:
        me = staff.reader(config.access.staff)
        try:
            story = for_reader(of_job(database, config, job, cluster), me, job)
        except NothingKnownError as error:
            if database.path == config.database.path:
                raise
            return _from_daemon(config, job, cluster, error), None
        if for_owner:
            me = staff.Reader(_owner(story), staff=False)
        return story, run_time_rank.of_story(database, story, me) if is_compared else None


def for_reader(told: Story, reader: Reader, job: str) -> Story:
    """Return the part of a story that the reader may see. Raises NothingKnownError if there is nothing to see."""
    if reader.staff:
        return told
    seen = hide(told, reader.uid)
    if not seen:
        raise NothingKnownError(unknown_text(job))
    return seen


def _from_daemon(config: Config, job: str, cluster: str | None, why_not_read: Exception) -> Story:
    from reprise.matcher.support import asking_daemon

    check_name(job)
    said: Mapping[str, str] = {}
    try:
        told = asking_daemon.story_of(config, job, cluster)
        if not told:
            said = slurm_job.slurm_says(job, cluster)
            for name, number in _other_places(None, job, said, cluster):
                told = told or asking_daemon.story_of(config, number, name)
    except DaemonUnreachableError as error:
        raise DaemonUnreachableError(f"{why_not_read}; and {error}") from error
    if not told:
        raise NothingKnownError(waiting_text(job, ()) if waits(said) else unknown_text(job))
    return told


def of_job(database: SupportDatabase, config: Config, job: str, cluster: str | None, ask_slurm: bool = True) -> Story:
    """Return all information about a job in the database.

    If the database has none and `ask_slurm` is True, Slurm is asked for the job's own number, for the name of its
    cluster, which may differ from `site.cluster`, and for hints at why there is no information. Raises
    NothingKnownError with the reason, as far as it can be found.
    """
    model = _model(config)
    ran_on = cluster or config.site.cluster
    told = job_story.of_job(database, ran_on, job, model)
    if told:
        return told
    if not ask_slurm:
        raise NothingKnownError(unknown_text(job))
    said = slurm_job.slurm_says(job, cluster)
    for name, number in _other_places(ran_on, job, said, cluster):
        told = told or job_story.of_job(database, name or ran_on, number, model)
    if not told:
        raise NothingKnownError(_silence(database, job, said, ran_on))
    return told


def _other_places(
    ran_on: str | None, job: str, said: Mapping[str, str], cluster: str | None
) -> Iterator[tuple[str | None, str]]:
    """Yield further (cluster, number) pairs to look up for a job that was not found on `ran_on` as `job`.

    `said` is Slurm's information about the job, and `cluster` the cluster that the caller asked for. `ran_on` is None
    if only the daemon knows which cluster it searched.
    """
    number = said.get("JobId", job)
    if number != job:  # an array task, whose own number Slurm still has
        yield cluster or ran_on, number
    if not cluster and (name := slurm_job.cluster_name()) and name != ran_on:
        yield from ((name, one) for one in dict.fromkeys((job, number)))


def _silence(database: SupportDatabase, job: str, said: Mapping[str, str], ran_on: str) -> str:
    """Return the reason, as far as known, why the database lacks a job of the cluster `ran_on`.

    `said` is Slurm's information about the job.
    """
    number = re.fullmatch(job_story.JOB_ID, job)
    elsewhere = database.clusters_of_job(int(number[1])) if number else ()
    reason = _reason(database, job, said)
    return elsewhere_text(job, ran_on, elsewhere, reason) if elsewhere else reason


def _reason(database: SupportDatabase, job: str, said: Mapping[str, str]) -> str:
    submitted = submit_time(said)
    if submitted is None:
        return silence_text(job, None, False, None, None)
    if waits(said):
        asked = database.decisions_without_job(user(said), submitted - SUBMISSION_S, submitted + SLURM_CLOCK_S)
        if asked:
            return waiting_text(job, asked)
    before, after = database.service_runs_around(submitted)
    first, last = (database.service_run_at(at) for at in (submitted, submitted + SLURM_CLOCK_S))
    served = first is not None and first == last
    return silence_text(job, submitted, served, before, after)


def of_script(database: SupportDatabase, config: Config, question: Question) -> Story:
    """Return the decision that a script would get now, without logging the decision.

    The script's program, and the access patterns of its earlier runs, are found in the same way as by the daemon.
    """
    from reprise.matcher.decision.configured import policy_of
    from reprise.matcher.decision.decide import understood
    from reprise.matcher.support.imagined_decision import imagined
    from reprise.matcher.support.program_patterns import kinds_of_programs, with_kinds

    known = knowledge(database, config)
    if config.matcher.identity and known.engine.model.compares_program_files:
        question = dataclasses.replace(question, metadata=_identified(database, question))
    if known.engine.model.compares_io_patterns:
        kinds = kinds_of_programs(database, question.uid, question.at)
        question = dataclasses.replace(question, metadata=with_kinds(understood(question), kinds))
    return imagined(database, question, known, policy_of(config))


def _identified(database: SupportDatabase, question: Question) -> JobMetadata:
    """Return the job with its program's identity, read from the program's file or from a report of an earlier job."""
    from reprise.matcher.decision.decide import understood
    from reprise.matcher.identity.identify import Identifier
    from reprise.matcher.submission.program_file import program_file
    from reprise.matcher.submission.program_identity import UNKNOWN, identity_in
    from reprise.matcher.support.told_identities import told_identities

    job = understood(question)
    found = Identifier().identified(job, time.monotonic() + READING_S)
    if identity_in(found) != UNKNOWN or not program_file(job):
        return found
    told = [one for one in told_identities(database, question.uid, question.at) if one.path == program_file(job)]
    return dataclasses.replace(job, **vars(told[-1].identity)) if told else job


def script_from_daemon(config: Config, question: Question, why_not_read: Exception) -> Story:
    """Return the daemon's preview of a script, for callers who cannot read the database.

    Raises MatcherError for another user's script, DaemonUnreachableError if no daemon answers.
    """
    from reprise.matcher.support import asking_daemon

    if question.uid != os.geteuid():
        raise MatcherError(f"{why_not_read}; the matcher previews a user's own scripts only: leave out --user")
    try:
        return asking_daemon.story_of_script(config, question.submission)
    except DaemonUnreachableError as error:
        raise DaemonUnreachableError(f"{why_not_read}; and {error}") from error


def knowledge(database: SupportDatabase, config: Config) -> Knowledge:
    """Return the database's records and the model in force, ready for linkage."""
    from reprise.matcher.decision.configured import knowledge_of, model_of

    return knowledge_of(database.record_texts(), model_of(config), config)


def _model(config: Config) -> Model | None:
    """Return the model in force; None if it cannot be loaded, since logged decisions can be explained without it."""
    from reprise.matcher.linkage.linkage_model import LinkageError, load

    try:
        return load(config.matcher.model, config.matcher.threshold)
    except LinkageError:
        return None
