# SPDX-License-Identifier: Apache-2.0
"""`reprise forwarders`: show the pool of I/O forwarders, who serves a job, and what other policies would give."""

from __future__ import annotations

import json
import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from reprise.cli import forwarders_detect
from reprise.cli.reading import open_to_read
from reprise.database.record_listing import plain, printable
from reprise.matcher.council.council_settings import DEFAULT_WINDOW
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.database.entities import ForwarderShare
    from reprise.matcher.arbiter.forwarding_job import Job, Pool

# The values of Policy, which is not imported here because its module imports numpy.
POLICIES = ("zero", "one", "static", "size", "process", "mckp", "oracle")
# The values of ReplayPolicy, whose module is needed by one command only.
REPLAY_POLICIES = ("epsilon", "ucb1", "fixed", "oracle")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def forwarders() -> None:
    """Show the pool of I/O forwarders, who serves a job, and what other policies would give."""


@forwarders.command("list")
@AS_JSON
@click.pass_obj
def list_(settings: Settings, as_json: bool) -> None:
    """List the forwarders, their states, and the jobs that they serve."""
    from reprise.matcher.forwarding.map_directory import is_held
    from reprise.matcher.forwarding.pool_list import ARBITER, document
    from reprise.matcher.support.staff import reader

    config = settings.config
    reader(config.access.staff).require_staff("may see which jobs forwarders serve")
    with open_to_read(config) as database, database.one_state():
        states = database.states_now(config.site.cluster)
        shares = database.shares_now(config.site.cluster)
    found = document(config.forwarding, is_held(config.forwarding.maps), states, shares)
    if as_json:
        click.echo(json.dumps(versioned(found)))
        return
    if not found["forwarders"]:
        click.echo("no forwarders: name them in forwarding.forwarders")
        return
    cells = [(row["address"], _state(row), _numbers(row["jobs"])) for row in found["forwarders"]]
    click.echo(plain(cells, ("forwarder", "state", "jobs")))
    if found["direct"]:
        click.echo(f"direct access: {_numbers(found['direct'])}")
    click.echo(f"policy {found['policy']}; {ARBITER[found['arbiter_runs']]}")


@forwarders.command("map")
@click.argument("job", metavar="JOB", type=click.IntRange(1, 2**32 - 1))
@AS_JSON
@click.pass_obj
def map_(settings: Settings, job: int, as_json: bool) -> None:
    """Show which forwarders serve JOB, since when and why, and which served it before.

    JOB is the number in SLURM_JOB_ID, also for the tasks of an array. The exit status is 3 if nothing is known of the
    job.
    """
    from reprise.matcher.errors import NothingKnownError
    from reprise.matcher.support.explanation import share_text
    from reprise.matcher.support.staff import reader

    config = settings.config
    me = reader(config.access.staff)
    with open_to_read(config) as database:
        found = database.shares_of_job(config.site.cluster, job, uid=None if me.staff else me.uid)
    if not me.staff:  # the reason has bandwidths of the record's application, which may be another user's
        found = [replace(share, reason="") for share in found]
    if not found:
        raise NothingKnownError(
            f"job {job} never had a map: it is not running yet, it does not use forwarders (`reprise match explain "
            f"{job}` shows its settings), its burst buffers use all forwarders, or no arbiter ran"
        )
    if as_json:
        click.echo(json.dumps(versioned({"job": job, "shares": [_share(share) for share in found]})))
        return
    for share in found:
        click.echo(printable(share_text(share)))


@forwarders.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.File("rb"))
@click.option(
    "--why",
    type=click.Choice(POLICIES),
    default="mckp",
    show_default=True,
    help="Explain the shares under this policy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all shares with their reasons as JSON.")
@click.pass_obj
def plan(settings: Settings, file: BinaryIO | None, why: str, as_json: bool) -> None:
    """Print the forwarders of each job under each policy, and why, for the running jobs or the jobs in FILE.

    FILE is a JSON file with a pool of forwarders, running jobs, and the bandwidth of each job by number of forwarders;
    "-" means standard input. Nothing is changed.
    """
    from reprise.matcher.arbiter import forwarder_plan, plan_file
    from reprise.matcher.arbiter.forwarder_policies import Policy

    if file:
        pool, jobs = plan_file.read(file.read(), getattr(file, "name", "standard input"))
    else:
        pool, jobs = _present(settings.config)
    plans = forwarder_plan.plan(jobs, pool)
    if as_json:
        click.echo(json.dumps(versioned(forwarder_plan.document(plans)), indent=2))
    elif jobs:
        click.echo(forwarder_plan.text(plans, jobs, Policy(why)))
    else:
        click.echo("no jobs: no job that uses forwarders is running")


@forwarders.command()
@click.argument("file", metavar="FILE", type=click.File("rb"))
@click.option(
    "--policy",
    "policies",
    type=click.Choice(REPLAY_POLICIES),
    multiple=True,
    help="Policy to simulate; may be repeated. Default: all.",
)
@click.option(
    "--window",
    metavar="MICROSECONDS",
    type=click.IntRange(0),
    default=DEFAULT_WINDOW,
    show_default=True,
    help="Window of the policy `fixed`, and the one that learners start with.",
)
@click.option("--decisions", type=click.IntRange(1, 100_000), default=300, show_default=True, help="Decisions.")
@click.option("--repetitions", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Repetitions.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of random numbers.")
@AS_JSON
def replay(
    file: BinaryIO, policies: Sequence[str], window: int, decisions: int, repetitions: int, seed: int, as_json: bool
) -> None:
    """Simulate how policies would choose windows of TWINS, with the bandwidths in FILE.

    FILE has reports of forwarders, as JSON lines; "-" means standard input. For each pattern of access, rewards are
    drawn at random from the reports with the window in force. Nothing is changed.
    """
    from reprise.matcher.council import offline_twin, recorded_metrics, replay_report

    name = getattr(file, "name", "standard input")
    measured = offline_twin.measurements(recorded_metrics.read(file, name))
    found = replay_report.replay(
        measured,
        [offline_twin.ReplayPolicy(policy) for policy in dict.fromkeys(policies or REPLAY_POLICIES)],
        offline_twin.Simulation(decisions, repetitions, seed),
        window,
    )
    click.echo(json.dumps(versioned(replay_report.document(found))) if as_json else replay_report.text(found))


@forwarders.command()
@click.argument("job", metavar="JOB", type=click.IntRange(1, 2**32 - 1))
@click.option("--user", metavar="USER", help="The job's user: a name or a number. Default: the one in squeue.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=86_400.0,
    show_default=True,
    help="Seconds after which the command gives up.",
)
@click.pass_obj
def drain(settings: Settings, job: int, user: str | None, timeout_s: float) -> None:
    """Wait until all data that JOB wrote to burst buffers are in the file system.

    Only the job's user, root and the user in `burst-uid` of the forwarders may do so. The exit status is 1 if a
    forwarder cannot be reached, does not believe this user, or is not ready in time.
    """
    from reprise.matcher.forwarding.burst_drain import drain, user_of

    addresses = settings.config.forwarding.forwarders
    if not addresses:
        raise click.ClickException("no forwarders: name them in forwarding.forwarders")
    drain(addresses, job, user_of(job) if user is None else _uid(user), timeout_s, _prove(settings.config))
    click.echo(f"job {job}: all data are in the file system")


forwarders.add_command(forwarders_detect.detect)
forwarders.add_command(forwarders_detect.record)
forwarders.add_command(forwarders_detect.train)


def _prove(config: Config) -> Callable[[bytes], bytes] | None:
    """Return how forwarders learn who this user is; None if they do not ask."""
    from reprise.matcher.wire.credentials import credential_settings
    from reprise.matcher.wire.munge import ANY_READER, Munge

    if config.forwarding.auth == "none":
        return None
    munge = Munge(credential_settings(config.matcher).munge_socket)
    return lambda text: munge.make(text, ANY_READER)


def _uid(user: str) -> int:
    if user.isascii() and user.isdecimal():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError as error:
        raise click.BadParameter(f"{user!r} is no user of this system", param_hint="--user") from error


def _present(config: Config) -> tuple[Pool, Sequence[Job]]:
    """Return the pool of the forwarders that work, and the running jobs that use forwarders."""
    from reprise.matcher.forwarding.present_jobs import present
    from reprise.matcher.support.staff import reader

    reader(config.access.staff).require_staff("may see the jobs that use forwarders")
    with open_to_read(config) as database:
        return present(database, config)


def _state(row: Mapping[str, Any]) -> str:
    if row["works"] is None:
        return "not checked yet"
    return f"{'works' if row['works'] else 'failed'} since {_when(row['since'])}" + (
        f": {row['reason']}" if row["reason"] else ""
    )


def _numbers(jobs: Sequence[int]) -> str:
    return ", ".join(map(str, jobs)) or "none"


def _share(share: ForwarderShare) -> dict[str, Any]:
    keys = ("at", "until", "uid", "shared", "nodes", "processes", "policy", "reason")
    return {"forwarders": list(share.forwarders), **{key: getattr(share, key) for key in keys}}


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%F %T}"
