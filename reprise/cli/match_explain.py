# SPDX-License-Identifier: Apache-2.0
"""`reprise match explain` and `reprise match nearest`: explain a decision, and list the nearest records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.cli import jobs_profile
from reprise.cli.reading import open_to_read
from reprise.matcher.errors import NothingKnownError

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.database import Database
    from reprise.matcher.decision.decide import Question
    from reprise.matcher.support.job_story import Story
    from reprise.matcher.support.jobs.run_time_rank import Beside
    from reprise.matcher.support.understood_script import Understood

TOP = 10  # default number of records to show
TOP_LIMIT = 1000


class _WithScript(click.Command):
    """Command that also accepts a script; its error for an unknown option explains how to give sbatch options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; in the error for an unknown option, mention that sbatch options follow `--`."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(f"{error.format_message()} (Give sbatch options after `--`.)", ctx) from error


def _asks(command: Callable[..., None]) -> Callable[..., None]:
    """Add to a command the arguments that `explain` and `nearest` have in common."""
    for option in (
        click.argument("words", nargs=-1, metavar="[JOB | --script FILE [-- SBATCH OPTIONS]]"),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option(
            "-M",
            "--cluster",
            metavar="NAME",
            callback=lambda _context, _option, name: name and name.lower(),
            help="With JOB: cluster of the job, if not the site's.",
        ),
        click.option(
            "--directory",
            type=click.Path(path_type=Path, file_okay=False),
            help="With --script: directory to assume for the submission.",
        ),
        click.option("--user", help="With --script: user to assume for the submission (default: you)."),
        click.option(
            "--script",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Use this batch script, which is not submitted, instead of JOB. Give options of sbatch, then the "
            "script's arguments, after `--`.",
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
        raise click.UsageError("--user and --directory need --script FILE")
    if script and cluster:
        raise click.UsageError("--cluster needs JOB; for a script, give -M after `--`")


@click.command(cls=_WithScript)
@_asks
@click.option("--hide-others", is_flag=True, help="Hide other users' data, so that the job's user may see the output.")
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
    """Explain the settings of JOB, or those that a script would get.

    JOB is a job id (4711, or 4711_3 for an array task) or a decision's id. Its run time is compared with the run times
    of other jobs with the same record and number of nodes. The exit status is 3 if the job is unknown.

    With --script FILE, also show what Reprise understood of the script, with line numbers. Nothing is submitted or
    logged.

    Users who cannot read the database on this host get an answer from the daemon, but only about their own jobs and
    scripts, and without other users' data.
    """
    from reprise.matcher.support import explanation_console, job_lookup
    from reprise.matcher.support.hidden_words import hide

    _checked(words, script, user, directory, cluster)
    config = settings.config
    parts: Sequence[Understood] = ()
    unread = ""
    rank: Beside | None = None
    if script:
        from reprise.matcher.support.understood_script import understood
        from reprise.matcher.support.unsubmitted_script import question, unread_part

        asked = question(script, words, user, directory)
        unread = unread_part(script, asked.submission)
        story = _of_script(config, asked)
        parts = understood(asked.submission, story.decisions[0].decision.metadata)
    elif as_json or hide_others:
        story = job_lookup.known(config, words[0], cluster)
    else:
        story, rank = job_lookup.known_and_compared(config, words[0], cluster)
    if hide_others:
        story = hide(story, (story.decisions[0].decision if story.decisions else story.outcomes[0]).uid)
    if as_json:
        document = story.to_json()
        of_script = {"understood": [one.to_json() for one in parts], "unread": unread}
        _print_json(document | of_script if script else document)
        return
    out = explanation_console.console()
    if script:
        explanation_console.show_understood(out, str(script), parts, unread)
    explanation_console.show(out, story)
    if not script:
        show_end(words[0], story, rank)


def show_end(job: str, story: Story, rank: Beside | None) -> None:
    """Print the lines below a job's explanation: the rank of its run time, and how to show its profile."""
    from reprise.matcher.support.jobs import run_time_rank

    if rank:
        click.echo("\n" + "\n".join(run_time_rank.texts(rank)))
    if hint := jobs_profile.hint(job, story):
        click.echo(f"\n{hint}")


def _of_script(config: Config, asked: Question) -> Story:
    """Return the decision about a script, made here or, if neither database nor snapshot can be read, by the daemon."""
    from reprise.database.errors import AccessError, MissingError
    from reprise.matcher.support import job_lookup
    from reprise.matcher.support.hidden_words import hide
    from reprise.matcher.support.staff import reader

    try:
        database = open_to_read(config)
    except (AccessError, MissingError) as error:
        return job_lookup.script_from_daemon(config, asked, error)
    with database:
        me = reader(config.access.staff)
        if not me.sees(asked.uid):
            me.require_staff("may ask what other users would get")
        story = job_lookup.of_script(database, config, asked)
    return story if me.staff else hide(story, me.uid)


@click.command(cls=_WithScript)
@_asks
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(1, TOP_LIMIT),
    default=TOP,
    show_default=True,
    help="Number of records to show.",
)
@click.pass_obj
def nearest(
    settings: Settings,
    words: tuple[str, ...],
    script: Path | None,
    user: str | None,
    directory: Path | None,
    cluster: str | None,
    count: int,
    as_json: bool,
) -> None:
    """Show the records most similar to JOB or to a script.

    The records are compared in their current state; the output shows where they differ from the job.
    """
    from reprise.matcher.decision.configured import policy_of
    from reprise.matcher.submission import parse
    from reprise.matcher.submission.masked_metadata import masked
    from reprise.matcher.submission.metadata import JobMetadata
    from reprise.matcher.support import explanation_console, job_lookup, nearest_records
    from reprise.matcher.support.staff import reader
    from reprise.matcher.support.unsubmitted_script import question

    _checked(words, script, user, directory, cluster)
    config = settings.config
    reader(config.access.staff).require_staff("may see other users' similar jobs")
    with _open(config) as database:
        if script:
            asked = question(script, words, user, directory)
            job = masked(parse(asked.submission, user=asked.user, submit_time=asked.at))
        else:
            decisions = job_lookup.of_job(database, config, words[0], cluster).decisions
            if not decisions:
                raise NothingKnownError(f"no decision was made about job {words[0]}: there is nothing to compare")
            job = JobMetadata.from_json(decisions[0].decision.metadata)
        found = nearest_records.top(job, job_lookup.knowledge(database, config), policy_of(config), count)
    if as_json:
        _print_json(found.to_json())
    else:
        explanation_console.show_top(explanation_console.console(), found)


def _open(config: Config) -> Database:
    from reprise.database.errors import AccessError

    try:
        return open_to_read(config)
    except AccessError as error:
        raise AccessError(
            f"{error}; users can ask `reprise match explain --script` what their scripts would get"
        ) from error


def _print_json(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))
