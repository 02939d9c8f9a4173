# SPDX-License-Identifier: Apache-2.0
"""The command `reprise` with all its subcommands; a subcommand's module is imported only when it is used."""

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

# Module, attribute and one line of help, by command.
COMMANDS = {
    "status": ("reprise.cli.status", "status", "Show daemon, plugin, records, campaigns and savings."),
    "serve": ("reprise.cli.match", "serve", "Run the matcher daemon."),
    "match": ("reprise.cli.match", "match", "Explain decisions, and evaluate and calibrate models."),
    "jobs": ("reprise.cli.jobs", "jobs", "Find jobs, their results, and candidates for tuning."),
    "tune": ("reprise.cli.tune", "tune", "Run campaigns that find the best settings."),
    "rules": ("reprise.cli.rules", "rules", "Show how Open MPI reads a rules file."),
    "arbiter": ("reprise.cli.arbiter", "arbiter", "Share out I/O forwarders among the running jobs."),
    "council": ("reprise.cli.council", "council", "Learn the window of the I/O forwarders, and announce it to them."),
    "forwarders": ("reprise.cli.forwarders", "forwarders", "Show the pool of I/O forwarders, and who serves a job."),
    "web": ("reprise.cli.web", "web", "Serve the web pages, and print tokens for them."),
    "report": ("reprise.cli.report", "report", "Report what settings gain in production."),
    "records": ("reprise.cli.records", "records", "List records, show their gain, enable and disable them."),
    "db": ("reprise.cli.db", "db", "Create, check, copy and inspect the database."),
    "config": ("reprise.cli.config", "config", "Check, fill in and show the configuration."),
    "doctor": ("reprise.cli.doctor", "doctor", "Check this installation, and suggest remedies."),
}


class Settings:
    """State that all commands share (click's `obj`): the configuration, which is read when it is first used."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @cached_property
    def config(self) -> Config:
        """Content of the configuration file. Raise ConfigError if the file is unusable."""
        return load(self.path)


class LazyGroup(click.Group):
    """Group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command with this name; return None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing their modules."""
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
@click.option("-v", "--verbose", count=True, help="Log more; -vv adds details and tracebacks.")
@click.pass_context
def reprise(ctx: click.Context, config_path: Path | None, verbose: int) -> None:
    """Give each Slurm job the best settings known for jobs like it."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    ctx.obj = Settings(config_path)


def main() -> None:
    """Run the command line; if it fails, print one line and exit with 1 or the exception's exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may have characters that the locale cannot encode
    try:
        reprise.main(standalone_mode=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # so that users see one line instead of a traceback
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            raise
        expected = isinstance(error, RepriseError)
        hint = "" if expected else f" (unexpected {type(error).__name__}; run with -vv for details)"
        click.echo(f"reprise: {' '.join(str(error).split())}{hint}", err=True)
        sys.exit(error.exit_status if isinstance(error, RepriseError) else 1)
