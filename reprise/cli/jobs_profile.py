# SPDX-License-Identifier: Apache-2.0
"""`reprise jobs profile`: show the profile of a job that ran with --reprise=profile, and compare it with its record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprise.cli.single_run import warn
from reprise.database.record_listing import printable
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.matcher.support.behaviour import Comparison
    from reprise.matcher.support.job_story import Story
    from reprise.tuner.profile.profile_values import Profile


@click.command("profile")
@click.argument("job", metavar="JOB")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory of the job's reports (default: reprise-profile-JOB in the submission or current directory).",
)
@click.option("-M", "--cluster", metavar="NAME", help="Cluster of the job, if not the site's.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def profile(settings: Settings, job: str, directory: Path | None, cluster: str | None, as_json: bool) -> None:
    """Show the profile of JOB, and compare it with its record.

    JOB must have been submitted with --reprise=profile. The output shows where the job spent its time, how much
    each component could gain, and whether the job behaves like the record that it matched.
    """
    from reprise.matcher.errors import MatcherError, NothingKnownError
    from reprise.matcher.support import behaviour, job_lookup
    from reprise.matcher.support.job_story import Story, check_name
    from reprise.tuner.profile import job_profile, profile_text, profiled_run
    from reprise.tuner.profile.verdicts import overall, verdicts

    config = settings.config
    cluster = cluster and cluster.lower()
    check_name(job)
    why = ""
    story = Story()
    try:
        story = job_lookup.known(config, job, cluster)
    except NothingKnownError as error:
        why = str(error)
    except MatcherError as error:  # the job's profile can still be shown
        why = f"job {job} cannot be compared with its record: {error}"
    place = directory or _found(job, cluster, story)
    found = job_profile.profile_of(place)
    judged = verdicts(found, profiled_run.touched(config, warn))
    comparison = None
    if not why:
        try:
            comparison = _compared(config, job, cluster, found)
        except MatcherError as error:
            why = f"job {job} cannot be compared with its record: {error}"
    runs = bool(story.outcomes) and story.outcomes[0].ended_at is None
    if as_json:
        document: dict[str, Any] = {
            "directory": str(place),
            "profile": found.to_json(),
            "verdicts": [asdict(one) for one in judged],
            "verdict": overall(judged),
            "compared": comparison.to_json() if comparison else None,
            "why_not_compared": why,
            "end_reported": not runs,
        }
        click.echo(json.dumps(versioned(document), indent=2))
        return
    for line in profile_text.lines(found, judged):
        click.echo(printable(line))
    click.echo("")
    if runs:
        click.echo(f"note: job {job} has not reported its end: programs that still run are missing")
    click.echo(printable(behaviour.text(comparison) if comparison else why))


def hint(job: str, story: Story) -> str:
    """Return a line on how to show the job's profile; empty if it has no profile, or is another user's job."""
    import os

    from reprise.tuner.profile import job_reports

    own = {one.decision.uid for one in story.decisions} == {os.geteuid()}  # do not access other users' directories
    places = _submitted_from(story) if own else ()
    names = [f"{job_reports.PREFIX}{number}" for number in _numbers(job, story)]
    if any(os.access(place / name, os.R_OK) for place in places for name in names):
        return f"The job has a profile: `reprise jobs profile {job}` shows it and compares it with its record"
    return ""


def _numbers(job: str, story: Story) -> list[int]:
    """Return the job's ids in Slurm; a job array has one id for each task."""
    known: list[int | None] = [outcome.job_id for outcome in story.outcomes]
    known = known or [one.decision.job_id for one in story.decisions]
    named = [int(job)] if re.fullmatch("[0-9]{1,10}", job) else []
    return [*dict.fromkeys([number for number in known if number is not None] + named)]


def _submitted_from(story: Story) -> Iterator[Path]:
    for one in story.decisions:
        directory = one.decision.metadata.get("directory")
        if isinstance(directory, str) and directory.startswith("/"):
            yield Path(directory)


def _found(job: str, cluster: str | None, story: Story) -> Path:
    """Return the directory with the job's reports. Raise TunerError, naming the places searched, if there is none."""
    from reprise.matcher.support.slurm_job import slurm_says
    from reprise.tuner.errors import TunerError
    from reprise.tuner.profile import job_reports

    shown = slurm_says(job, cluster)
    numbers = _numbers(job, story)
    if shown.get("JobId", "").isdecimal():
        numbers.append(int(shown["JobId"]))
    places = [*_submitted_from(story), *([Path(shown["WorkDir"])] if "WorkDir" in shown else []), Path.cwd()]
    places = list(dict.fromkeys(places))
    if found := job_reports.find(numbers, places):
        return found
    where = ", ".join(map(str, places))
    raise TunerError(
        f"job {job}: no {job_reports.PREFIX}{numbers[0] if numbers else 'JOB'} that you can read in {where}: submit it "
        "with --reprise=profile, or name the reports with --directory"
    )


def _compared(config: Config, job: str, cluster: str | None, found: Profile) -> Comparison:
    """Compare a profile with the profile of the job's record.

    For staff, the comparison is made here if the database or its snapshot can be read and contains the job. Otherwise,
    the daemon makes it. Raise MatcherError if the profiles cannot be compared.
    """
    from reprise.cli.reading import open_to_read
    from reprise.database.errors import AccessError, MissingError
    from reprise.matcher.errors import NothingKnownError
    from reprise.matcher.support import asking_daemon, behaviour, job_lookup
    from reprise.matcher.support.staff import reader

    try:
        database = open_to_read(config)
    except (AccessError, MissingError):
        return asking_daemon.comparison(config, job, cluster, found)
    with database:
        me = reader(config.access.staff)
        try:
            story = job_lookup.of_job(database, config, job, cluster)
        except NothingKnownError:  # the snapshot is older than the job
            return asking_daemon.comparison(config, job, cluster, found)
        if me.staff:
            return behaviour.compare(database, story, found, None)
    return asking_daemon.comparison(config, job, cluster, found)
