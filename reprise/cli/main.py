# SPDX-License-Identifier: Apache-2.0
"""The command `reprise`: the groups of all parts, put together. A group's module is imported when it is used."""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
from functools import cached_property
from pathlib import Path

import click

from reprise import __version__
from reprise.config import Config, load
from reprise.errors import RepriseError

# command: (module, attribute, help in one line)
COMMANDS = {
    "status": ("reprise.cli.status", "status", "Show daemon, plugin, records, campaigns and savings."),
    "serve": ("reprise.cli.match", "serve", "Run the matcher daemon."),
    "match": ("reprise.cli.match", "match", "Explain decisions, and look at the models that make them."),
    "jobs": ("reprise.cli.jobs", "jobs", "Look for jobs, and for what to tune next."),
    "tune": ("reprise.cli.tune", "tune", "Run campaigns that find the best settings."),
    "rules": ("reprise.cli.rules", "rules", "Say what Open MPI makes of a rules file."),
    "web": ("reprise.cli.web", "web", "Serve pages, and print tokens for them."),
    "report": ("reprise.cli.report", "report", "Write down what settings gain in production."),
    "db": ("reprise.cli.db", "db", "Create, check and look into the database."),
    "config": ("reprise.cli.config", "config", "Check and show the configuration."),
    "doctor": ("reprise.cli.doctor", "doctor", "Say what is wrong with this installation, and what to do."),
}


class Settings:
    """What every command shares (click's `obj`): the configuration, read when first asked for."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @cached_property
    def config(self) -> Config:
        return load(self.path)


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reprise")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="REPRISE_CONFIG",
    help="Configuration file (default: /etc/reprise/reprise.toml).",
)
@click.option("-v", "--verbose", count=True, help="More about what is done; twice for details and tracebacks.")
@click.pass_context
def reprise(ctx: click.Context, config_path: Path | None, verbose: int) -> None:
    """Gives a Slurm job the best settings known for jobs like it."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    ctx.obj = Settings(config_path)


def main() -> None:
    """Entry point: a failure is one line on standard error and an exit status (1, or what the exception says)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names in letters that the locale has not
    try:
        reprise.main(standalone_mode=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # the last resort of a command line: no traceback for a user
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            raise
        expected = isinstance(error, RepriseError)
        hint = "" if expected else f" (unexpected {type(error).__name__}; run with -vv for details)"
        click.echo(f"reprise: {' '.join(str(error).split())}{hint}", err=True)
        sys.exit(error.exit_status if isinstance(error, RepriseError) else 1)
