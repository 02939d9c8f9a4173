# SPDX-License-Identifier: Apache-2.0
"""`reprise jobs`: for support staff, who look for jobs and for what to tune next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from reprise.cli import jobs_profile
from reprise.cli.moment import moment
from reprise.cli.reading import open_to_read
from reprise.database.entities import VERDICTS
from reprise.database.record_listing import plain

if TYPE_CHECKING:
    from reprise.cli.main import Settings

LIMIT = 50  # jobs, unless said otherwise
CLASSES = 20  # classes of jobs, likewise
SCRIPTS = 20  # of which no program is known, likewise
LIMIT_RANGE = click.IntRange(1, 1_000_000)
STARTED_SINCE = click.option(
    "--since",
    metavar="WHEN",
    callback=moment,
    default="30d",
    show_default=True,
    help="By jobs that started since a date, or 12h ago.",
)

WORDS = (
    "application",
    "account",
    "partition",
)  # filters by what is hidden of another user's job: who is found would tell it

AS_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group()
def jobs() -> None:
    """Look for jobs, for how they did, and for what to tune next. Who may not read the database asks `reprise match
    explain` and `reprise jobs profile` for their own jobs."""


jobs.add_command(jobs_profile.profile)


@jobs.command("list")
@click.option("--user", help="Of this user, by name or id.")
@click.option("--verdict", type=click.Choice(VERDICTS), help="Of which this was decided, or reported.")
@click.option("--record", metavar="ID", type=click.IntRange(1, 2**63 - 1), help="Given settings of it, or held out.")
@click.option("--component", help="Given settings of one of its records, or held out.")
@click.option("--application", metavar="NAME", help="Of this program or job's name.")
@click.option("--account", metavar="NAME", help="Submitted under this account.")
@click.option("--partition", metavar="NAME", help="Submitted to this partition.")
@click.option(
    "--since",
    metavar="WHEN",
    callback=moment,
    help="Not before a date (2026-11-21, 2026-11-21T14:30), or 12h or 30d ago.",
)
@click.option("--until", metavar="WHEN", callback=moment, help="Before then.")
@click.option("--failed", is_flag=True, help="That ended with another exit status than 0.")
@click.option("--limit", type=LIMIT_RANGE, default=LIMIT, show_default=True, help="At most so many, the newest.")
@AS_JSON
@click.pass_obj
def list_(settings: Settings, /, as_json: bool, **filters: Any) -> None:
    """List jobs, newest first: each start of each, with what was decided about it and how it ended."""
    from reprise.database.job_search import EVER, Wanted
    from reprise.matcher.support.jobs import job_listing
    from reprise.matcher.support.jobs.user_names import name_or_id, uid_of
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    uid = uid_of(filters["user"])
    if filters["user"] is not None and (uid is None or not me.sees(uid)):
        me.require_staff("may look for other users' jobs")
    since, until = filters.pop("since") or 0.0, filters.pop("until") or EVER
    filters["user"], only = name_or_id(filters["user"])
    by_words = [f"--{name}" for name in WORDS if filters[name] is not None]
    own_only = bool(by_words) and not me.staff
    with open_to_read(config) as database:
        wanted = Wanted(uid=uid, only=me.uid if own_only else only, since=since, until=until, **filters)
        found = database.jobs(wanted)
    if as_json:
        _print_json(job_listing.document(found, me, own_only))
        return
    if found:
        click.echo(plain([job_listing.row(job, me, config.site.cluster) for job in found], job_listing.HEADINGS))
    else:
        click.echo("no such jobs")
    if own_only:
        click.echo(f"Only your own jobs: by {' and '.join(by_words)} nobody is told of others' (access.staff)")


@jobs.command()
@click.argument("job", metavar="JOB")
@click.option("-M", "--cluster", metavar="NAME", help="Where it ran, if not on the site's cluster.")
@AS_JSON
@click.pass_obj
def show(settings: Settings, job: str, cluster: str | None, as_json: bool) -> None:
    """Show JOB: why it got what it got, as `reprise match explain` does, and how long it took beside other jobs of the
    same record on as many nodes. Exit status 3: nothing is known of it."""
    from reprise.matcher.support import explanation_console, job_lookup
    from reprise.matcher.support.jobs import run_time_rank
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    with open_to_read(config) as database:
        story = job_lookup.for_reader(job_lookup.of_job(database, config, job, cluster and cluster.lower()), me, job)
        found = run_time_rank.of_story(database, story, me)
    if as_json:
        _print_json({"version": 1, "explanation": story.to_json(), "beside": found.to_json() if found else None})
        return
    explanation_console.show(explanation_console.console(), story)
    if found:
        click.echo("\n" + "\n".join(run_time_rank.texts(found)))
    if hint := jobs_profile.hint(job, story):
        click.echo(f"\n{hint}")


@jobs.command()
@STARTED_SINCE
@click.option("--limit", type=LIMIT_RANGE, default=CLASSES, show_default=True, help="At most so many classes.")
@click.option("--component", help="Expect what its records gain; with --campaign, what is to be tuned.")
@click.option(
    "--campaign",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Write a campaign file for each class there.",
)
@AS_JSON
@click.pass_obj
def unmatched(
    settings: Settings, since: float, limit: int, component: str | None, directory: Path | None, as_json: bool
) -> None:
    """Show what would be worth tuning: jobs to which no record of an application was near, together where user,
    program (else the job's name) and number of nodes are the same, by the node-hours that a record may save."""
    from reprise.matcher.decision.decide import BY_THE_SITE
    from reprise.matcher.support.jobs import campaign_proposal, expected_gains
    from reprise.matcher.support.jobs import unmatched_classes as ranking
    from reprise.matcher.support.slurm_job import slurm_says
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    if directory:
        me.require_staff("may write campaigns for users' jobs")
        if component is None:
            raise click.UsageError("--campaign goes with --component NAME: what is to be tuned")
        described = campaign_proposal.described(component, config.tuner.components)
    with open_to_read(config) as database:
        known = expected_gains.read(database, component)
        classes = ranking.ranked(database.unmatched(since, refused=BY_THE_SITE), known)[:limit]
        written = campaign_proposal.write_all(database, classes, directory, described, slurm_says) if directory else {}
    expected = ranking.Expected.of(known)
    if as_json:
        _print_json(ranking.document(classes, expected, me, lambda rank: written.get(rank, (None, ""))[0]))
        return
    if classes:
        click.echo(expected.text())
        click.echo(plain(list(ranking.rows(classes, expected, me)), ranking.HEADINGS))
    else:
        click.echo("no jobs that no record was near")
    for path, note in written.values():
        click.echo(f"{path}: written{note}")


@jobs.command()
@STARTED_SINCE
@click.option("--limit", type=LIMIT_RANGE, default=SCRIPTS, show_default=True, help="At most so many scripts.")
@AS_JSON
@click.pass_obj
def unknown(settings: Settings, since: float, limit: int, as_json: bool) -> None:
    """Show the scripts whose program could not be told, most node-hours first: jobs of one user and script (where its
    path is not known, job name) together."""
    from reprise.matcher.support.jobs import unread_scripts
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    with open_to_read(config) as database:
        found = database.unread_scripts(since, limit)
    if as_json:
        _print_json(unread_scripts.document(found, me))
    elif found:
        click.echo(plain(list(unread_scripts.rows(found, me)), unread_scripts.HEADINGS))
    else:
        click.echo("no jobs whose program is unknown")


@jobs.command("import")
@click.option(
    "--sacct",
    "file",
    type=click.File(encoding="utf-8-sig", errors="replace"),
    required=True,
    metavar="FILE",
    help="What `sacct --parsable2` printed with a header line, or `sacct --json`; - is standard input.",
)
@AS_JSON
@click.pass_obj
def import_(settings: Settings, file: TextIO, as_json: bool) -> None:
    """Say what would have matched of the jobs of the past, with the records of today. Nothing is stored."""
    from reprise.matcher.decision.configured import policy_of
    from reprise.matcher.errors import MatcherError
    from reprise.matcher.submission import sacct
    from reprise.matcher.support import job_lookup
    from reprise.matcher.support.jobs import past_jobs as past

    config = settings.config
    try:
        accounted = sacct.read(file.read())
    except sacct.SacctError as error:
        raise MatcherError(f"{getattr(file, 'name', '<stdin>')}: {error}") from error
    with open_to_read(config) as database:
        knowledge = job_lookup.knowledge(database, config)
    found = past.replay(accounted, knowledge, policy_of(config))
    if as_json:
        _print_json(found.to_json())
        return
    click.echo("\n".join(past.texts(found)) + "\n")
    click.echo(plain(past.verdict_rows(found), ("verdict", "submissions", "node-hours")))
    if found.records:
        click.echo("\n" + plain(past.record_rows(found), ("record", "submissions", "node-hours")))


def _print_json(document: Mapping[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))
