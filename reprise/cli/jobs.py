# SPDX-License-Identifier: Apache-2.0
"""`reprise jobs`: find jobs and candidates for tuning, for support staff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from reprise.cli import jobs_profile
from reprise.cli.aliases import former
from reprise.cli.match_explain import show_end
from reprise.cli.moment import moment
from reprise.cli.reading import open_to_read
from reprise.database.entities import VERDICTS
from reprise.database.record_listing import plain

if TYPE_CHECKING:
    from reprise.cli.main import Settings

LIMIT = 50  # default maximum number of jobs to list
CLASSES = 20  # default maximum number of classes of jobs to list
SCRIPTS = 20  # default maximum number of scripts to list in which no program was recognized
LIMIT_RANGE = click.IntRange(1, 1_000_000)
STARTED_SINCE = click.option(
    "--since",
    metavar="WHEN",
    callback=moment,
    default="30d",
    show_default=True,
    help="Count jobs that started since WHEN: a date, or an age like 12h or 30d.",
)

WORDS = (
    "application",
    "account",
    "partition",
)  # filters by values that are hidden in other users' jobs; if a filter found such a job, it would reveal the value

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def jobs() -> None:
    """Find jobs, their results, and candidates for tuning.

    Users who may not read the database can look up their own jobs with `show` and `profile`; the other commands need
    access to the database.
    """


jobs.add_command(jobs_profile.profile)


@jobs.command("list")
@click.option("--user", help="List jobs of this user (name or id).")
@click.option("--verdict", type=click.Choice(VERDICTS), help="List jobs with this decision or report.")
@click.option(
    "--record",
    metavar="ID",
    type=click.IntRange(1, 2**63 - 1),
    help="List jobs that got this record's settings, or were held out.",
)
@click.option("--component", help="List jobs that got a record's settings for this component, or were held out.")
@click.option("--application", metavar="NAME", help="List jobs of this program or with this job name.")
@click.option("--account", metavar="NAME", help="List jobs submitted under this account.")
@click.option("--partition", metavar="NAME", help="List jobs submitted to this partition.")
@click.option(
    "--since",
    metavar="WHEN",
    callback=moment,
    help="List jobs since WHEN: a date (2026-11-21, 2026-11-21T14:30), or an age like 12h or 30d.",
)
@click.option("--until", metavar="WHEN", callback=moment, help="List jobs before WHEN.")
@click.option("--failed", is_flag=True, help="List jobs that ended with an exit status other than 0.")
@click.option("--limit", type=LIMIT_RANGE, default=LIMIT, show_default=True, help="Number of jobs to list at most.")
@AS_JSON
@click.pass_obj
def list_(settings: Settings, /, as_json: bool, **filters: Any) -> None:
    """List jobs with their decisions and outcomes, newest first.

    A job has one row for each time that it started. Jobs in which campaigns ran their trials are listed apart. The last
    column says why a job got nothing: no record is near, a guard refused the settings, or the site's access rules.
    """
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
        here = config.site.cluster
        wanted = Wanted(uid=uid, only=me.uid if own_only else only, since=since, until=until, here=here, **filters)
        found = database.jobs(wanted if as_json else replace(wanted, without_campaigns=True))
        trials = [] if as_json else database.jobs(replace(wanted, of_campaigns=True))
        origins = job_listing.Origins.of(database, [*found, *trials], here)
    if as_json:
        _print_json(job_listing.document(found, me, own_only, origins))
        return
    if found:
        click.echo(plain([job_listing.row(job, me, here, origins) for job in found], job_listing.HEADINGS))
    else:
        click.echo("no such jobs")
    if trials:
        rows = [job_listing.campaign_row(job, me, here, origins) for job in trials]
        click.echo(f"\nJobs in which campaigns ran trials:\n{plain(rows, job_listing.OF_CAMPAIGNS)}")
    if own_only:
        click.echo(f"Only your own jobs: {' and '.join(by_words)} cannot find other users' jobs (see access.staff)")


@jobs.command()
@click.argument("job", metavar="JOB")
@click.option("-M", "--cluster", metavar="NAME", help="Cluster of the job, if not the site's.")
@click.option(
    "--line", "as_line", is_flag=True, help="Print one line, with nothing that the job's user may not see, for mails."
)
@AS_JSON
@click.pass_obj
def show(settings: Settings, job: str, cluster: str | None, as_line: bool, as_json: bool) -> None:
    """Explain the settings of JOB, and rank its run time.

    This prints the same text as `reprise match explain JOB`; with --json, the rank follows as `beside`. The exit status
    is 3 if the job is unknown.
    """
    from reprise.matcher.support import explanation_console, job_lookup

    if as_line:
        from reprise.matcher.support.job_line import job_line

        if as_json:
            raise click.UsageError("--line and --json exclude each other: give one of them")
        told = job_lookup.known_to_owner(settings.config, job, cluster and cluster.lower())
        click.echo(job_line(job, *told))
        return
    story, rank = job_lookup.known_and_compared(settings.config, job, cluster and cluster.lower())
    if as_json:
        _print_json({"version": 1, "explanation": story.to_json(), "beside": rank.to_json() if rank else None})
        return
    explanation_console.show(explanation_console.console(), story)
    show_end(job, story, rank)


@jobs.command()
@STARTED_SINCE
@click.option("--limit", type=LIMIT_RANGE, default=CLASSES, show_default=True, help="Number of classes at most.")
@click.option("--component", help="Estimate savings from this component's records; with --campaign, component to tune.")
@click.option(
    "--campaign",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Write a campaign file for each class to DIRECTORY; needs --component.",
)
@AS_JSON
@click.pass_obj
def unmatched(
    settings: Settings, since: float, limit: int, component: str | None, directory: Path | None, as_json: bool
) -> None:
    """List jobs without a similar record, as candidates for tuning.

    Jobs of the same user, program (or job name, if the program is unknown) and number of nodes form one class.
    Classes are ordered by the node-hours that a record may save.
    """
    from reprise.matcher.decision.refusal import BY_THE_SITE
    from reprise.matcher.support.jobs import campaign_proposal, expected_gains
    from reprise.matcher.support.jobs import unmatched_classes as ranking
    from reprise.matcher.support.slurm_job import slurm_says
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    if directory:
        me.require_staff("may write campaigns for users' jobs")
        if component is None:
            raise click.UsageError("--campaign needs --component NAME: name the component to tune")
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
        click.echo("every job had a similar record")
    for path, note in written.values():
        click.echo(f"{path}: written{note}")


@jobs.command()
@STARTED_SINCE
@click.option("--limit", type=LIMIT_RANGE, default=SCRIPTS, show_default=True, help="Number of scripts at most.")
@AS_JSON
@click.pass_obj
def unknown(settings: Settings, since: float, limit: int, as_json: bool) -> None:
    """List scripts in which no program could be recognized.

    Jobs of the same user and script (or job name, if the script's path is unknown) are counted together. Scripts are
    listed in order of decreasing node-hours.
    """
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


@jobs.command()
@click.option(
    "--sacct",
    "file",
    type=click.File(encoding="utf-8-sig", errors="replace"),
    required=True,
    metavar="FILE",
    help="Output of `sacct --parsable2` with a header line, or of `sacct --json`; - is standard input.",
)
@click.option(
    "--scripts",
    type=click.File(encoding="utf-8", errors="replace"),
    metavar="FILE",
    help="Output of `sacct -B` with the jobs' batch scripts, which Slurm keeps with AccountingStoreFlags=job_script.",
)
@AS_JSON
@click.pass_obj
def replay(settings: Settings, file: TextIO, scripts: TextIO | None, as_json: bool) -> None:
    """Report which past jobs would match the current records. Nothing is stored."""
    from reprise.matcher.decision.configured import policy_of
    from reprise.matcher.errors import MatcherError
    from reprise.matcher.submission import sacct, sacct_scripts
    from reprise.matcher.support import job_lookup
    from reprise.matcher.support.jobs import past_jobs as past

    config = settings.config
    try:
        accounted = sacct.read(file.read())
    except sacct.SacctError as error:
        raise MatcherError(f"{getattr(file, 'name', '<stdin>')}: {error}") from error
    if scripts is not None:
        accounted = sacct_scripts.with_scripts(accounted, sacct_scripts.batch_scripts(scripts))
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


jobs.add_command(former(replay, "import"))
