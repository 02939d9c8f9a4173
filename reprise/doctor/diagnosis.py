# SPDX-License-Identifier: Apache-2.0
"""Run all of the doctor's checks in order, and collect the findings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, get_args

from reprise import __version__, endpoint
from reprise.config import Config, ConfigError, in_use
from reprise.database import filesystem, health
from reprise.doctor import credential_checks, plugin_checks, plugstack, service_checks, slurm_checks
from reprise.doctor.findings import Finding, Level, from_error, ok
from reprise.doctor.plugstack import Entry
from reprise.doctor.probes import Run
from reprise.doctor.service_checks import Ask
from reprise.doctor.slurm_checks import Slurm
from reprise.matcher.wire.credentials import CredentialSettings, MethodName, credential_settings

METHODS: tuple[MethodName, ...] = get_args(MethodName)


class Installed(Protocol):
    """Interface to this installation's configuration file and to its content."""

    @property
    def path(self) -> Path | None:
        """Path of the configuration file; None means the default file."""
        ...

    @property
    def config(self) -> Config:
        """Content of the configuration file. Raise ConfigError if the file is unusable."""
        ...


def examine(installed: Installed, run: Run, asker: Callable[[int, CredentialSettings], Ask]) -> list[Finding]:
    """Return the findings of all checks.

    `run` runs commands. `asker` returns a function that pings an endpoint, given the daemon's uid and how to
    authenticate over TCP.
    The plugin's endpoints are checked or, if Slurm does not load the plugin, those that commands use.
    """
    config: Config | None = None
    try:
        config = installed.config
        findings = [ok("config", str(in_use(installed.path) or "no file, all defaults"))]
    except ConfigError as error:
        findings = [from_error("config", error, "correct the file")]
    seen, slurm = slurm_checks.look(run)
    known = (config.matcher.socket, config.tuner.preload_directory) if config else (None, None)
    stack, entry = plugstack.examine(slurm.plugstack, *known)
    findings += [*seen, plugin_checks.plugin(slurm, entry), *stack]
    if not config:
        return findings
    asked = entry.endpoints if entry else endpoint.configured(config.matcher)
    uid, credential = _known_as(entry, config)
    is_tcp = bool(config.matcher.listen) or any(one.path is None for one in asked)
    findings += credential_checks.authentication(slurm, credential, is_tcp=is_tcp)
    ask = asker(uid, credential)
    answers = {one: service_checks.daemon(ask, one, __version__) for one in asked}
    findings += service_checks.one_is_enough(list(answers.values()))
    if any(one.path for one in asked) or "cluster" in config.site.model_fields_set:
        findings += slurm_checks.cluster(config.site.cluster, slurm)
    elsewhere = {one.path is None for one, finding in answers.items() if finding.level is Level.OK} == {True}
    if not elsewhere:
        findings += _service(config, run, slurm)
    files = [slurm.plugstack, in_use(installed.path)]
    return [*findings, service_checks.rights([*filter(None, files), *_trusted(config)])]


def _trusted(config: Config) -> list[Path]:
    """Return the paths that Reprise trusts or runs; whoever can write to them can affect other users' jobs."""
    tuner, shared = config.tuner, (config.matcher.publish, config.replica.records)
    own = (config.database.path, config.artifacts.directory, tuner.components, tuner.functions, tuner.preload_directory)
    return [*own, tuner.libexec, *filter(None, shared)]


def _service(config: Config, run: Run, slurm: Slurm) -> list[Finding]:
    from reprise.doctor.launcher_checks import launchers
    from reprise.matcher.wire.tokens import key_path
    from reprise.tuner.definition.campaign_definition import ExecutorSection

    def load_model() -> object:
        from reprise.matcher.linkage.linkage_model import load

        return load(config.matcher.model, config.matcher.threshold)

    socket, directory = config.matcher.socket, config.artifacts.directory
    mpi = str(ExecutorSection.model_fields["mpi"].default)
    return [
        *service_checks.socket(socket),
        *service_checks.closed(config.database.path, key_path(config)),
        *service_checks.database(config.database.path, health.examine),
        *(service_checks.database(config.database.url, health.examine) if config.database.url else ()),
        *service_checks.records(config.database.path, health.withdrawn),
        *service_checks.pages(config.web.listen, _tcp_sockets(), _owner(config.database.path)),
        service_checks.model(load_model, config.matcher.model),
        service_checks.openmpi(run, config),
        # If the cluster's name is unknown, slurmctld did not answer, and srun would wait for it.
        *(launchers(run, mpi, config.openmpi.mpirun) if slurm.cluster else ()),
        *service_checks.campaigns(config.tuner.work),
        *service_checks.artifacts(directory, config.site.nodes, filesystem.MOUNTS.read_text()),
    ]


def _tcp_sockets() -> str:
    found = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    return "".join(path.read_text() for path in found if path.exists())


def _owner(database: Path) -> int:
    """Return the uid of the database's owner, which is the user that runs the daemon and the web pages."""
    try:
        return database.stat().st_uid
    except OSError:
        return os.geteuid()


def _known_as(entry: Entry | None, config: Config) -> tuple[int, CredentialSettings]:
    """Return the uid whose replies are trusted over TCP, and how requests over TCP are authenticated."""
    if not entry:
        return config.matcher.uid, credential_settings(config.matcher)
    method = next((name for name in METHODS if name == entry.value("credential")), None)
    sockets = (entry.value(name) or "" for name in ("munge_socket", "sack_socket"))
    return int(entry.value("matcher_uid") or 0), CredentialSettings(method, *sockets)


def asker(uid: int, credential: CredentialSettings) -> Ask:
    """Return a function that pings an endpoint; over TCP, it trusts only replies from `uid`."""
    from reprise.matcher.wire.client import PING, ask_at

    return lambda endpoint: ask_at(endpoint, PING, uid, credential)
