# SPDX-License-Identifier: Apache-2.0
"""`reprise doctor`: check this installation, and suggest remedies for problems."""

from __future__ import annotations

import json

import click

from reprise.doctor import findings
from reprise.doctor.diagnosis import asker, examine
from reprise.doctor.probes import run


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check this installation, and suggest a remedy for each problem.

    The exit status is 1 if anything does not work.
    """
    found = examine(ctx.obj, run, asker)
    if as_json:
        click.echo(json.dumps(findings.document(found), indent=2))
    else:
        for line in findings.lines(found):
            click.echo(line)
    if not findings.is_healthy(found):
        ctx.exit(1)
