# SPDX-License-Identifier: Apache-2.0
"""`reprise serve`, and the group `reprise match`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reprise.cli import match_calibrate as calibration_cli
from reprise.cli import match_evaluate as evaluation_cli
from reprise.cli import match_explain, match_model

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Run the matcher daemon in the foreground until SIGTERM; SIGHUP reads configuration, model and records again
    (where it listens and the database is, the limits and the retention take a restart).

    It logs to standard error, takes its socket from systemd where one is passed, and tells systemd when it is ready.
    """
    from reprise.config import load
    from reprise.matcher.daemon import daemon

    daemon.run(lambda: load(settings.path))


@click.group()
def match() -> None:
    """Explain decisions, and look at the models that make them."""


match.add_command(match_explain.explain)
match.add_command(match_explain.top)
match.add_command(match_model.model)
match.add_command(evaluation_cli.evaluate)
match.add_command(calibration_cli.calibrate)
