# SPDX-License-Identifier: Apache-2.0
"""`reprise council`: learn the window of the I/O forwarders, and announce it to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.option("--configured", is_flag=True, help="Exit with 0 if council.listen is set, else with 1; do no more.")
@click.pass_obj
def council(settings: Settings, configured: bool) -> None:
    """Learn the window of the I/O forwarders, and announce it to them, in the foreground until SIGTERM.

    Each second, forwarders report their access patterns and bandwidths, and get the window that all of them use next.
    Without a council, they keep the window that they have. Knowledge survives a restart. Run it on the matcher's
    host as the matcher's user.
    """
    config = settings.config
    if configured:
        sys.exit(0 if config.council.listen else 1)
    from reprise.matcher.windows import council_daemon

    council_daemon.run(config)
