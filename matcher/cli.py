# SPDX-License-Identifier: Apache-2.0
"""`reprise serve`, and `reprise match` for the people who are asked why."""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from matcher import model_cli
from matcher.errors import MatcherError, NothingKnownError
from matcher.evaluation import cli as evaluation_cli

if TYPE_CHECKING:
    from database import Database
    from database.model import Decision, Outcome, Record
    from matcher.submission import Submission
    from reprise.cli import Settings
    from reprise.config import Config

SCONTROL_TIMEOUT_S = 5.0
SLURM_CLOCK_S = 1.0  # Slurm tells whole seconds: a job was submitted at some moment of the one that it names
JOB_ID = r"(\d{1,10})(?:_(\d{1,10}))?"
DECISION_ID = r"[A-Za-z0-9_-]{1,64}"
SUBMISSION_PREFIXES = ("SLURM_", "SBATCH_", "SALLOC_")  # variables that the plugin sends with their values


@click.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Run the matcher daemon in the foreground until SIGTERM; SIGHUP reads configuration, model and records again
    (where the socket and the database are, the limits and the retention take a restart).

    It logs to standard error, takes its socket from systemd where one is passed, and tells systemd when it is ready.
    """
    from matcher import daemon
    from reprise.config import load

    daemon.run(lambda: load(settings.path))


@click.group()
def match() -> None:
    """Try and explain decisions."""


match.add_command(model_cli.model)
match.add_command(evaluation_cli.evaluate)


@match.command(name="try", context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("sbatch_options", nargs=-1, type=click.UNPROCESSED)
@click.option("--user", default=lambda: _me(), show_default="you", help="As if this user submitted it.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=lambda: _here(),
    help="As if submitted from there.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def try_(
    settings: Settings, script: Path, sbatch_options: tuple[str, ...], user: str, directory: Path, as_json: bool
) -> None:
    """Show what a script would be given now, and why. Nothing is submitted or logged.

    It stands first; sbatch's options, and after them its own arguments, follow.
    """
    from matcher import explain, report
    from matcher.decide import Question, decide
    from matcher.service import knowledge_of, model_of, policy_of

    config = settings.config
    question = Question(
        submission=_submission(directory / script, str(script), sbatch_options, directory),
        user=user,
        uid=os.getuid(),
        point="submit",
        mode="on",
        at=time.time(),
    )
    with _open(config) as database:
        records = {record.id: record for record in database.records(status=None)}
    knowledge = knowledge_of(list(records.values()), model_of(config), config)
    begun = time.perf_counter()
    made = decide(question, knowledge, policy_of(config), "not-logged")
    decision = dataclasses.replace(made, elapsed_ms=(time.perf_counter() - begun) * 1e3)
    if as_json:
        click.echo(json.dumps(explain.as_json([decision], [], _used(records, [decision.record_id])), indent=2))
    else:
        report.show(report.console(), [decision], records=records)


@match.command(name="explain")
@click.argument("job")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def explain_(settings: Settings, job: str, as_json: bool) -> None:
    """Say why JOB got what it got. JOB is a job id (4711, or 4711_3 for an array task) or a decision's id.

    Exit status 3: nothing is known of it.
    """
    from matcher import explain, report

    with _open(settings.config) as database:
        decisions, outcomes = _known(database, settings.config.site.cluster, job)
        if not decisions and not outcomes:
            said = _slurm_says(job)
            if said.get("JobId", job) != job:  # an array's task, whose own number Slurm still knows
                decisions, outcomes = _known(database, settings.config.site.cluster, said["JobId"])
            if not decisions and not outcomes:
                raise NothingKnownError(_silence(database, job, said))
        records = {record.id: record for record in database.records(status=None)}
        told = {outcome.id for outcome in outcomes}
        tasks = {one.id: [o for o in database.outcomes_of_decision(one) if o.id not in told] for one in decisions}
        shared = {key: len(others) for key, others in tasks.items() if others}
    used = _used(records, [decision.record_id for decision in decisions])
    if as_json:
        click.echo(json.dumps(explain.as_json(decisions, outcomes, used), indent=2))
    else:
        report.show(report.console(), decisions, outcomes, used, shared)


def _known(database: Database, cluster: str, job: str) -> tuple[Sequence[Decision], Sequence[Outcome]]:
    """Decisions and outcomes of a job id, an array task or a decision's id, newest first."""
    number = re.fullmatch(JOB_ID, job)
    if not number:
        from database import NotFoundError

        if not re.fullmatch(DECISION_ID, job):
            raise NothingKnownError(
                f"{job!r} is neither a job's number nor a decision's id: give 4711, 4711_3, or an id out of the log"
            )
        try:
            decision = database.decision(job)
        except NotFoundError as error:
            raise NothingKnownError(str(error)) from error
        return [decision], database.outcomes_of_decision(decision)
    decisions = database.decisions_of_job(cluster, int(number[1]))
    if number[2] is None:
        return decisions, database.outcomes_of_job(cluster, int(number[1]))
    # tasks have job ids of their own, but for the one that has the array's; what they share is the decision
    task = int(number[2])
    outcomes = {one.id: one for decision in decisions for one in database.outcomes_of_decision(decision)}
    outcomes |= {one.id: one for one in database.outcomes_of_job(cluster, int(number[1]))}
    of_task = [outcome for outcome in outcomes.values() if outcome.array_task == task]
    named = {outcome.decision_id for outcome in of_task}
    return [one for one in decisions if one.array_task == task or one.id in named], of_task


def _silence(database: Database, job: str, said: Mapping[str, str]) -> str:
    from matcher.explain import silence_text

    submitted = _submit_time(said)
    if submitted is None:
        return silence_text(job, None, False, None, None)
    before, after = database.service_runs_around(submitted)
    first, last = (database.service_run_at(time) for time in (submitted, submitted + SLURM_CLOCK_S))
    served = first is not None and first == last
    return silence_text(job, submitted, served, before, after)


def _open(config: Config) -> Database:
    from database import Database

    return Database.open(config.database.path, read_only=True)


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account that no directory knows
        return str(os.getuid())


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise MatcherError("the working directory is gone: change to another, or give --directory") from error


def _used(records: dict[int, Record], ids: list[int | None]) -> dict[int, Record]:
    return {key: record for key, record in records.items() if key in ids}


def _submission(path: Path, named: str, options: tuple[str, ...], directory: Path) -> Submission:
    from matcher.protocol import is_allowed
    from matcher.submission import SCRIPT_LIMIT, Script, Submission
    from matcher.submission.options import SBATCH, parse_options

    if named.startswith("-"):
        raise MatcherError(f"{named}: is no script: give the script first, then sbatch's options")
    try:
        with path.open("rb") as file:
            data = file.read(SCRIPT_LIMIT + 1)
    except OSError as error:
        raise MatcherError(f"{path}: cannot be read ({error.strerror}): give the path of a batch script") from error
    text = data[:SCRIPT_LIMIT].decode(errors="replace")
    arguments = parse_options(SBATCH, options).rest
    given = options[: len(options) - len(arguments)]
    return Submission(
        command="sbatch",
        argv=("sbatch", *given, named, *arguments),
        cwd=str(directory.absolute()),
        env={name: value for name, value in os.environ.items() if name.startswith(SUBMISSION_PREFIXES)},
        set_names=tuple(name for name in os.environ if is_allowed(name)),
        script=Script(str(path), text, truncated=len(data) > SCRIPT_LIMIT),
    )


def _slurm_says(job: str) -> dict[str, str]:
    """What `scontrol show job` says; nothing where it does not know the job, or is not there."""
    try:
        told = subprocess.run(
            ["scontrol", "--oneliner", "show", "job", job],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SCONTROL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(word.split("=", 1) for word in told.stdout.partition("\n")[0].split() if "=" in word)


def _submit_time(said: Mapping[str, str]) -> float | None:
    """When the job was submitted (Unix seconds); None where Slurm does not say."""
    try:
        return datetime.fromisoformat(said["SubmitTime"]).timestamp()
    except (KeyError, ValueError):
        return None
