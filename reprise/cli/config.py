# SPDX-License-Identifier: Apache-2.0
"""`reprise config`: check a configuration file, fill it in at the first start, and show the settings in effect."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path

import click

from reprise.config import DEFAULT_PATH, ConfigError, in_use, load
from reprise.notify.notify_error import NotifyError
from reprise.output import versioned


@click.group()
def config() -> None:
    """Check, fill in and show the configuration."""


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


@config.command()
@click.option("-n", "--dry-run", is_flag=True, help="Show what was found, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def init(settings: object, dry_run: bool, as_json: bool) -> None:
    """Ask Slurm and Open MPI for the site's settings, and write those that the file does not change yet.

    The settings are site.cluster and site.nodes (from scontrol), and openmpi.releases (from ompi_info). Values that
    were changed in the file are kept. The service reprise-config runs this command before the matcher's first start.
    """
    from reprise.doctor import first_settings
    from reprise.doctor.probes import run

    chosen = getattr(settings, "path", None)
    path = in_use(chosen) or DEFAULT_PATH
    found = first_settings.look(run, load(chosen))
    new = [one for one in found if one.is_new]
    if new and not dry_run:
        _write(path, first_settings.filled(_text(path), new))
    if as_json:
        written = bool(new) and not dry_run
        click.echo(json.dumps(versioned(first_settings.document(found, str(path), written)), indent=2))
        return
    for one in found:
        click.echo(one.text())
    names = ", ".join(one.name for one in new)
    if not new:
        click.echo(f"{path}: unchanged")
    else:
        click.echo(
            f"{path}: {'would get' if dry_run else 'now has'} {names}; a running matcher reads it when it restarts"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    """Replace the file by a valid one, with the same owner and mode. Raise ConfigError if this fails."""
    draft, path = None, path.resolve()
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as file:
            draft = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        load(draft)
        if path.exists():
            before = path.stat()
            os.chown(draft, before.st_uid, before.st_gid)
            draft.chmod(stat.S_IMODE(before.st_mode))
        else:
            draft.chmod(0o644)
        draft.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be written ({error.strerror}): check the disk, or run this as root"
        ) from error
    finally:
        if draft:
            draft.unlink(missing_ok=True)
