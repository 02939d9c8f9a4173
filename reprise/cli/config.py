# SPDX-License-Identifier: Apache-2.0
"""`reprise config`: check a configuration file, and show the settings in effect."""

from __future__ import annotations

import json
from pathlib import Path

import click

from reprise.config import in_use, load
from reprise.notify.notify_error import NotifyError
from reprise.output import versioned


@click.group()
def config() -> None:
    """Check and show the configuration."""


@config.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def check(settings: object, path: Path | None, as_json: bool) -> None:
    """Check a configuration file, and report the first error.

    Without PATH, the file in use is checked.
    """
    chosen = path or getattr(settings, "path", None)
    load(chosen)
    file = in_use(chosen)
    if as_json:
        click.echo(json.dumps(versioned({"file": None if file is None else str(file)}), indent=2))
        return
    click.echo(f"{file or 'defaults'}: ok")


@config.command()
@click.pass_obj
def show(settings: object) -> None:
    """Print all settings in effect as JSON."""
    loaded = load(getattr(settings, "path", None))
    click.echo(json.dumps(versioned(loaded.model_dump(mode="json")), indent=2))


@config.command()
@click.pass_obj
def notify(settings: object) -> None:
    """Send a test notification in each way that `[notify]` configures, and report failures.

    Run it as the service user, who must be able to read the files of passwords and tokens.
    """
    from reprise.notify.delivery import deliver
    from reprise.notify.notification import sample

    loaded = load(getattr(settings, "path", None))
    if not loaded.notify.channels:
        raise NotifyError("no way of sending is configured: set `smtp`, `webhook` or `command` in [notify]")
    failed = {one.by: one.why for one in deliver(loaded.notify, sample(loaded.site.cluster))}
    for channel in loaded.notify.channels:
        click.echo(f"{channel}: {failed.get(channel, 'sent')}")
    if failed:
        raise NotifyError(f"not sent by {', '.join(failed)}: correct the settings of [notify]")
