# SPDX-License-Identifier: Apache-2.0
"""`reprise forwarders`: show how policies would share out a pool of I/O forwarders."""

from __future__ import annotations

import json
from typing import BinaryIO

import click

from reprise.output import versioned

# The values of Policy, which is not imported here because its module imports numpy.
POLICIES = ("zero", "one", "static", "size", "process", "mckp", "oracle")


@click.group()
def forwarders() -> None:
    """Show how policies would share out a pool of I/O forwarders among jobs."""


@forwarders.command()
@click.argument("file", type=click.File("rb"))
@click.option(
    "--why",
    type=click.Choice(POLICIES),
    default="mckp",
    show_default=True,
    help="Explain the shares under this policy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all shares with their reasons as JSON.")
def plan(file: BinaryIO, why: str, as_json: bool) -> None:
    """Print the forwarders of each job in FILE under each policy, and why.

    FILE is a JSON file with a pool of forwarders, running jobs, and the bandwidth of each job by number of forwarders;
    "-" means standard input. Nothing is changed.
    """
    from reprise.matcher.arbiter import forwarder_plan, plan_file
    from reprise.matcher.arbiter.forwarder_policies import Policy

    pool, jobs = plan_file.read(file.read(), getattr(file, "name", "standard input"))
    plans = forwarder_plan.plan(jobs, pool)
    if as_json:
        click.echo(json.dumps(versioned(forwarder_plan.document(plans)), indent=2))
    else:
        click.echo(forwarder_plan.text(plans, jobs, Policy(why)))
