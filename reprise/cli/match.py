# SPDX-License-Identifier: Apache-2.0
"""`reprise serve`: run the matcher daemon; `reprise match`: explain its decisions and evaluate its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reprise.cli import match_calibrate as calibration_cli
from reprise.cli import match_evaluate as evaluation_cli
from reprise.cli import match_explain, match_model
from reprise.cli.aliases import former

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Run the matcher daemon in the foreground until SIGTERM.

    SIGHUP reloads configuration, model and records. Changes to the addresses, the database path, the limits and the
    retention take effect after a restart. The daemon logs to standard error, uses the socket that systemd passes, if
    any, and notifies systemd when it is ready.
    """
    from reprise.config import load
    from reprise.matcher.daemon import daemon

    daemon.run(lambda: load(settings.path))


@click.group()
def match() -> None:
    """Explain decisions, and evaluate and calibrate the models that make them."""


match.add_command(match_explain.explain)
match.add_command(match_explain.nearest)
match.add_command(former(match_explain.nearest, "top"))
match.add_command(match_model.model)
match.add_command(evaluation_cli.evaluate)
match.add_command(calibration_cli.calibrate)
