# SPDX-License-Identifier: Apache-2.0
"""`reprise serve`, and the group `reprise match`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from matcher import explain_cli, model_cli
from matcher.calibration import cli as calibration_cli
from matcher.evaluation import cli as evaluation_cli

if TYPE_CHECKING:
    from reprise.cli import Settings


@click.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Run the matcher daemon in the foreground until SIGTERM; SIGHUP reads configuration, model and records again
    (where it listens and the database is, the limits and the retention take a restart).

    It logs to standard error, takes its socket from systemd where one is passed, and tells systemd when it is ready.
    """
    from matcher import daemon
    from reprise.config import load

    daemon.run(lambda: load(settings.path))


@click.group()
def match() -> None:
    """Explain decisions, and look at the models that make them."""


match.add_command(explain_cli.explain)
match.add_command(explain_cli.top)
match.add_command(model_cli.model)
match.add_command(evaluation_cli.evaluate)
match.add_command(calibration_cli.calibrate)
