# SPDX-License-Identifier: Apache-2.0
"""Values for tests of collectives: Debian 12's Open MPI, made-up comparisons with the default, and a fake probe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from reprise.database.entities import Measurement
from reprise.tuner.model.component import Comparison, Runner, TrialOutput, TrialPlan
from reprise.tuner.openmpi.catalogue import compared_bytes
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, parse
from reprise.tuner.openmpi.rules.releases import FAMILIES, read
from reprise.tuner.openmpi.rules.rules_model import Choice, Rules, decide
from tests.places import UNIT

BUILD: OpenMPIBuild = parse((UNIT / "data/ompi_info_4.1.4.txt").read_text())


def comparison(problem: str, algorithm: int, gain: float, low: float, high: float, segment: int = 0) -> Comparison:
    tuned = 1 - gain
    return Comparison(
        problem,
        {"algorithm": algorithm, "segment": segment, "fanout": 4},
        Measurement(1.0, 0.9, 1.1, 5),
        Measurement(tuned, 0.9 * tuned, 1.1 * tuned, 5),
        gain,
        low,
        high,
    )


def rules_path(plan: TrialPlan) -> Path:
    return Path(plan.environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"])


def rules_in(text: str) -> Rules:
    """Return the rules that Open MPI 4.1.4 reads from a file with this text."""
    return read(text.encode(), FAMILIES[0]).rules


def decision(text: str, collective: str, ranks: int, size: int) -> Choice:
    """Return the choice of Open MPI 4.1.4 with a rules file; `size` is the size that 4.1.4 compares with the rules."""
    return decide(rules_in(text), collective, 1, ranks, size)


def open_mpi(reader: Callable[[str], Rules] = rules_in) -> Runner:
    """Return a runner that answers like the probe on Open MPI 4.1.4, if Open MPI read rules files as `reader` does."""

    def run(plan: TrialPlan) -> TrialOutput:
        rules = reader(rules_path(plan).read_text())
        lines = []
        for call in plan.argv[1:]:
            name, size, ranks = call.split(":")[0], *map(int, call.split(":")[1:])
            choice = decide(rules, name, 1, ranks, compared_bytes(name, size, ranks))
            wrong = choice.algorithm not in BUILD.algorithms[name]
            lines.append(json.dumps({"collective": name, "size": size, "ranks": ranks, "rc": 13 if wrong else 0}))
        return TrialOutput(0, "\n".join(lines), "", 0.1)

    return run
