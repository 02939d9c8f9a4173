# SPDX-License-Identifier: Apache-2.0
"""Construction of the matcher's linkage model, decision rules and set of records from the configuration."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from reprise.config import Config
from reprise.database.entities import RecordText
from reprise.matcher.arbiter import job_variables
from reprise.matcher.decision.decide import Knowledge
from reprise.matcher.decision.guards import Policy
from reprise.matcher.decision.known_records import readable
from reprise.matcher.decision.site_access import access_of
from reprise.matcher.linkage.linkage_model import Model, load

OMPI_INFO_TIMEOUT_S = 10.0


def model_of(config: Config) -> Model:
    """Return the configured linkage model, with the configured threshold. Raises LinkageError."""
    return load(config.matcher.model, config.matcher.threshold)


def knowledge_of(records: Iterable[RecordText], model: Model, config: Config) -> Knowledge:
    """Return the records and the model, ready for linkage; records that cannot be read are logged and left out."""
    known = readable(records, job_variables.of_jobs(config.forwarding))
    return Knowledge(known, model, cluster_nodes=config.site.nodes, timezone=config.site.timezone)


def policy_of(config: Config) -> Policy:
    """Return the site's rules for decisions; if no Open MPI release is configured, `ompi_info` is asked for it."""
    return Policy(
        config.site.cluster,
        config.matcher.mode,
        _openmpi_releases(config),
        access_of(config.access),
        config.matcher.predicted,
        tuple(map(str, config.containers.visible)),
        str(config.tuner.preload_directory),
        tuple(config.mpich.releases),
    )


def _openmpi_releases(config: Config) -> tuple[str, ...]:
    """Return the configured Open MPI releases that jobs may load, by default the release that `ompi_info` reports."""
    if config.openmpi.releases:
        return tuple(config.openmpi.releases)
    command = shutil.which(config.openmpi.ompi_info)
    if command is None:
        return ()
    try:
        told = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=OMPI_INFO_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    first = (told.stdout.splitlines() or [""])[0]  # Open MPI v4.1.4
    return (first.removeprefix("Open MPI v"),) if first.startswith("Open MPI v") else ()
