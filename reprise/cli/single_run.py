# SPDX-License-Identifier: Apache-2.0
"""Options and functions for commands that run a batch script once, as a Slurm job or on this host."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.config import Config
    from reprise.tuner.executors.executor import Executor

EXECUTORS = ("slurm", "local")

SCRIPT = click.argument("script", type=click.Path(path_type=Path, dir_okay=False))
DIRECTORY = click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory to submit from (default: SCRIPT's directory).",
)
OPTIONS = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="WORD",
    help="Option of sbatch, e.g. --option=--partition=short; may be repeated.",
)
EXECUTOR = click.option(
    "--executor",
    type=click.Choice(EXECUTORS),
    default="slurm",
    show_default=True,
    help="Run SCRIPT as a Slurm job, or on this host.",
)
TIMEOUT = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=math.inf,
    help="Seconds after which the run is stopped (default: Slurm's limit for the job).",
)
TRACE = click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="ARCHIVE",
    help="Use this OTF2 trace (file NAME.otf2) of SCRIPT's program instead of recording a run.",
)


def name_of(what: str) -> str:
    """Return a unique name for a run and its directory, made from `what` and the current time."""
    return f"{what}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"


def executor(config: Config, kind: str, name: str, options: Sequence[str] = ()) -> Executor:
    """Return an executor of a kind in EXECUTORS; it passes `options` to sbatch in addition to the script's own options.

    Raise TunerError if the user is root, who must not run users' scripts.
    """
    from reprise.tuner.campaign.campaign_account import refuse_root
    from reprise.tuner.executors.job_executor import JobExecutor
    from reprise.tuner.executors.launch_lines import Launcher
    from reprise.tuner.executors.local_executor import LocalExecutor
    from reprise.tuner.executors.slurm_commands import SlurmCommands

    refuse_root(kind, config.database.path)
    if kind == "local":
        return LocalExecutor()
    return JobExecutor(SlurmCommands(), f"reprise-{name}", Launcher("none"), options, warn)


def writable(path: Path) -> None:
    """Raise TunerError if a file cannot be written, so that the error is reported before the run starts."""
    from reprise.tuner.errors import TunerError

    if not path.absolute().parent.is_dir():
        raise TunerError(f"{path}: cannot be written (no such directory): name another file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise TunerError(f"{path}: cannot be written (Permission denied): name another file")


def warn(line: str) -> None:
    """Print a line on standard error."""
    click.echo(line, err=True)
