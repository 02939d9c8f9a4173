# SPDX-License-Identifier: Apache-2.0
"""`reprise match explain` and `reprise match top`: for the people who are asked why."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matcher.errors import DaemonUnreachableError, MatcherError, NothingKnownError

if TYPE_CHECKING:
    from database import Database
    from matcher.decide import Knowledge, Question
    from matcher.linkage.model import Model
    from matcher.story import Story
    from reprise.cli import Settings
    from reprise.config import Config

SLURM_CLOCK_S = 1.0  # Slurm tells whole seconds: a job was submitted at some moment of the one that it names
SUBMISSION_S = 2.0  # from the decision until Slurm has the job
DAEMON_TIMEOUT_S = 5.0
TOP = 10  # records, unless said otherwise
TOP_LIMIT = 1000


class _WithScript(click.Command):
    """A command that may be asked about a script: an option that it does not know may have been meant for sbatch."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(f"{error.format_message()} (Options for sbatch follow after `--`.)", ctx) from error


def _asks(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands take."""
    for option in (
        click.argument("words", nargs=-1, metavar="[JOB | --script FILE [-- SBATCH OPTIONS]]"),
        click.option("--json", "as_json", is_flag=True, help="For programs."),
        click.option(
            "-M",
            "--cluster",
            metavar="NAME",
            callback=lambda _context, _option, name: name and name.lower(),
            help="With JOB: where it ran, if not on the site's cluster.",
        ),
        click.option(
            "--directory",
            type=click.Path(path_type=Path, file_okay=False),
            help="With --script: as if submitted from there.",
        ),
        click.option("--user", help="With --script: as if this user submitted it; you, unless given."),
        click.option(
            "--script",
            type=click.Path(path_type=Path, dir_okay=False),
            help="A batch script that nobody has submitted, instead of JOB. Options for sbatch, and then the script's "
            "own arguments, follow after `--`.",
        ),
    ):
        command = option(command)
    return command


def _checked(
    words: tuple[str, ...], script: Path | None, user: str | None, directory: Path | None, cluster: str | None
) -> None:
    if script is None and len(words) != 1:
        raise click.UsageError("give one JOB, or --script FILE")
    if script is None and (user or directory):
        raise click.UsageError("--user and --directory go with --script FILE")
    if script and cluster:
        raise click.UsageError("--cluster goes with JOB; for a script, -M follows after `--`")


@click.command(cls=_WithScript)
@_asks
@click.option("--hide-others", is_flag=True, help="Without other users' words, to be passed on to the job's user.")
@click.pass_obj
def explain(
    settings: Settings,
    words: tuple[str, ...],
    script: Path | None,
    user: str | None,
    directory: Path | None,
    cluster: str | None,
    as_json: bool,
    hide_others: bool,
) -> None:
    """Say why JOB got what it got, or what a script would be given now.

    JOB is a job id (4711, or 4711_3 for an array task) or a decision's id; exit status 3: nothing is known of it. With
    --script FILE, nothing is submitted or logged. Who may not read the database, or is not on its host, is told of
    their own jobs, by the daemon, without other users' words.
    """
    from matcher import report
    from matcher.hidden import hide
    from matcher.jobs.staff import reader

    _checked(words, script, user, directory, cluster)
    config = settings.config
    if script:
        me = reader(config.access.staff)
        with _open(config) as database:
            asked = _question(script, words, user, directory)
            if not me.sees(asked.uid):
                me.require_staff("may ask what other users would be given")
            story = _of_script(database, config, asked)
        if not me.staff:
            story = hide(story, me.uid)
    else:
        story = _known(config, words[0], cluster)
    if hide_others:
        story = hide(story, (story.decisions[0].decision if story.decisions else story.outcomes[0]).uid)
    if as_json:
        _print_json(story.to_json())
    else:
        report.show(report.console(), story)


@click.command(cls=_WithScript)
@_asks
@click.option(
    "-n", "count", metavar="N", type=click.IntRange(1, TOP_LIMIT), default=TOP, show_default=True, help="How many."
)
@click.pass_obj
def top(
    settings: Settings,
    words: tuple[str, ...],
    script: Path | None,
    user: str | None,
    directory: Path | None,
    cluster: str | None,
    count: int,
    as_json: bool,
) -> None:
    """Show the records nearest to JOB, or to a script, as they are now, and what makes the difference."""
    from matcher import nearest, report
    from matcher.jobs.staff import reader
    from matcher.metadata import JobMetadata
    from matcher.secrets import masked
    from matcher.service import policy_of
    from matcher.submission import parse

    _checked(words, script, user, directory, cluster)
    config = settings.config
    reader(config.access.staff).require_staff("may be shown whose jobs are near")
    with _open(config) as database:
        if script:
            asked = _question(script, words, user, directory)
            job = masked(parse(asked.submission, user=asked.user, submit_time=asked.at))
        else:
            decisions = of_job(database, config, words[0], cluster).decisions
            if not decisions:
                raise NothingKnownError(f"no decision was made for job {words[0]}: there is nothing to compare")
            job = JobMetadata.from_json(decisions[0].decision.metadata)
        found = nearest.top(job, _knowledge(database, config), policy_of(config), count)
    if as_json:
        _print_json(found.to_json())
    else:
        report.show_top(report.console(), found)


def _known(config: Config, job: str, cluster: str | None) -> Story:
    """What is known of a job: all that the database has, or what the daemon tells its user."""
    from database import Database
    from database.errors import AccessError, MissingError
    from matcher.explain import unknown_text
    from matcher.hidden import hide
    from matcher.jobs.staff import reader

    try:
        database = Database.open(config.database.path, read_only=True)
    except (AccessError, MissingError) as error:  # it is another user's, or on another host
        return _told(config, job, cluster, error)
    me = reader(config.access.staff)
    with database:
        story = of_job(database, config, job, cluster)
    if not me.staff:
        story = hide(story, me.uid)
        if not story:
            raise NothingKnownError(unknown_text(job))
    return story


def _told(config: Config, job: str, cluster: str | None, why_not_read: Exception) -> Story:
    from matcher.explain import unknown_text, waiting_text
    from matcher.slurm_job import slurm_says, waits
    from matcher.story import check_name

    check_name(job)
    said: Mapping[str, str] = {}
    try:
        story = _asked(config, job, cluster)
        if not story:
            said = slurm_says(job, cluster)
            if said.get("JobId", job) != job:  # as in of_job
                story = _asked(config, said["JobId"], cluster)
    except DaemonUnreachableError as error:
        raise DaemonUnreachableError(f"{why_not_read}; and {error}") from error
    if not story:
        raise NothingKnownError(waiting_text(job, ()) if waits(said) else unknown_text(job))
    return story


def _asked(config: Config, job: str, cluster: str | None) -> Story:
    """Of several matchers, what the first says that decided about it; else one that the job reported to."""
    from matcher.client import ask_in_order, explain_request
    from matcher.endpoint import configured
    from matcher.protocol import EXPLANATION_LIMIT
    from matcher.story import Story

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


def of_job(database: Database, config: Config, job: str, cluster: str | None, ask_slurm: bool = True) -> Story:
    """All that the database has of a job; Slurm is asked where it has nothing, unless that is not wanted. Raises
    NothingKnownError, with what is known of why there is nothing."""
    from matcher import story
    from matcher.explain import unknown_text
    from matcher.slurm_job import slurm_says

    model = _model(config)
    ran_on = cluster or config.site.cluster
    told = story.of_job(database, ran_on, job, model)
    if told:
        return told
    if not ask_slurm:
        raise NothingKnownError(unknown_text(job))
    said = slurm_says(job, cluster)
    if said.get("JobId", job) != job:  # an array's task, whose own number Slurm still knows
        told = story.of_job(database, ran_on, said["JobId"], model)
    if not told:
        raise NothingKnownError(_silence(database, job, said))
    return told


def _of_script(database: Database, config: Config, question: Question) -> Story:
    from matcher import story
    from matcher.decide import decide
    from matcher.explain import NOT_LOGGED
    from matcher.service import policy_of

    knowledge, policy = _knowledge(database, config), policy_of(config)
    begun = time.perf_counter()
    made = decide(question, knowledge, policy, NOT_LOGGED)
    decision = dataclasses.replace(made, elapsed_ms=(time.perf_counter() - begun) * 1e3)
    return story.of_decisions(database, [decision], knowledge.engine.model)


def _knowledge(database: Database, config: Config) -> Knowledge:
    from matcher.service import knowledge_of, model_of

    return knowledge_of(database.record_texts(), model_of(config), config)


def _model(config: Config) -> Model | None:
    """The model in force; None where it cannot be used, which is no reason not to say what was decided by another."""
    from matcher.linkage.model import LinkageError
    from matcher.service import model_of

    try:
        return model_of(config)
    except LinkageError:
        return None


def _question(script: Path, words: tuple[str, ...], user: str | None, directory: Path | None) -> Question:
    from matcher.script import question

    return question(script, words, user, directory)


def _silence(database: Database, job: str, said: Mapping[str, str]) -> str:
    from matcher.explain import silence_text, waiting_text
    from matcher.slurm_job import submit_time, user, waits

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


def _open(config: Config) -> Database:
    from database import Database
    from database.errors import AccessError

    try:
        return Database.open(config.database.path, read_only=True)
    except AccessError as error:
        raise AccessError(f"{error}; what a job is given, `sbatch --reprise=explain` tells its user") from error


def _print_json(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))
