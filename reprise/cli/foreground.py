# SPDX-License-Identifier: Apache-2.0
"""Run a campaign in the foreground, stop it cleanly at a signal, and show its result."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.config import Config
    from reprise.database.entities import Campaign
    from reprise.database.facade import Database

PLAIN_WIDTH = 120  # width in characters of a table that is written to a file
INTERRUPTED_STATUS = 130  # exit status that shells use for SIGINT
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # sent by Ctrl-C, a service manager, and a closed terminal


def go(database: Database, campaign: Campaign, config: Config, as_json: bool) -> Sequence[int]:
    """Run a campaign to its end, show its result, and return the ids of its records.

    Exit with INTERRUPTED_STATUS if a signal stops the campaign.
    """
    records = run(database, campaign, config)
    show(database, campaign.id, config, as_json)
    return records


def run(database: Database, campaign: Campaign, config: Config) -> Sequence[int]:
    """Run a campaign to its end and return the ids of its records; exit with INTERRUPTED_STATUS at a signal."""
    from reprise.tuner.campaign import session
    from reprise.tuner.report import progress

    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # under nohup, SIGHUP stays ignored
            signal.signal(number, _interrupt)
    report = progress.for_terminal()
    report.say(f"campaign {campaign.id}: {campaign.name} ({campaign.component} {campaign.component_version})")
    try:
        return session.run(database, campaign, config, report)
    except KeyboardInterrupt:
        click.echo(f"campaign {campaign.id} is stopped: continue with `reprise tune resume {campaign.id}`", err=True)
        sys.exit(INTERRUPTED_STATUS)


def _interrupt(*_: object) -> None:
    """Handle a signal: stop the campaign cleanly, so that it can be resumed, and ignore further signals."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    click.echo("stopping and releasing the nodes", err=True)
    raise KeyboardInterrupt


def show(
    database: Database, campaign_id: int, config: Config, as_json: bool, more: Mapping[str, Any] | None = None
) -> None:
    """Print a campaign's state, result and record; with `as_json`, also print them as JSON.

    The JSON document also contains the entries of `more`.
    """
    from rich.console import Console

    from reprise.tuner.report import campaign_overview

    described: dict[str, Any] = campaign_overview.describe(database, database.campaign(campaign_id), config)
    console = Console(stderr=as_json, highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    if described["problems"]:
        console.print(campaign_overview.table(described))
    for remark in described["remarks"]:
        console.print(f"note: {remark}", markup=False, soft_wrap=True)
    console.print(campaign_overview.last_words(described), markup=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps(versioned({**described, **(more or {})}), sort_keys=True))
