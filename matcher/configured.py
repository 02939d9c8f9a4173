# SPDX-License-Identifier: Apache-2.0
"""The model, the policy and the knowledge that a configuration asks for."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from database.model import RecordText
from matcher.access import access_of
from matcher.decide import Knowledge
from matcher.guards import Policy
from matcher.linkage.model import Model, load
from matcher.records import readable
from reprise.config import Config

OMPI_INFO_TIMEOUT_S = 10.0


def model_of(config: Config) -> Model:
    """The configured model, with the configured threshold. Raises LinkageError."""
    return load(config.matcher.model, config.matcher.threshold)


def knowledge_of(records: Iterable[RecordText], model: Model, config: Config) -> Knowledge:
    """The records and the model, ready for linkage; a record that cannot be read is logged and left out."""
    return Knowledge(readable(records), model, cluster_nodes=config.site.nodes, timezone=config.site.timezone)


def policy_of(config: Config) -> Policy:
    """The configuration's rules for decisions."""
    return Policy(
        config.site.cluster,
        config.matcher.mode,
        _openmpi_releases(config),
        access_of(config.access),
        config.matcher.predicted,
    )


def _openmpi_releases(config: Config) -> tuple[str, ...]:
    """The Open MPI releases that jobs may load: as configured, else the one that `ompi_info` names, else none."""
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
