# SPDX-License-Identifier: Apache-2.0
"""`reprise doctor`: what is wrong with this installation, and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from database import filesystem, health
from matcher import endpoint
from reprise import __version__, doctor_plugstack, doctor_report, doctor_service, doctor_slurm
from reprise.cli import Settings
from reprise.config import Config, ConfigError, in_use
from reprise.doctor_plugstack import Entry
from reprise.doctor_probes import Run, run
from reprise.doctor_report import Finding, Level, from_error, ok
from reprise.doctor_service import Ask


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Say what is wrong with this installation, and what to do; exit status 1 if anything does not work."""
    findings = examine(ctx.obj, run, _asker)
    if as_json:
        click.echo(json.dumps(doctor_report.document(findings), indent=2))
    else:
        for line in doctor_report.lines(findings):
            click.echo(line)
    if not doctor_report.is_healthy(findings):
        ctx.exit(1)


def examine(settings: Settings, run: Run, asker: Callable[[int, str], Ask]) -> list[Finding]:
    """All findings. `run` runs commands; what `asker` makes of a uid and munged's socket pings an endpoint.

    The daemon is asked for where the plugin asks, or, where no plugin is loaded, where our commands do.
    """
    config: Config | None = None
    try:
        config = settings.config
        findings = [ok("config", str(in_use(settings.path) or "no file, all defaults"))]
    except ConfigError as error:
        findings = [from_error("config", error, "correct the file")]
    seen, slurm = doctor_slurm.look(run)
    known = (config.matcher.socket, config.tuner.preload_directory) if config else (None, None)
    stack, entry = doctor_plugstack.examine(slurm.plugstack, *known)
    findings += [*seen, doctor_slurm.plugin(slurm, entry), *stack]
    if not config:
        return findings
    asked = entry.endpoints if entry else endpoint.configured(config.matcher)
    ask = asker(*_known_as(entry, config))
    answers = {one: doctor_service.daemon(ask, one, __version__) for one in asked}
    findings += doctor_service.one_is_enough(list(answers.values()))
    elsewhere = {one.path is None for one, finding in answers.items() if finding.level is Level.OK} == {True}
    if not elsewhere:
        findings += _service(config, run)
    files = [slurm.plugstack, in_use(settings.path)]
    return [*findings, doctor_service.rights([*filter(None, files), *_trusted(config)])]


def _trusted(config: Config) -> list[Path]:
    """What is believed, or run, by what it says: who may write there has a say in other users' jobs."""
    tuner, shared = config.tuner, (config.matcher.publish, config.replica.records)
    own = (config.database.path, config.artifacts.directory, tuner.components, tuner.functions, tuner.preload_directory)
    return [*own, tuner.libexec, *filter(None, shared)]


def _service(config: Config, run: Run) -> list[Finding]:
    def load_model() -> object:
        from matcher.linkage.model import load

        return load(config.matcher.model, config.matcher.threshold)

    socket, directory = config.matcher.socket, config.artifacts.directory
    return [
        *doctor_service.socket(socket),
        *doctor_service.database(config.database.path, health.examine),
        doctor_service.model(load_model, config.matcher.model),
        doctor_service.openmpi(run, config),
        *doctor_service.artifacts(directory, config.site.nodes, filesystem.MOUNTS.read_text()),
    ]


def _known_as(entry: Entry | None, config: Config) -> tuple[int, str]:
    """The user id that is believed over TCP, and munged's socket, "" for the usual one."""
    if entry:
        return int(entry.value("matcher_uid") or 0), entry.value("munge_socket") or ""
    return config.matcher.uid, str(config.matcher.munge_socket or "")


def _asker(uid: int, munge_socket: str) -> Ask:
    from matcher.client import PING, ask_at

    return lambda endpoint: ask_at(endpoint, PING, uid, munge_socket)
