# SPDX-License-Identifier: Apache-2.0
"""`reprise arbiter`: share out I/O forwarders among the running jobs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.cli.main import Settings


@click.command()
@click.option("--configured", is_flag=True, help="Exit with 0 if forwarders are configured, else with 1; do no more.")
@click.pass_obj
def arbiter(settings: Settings, configured: bool) -> None:
    """Share out I/O forwarders among the running jobs, in the foreground until SIGTERM.

    The arbiter writes a map for each running job that uses forwarders, and changes it when jobs or forwarders come and
    go. Without an arbiter, jobs keep the maps that they have. A restart loses nothing; it is needed after changes of
    the configuration. Run it on the matcher's host as the matcher's user, who must see all jobs in squeue.
    """
    config = settings.config
    if configured:
        sys.exit(0 if config.forwarding.forwarders else 1)
    from reprise.matcher.forwarding import arbiter_daemon

    arbiter_daemon.run(config)
