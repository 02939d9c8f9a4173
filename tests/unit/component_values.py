# SPDX-License-Identifier: Apache-2.0
"""Components of kind `application` for tests: the shipped components, and small ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from reprise.config import Forwarding
from reprise.tuner.components import forwarded
from reprise.tuner.components.application import ApplicationComponent, Workload
from reprise.tuner.components.component_file import read
from reprise.tuner.executors.executor import Begun, TrialResult
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.model.component import TrialPlan
from tests.places import ROOT

SHIPPED = ROOT / "etc" / "components"
FILES = ROOT / "tests/unit/tuner/components/files"
"""Further components, of kinds that no shipped component has."""
NEEDS: Mapping[str, Mapping[str, str]] = {
    "sbb": {"targets": "/fs1/alice", "flavor": "small"},
    "lustre": {"target": "/lustre/alice/run"},
}
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --output=mine.out

# the solver
mpirun ./solve "$@"
"""
WORKLOAD = Workload("/home/alice/solve.sh", SCRIPT, "/home/alice")


def definition(parameters: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the content of a small component's file with these parameters; `changes` replace or add keys."""
    return {
        "name": "small",
        "version": "1",
        "description": "for tests",
        "kind": "application",
        "parameters": parameters,
        **changes,
    }


def shipped(name: str) -> dict[str, Any]:
    path = SHIPPED / f"{name}.yaml"
    found: dict[str, Any] = yaml.safe_load((path if path.exists() else FILES / path.name).read_text())
    return found


def component(
    content: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    workload: Workload = WORKLOAD,
    preload: Sequence[str] = (),
) -> ApplicationComponent:
    description = read(content, settings or {})
    name = description.activation.library
    library = [f"/usr/local/lib/libreprise_{name}.so"] if name else []
    forwarding = forwarded.inputs(description, Forwarding(forwarders=["10.0.0.1:564"], prefixes=[Path("/scratch")]))
    return ApplicationComponent(
        description, workload, None, "cluster", [*library, *preload], Path("/usr/local/lib"), forwarding
    )


def run_locally(plan: TrialPlan, directory: Path) -> TrialResult:
    """Run one trial on this host to its end, and return its result."""
    with LocalExecutor() as executor:
        executor.start(Begun("trial", plan, directory))
        while not (found := executor.poll(10)):
            pass
    return found[0].result
