# SPDX-License-Identifier: Apache-2.0
"""Test how the benchmark of real programs measures what a proxy's ranking costs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.real import proxy_loss
from bench.real.catalogue import Program
from bench.real.trial_points import NotFoundError, job_of, unverified
from reprise.config import Config, Tuner
from reprise.database.entities import Campaign
from reprise.tuner.definition import component_registry

PROGRAM = Program(name="one", script="", title="", packages=(), kind="mpi", right="")
COMPONENTS = Path(__file__).parents[3] / "etc/components"
TCP = {"eager_limit": [65536, 131072]}
ROMIO = {"io": ["as-it-is", "^ompio"], "romio_cb_write": ["automatic", "disable"]}
EAGER = "openmpi-tcp.eager_limit=131072"


@dataclass
class Cluster:
    """A fake cluster that answers which variables and files give a job the settings."""

    asked: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def run(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.asked = list(argv[argv.index("bench.real.trial_points") + 1 :])
        jobs = [{"environment": {"A": f"{{directory}}/{word}"}, "files": {word: "x"}} for word in self.asked[1:]]
        return subprocess.CompletedProcess(list(argv), 0, json.dumps(jobs), "")

    def write(self, path: str, text: str, user: str) -> None:
        self.files[path] = text


def test_the_loss_is_measured_in_rounds_with_both_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(cluster: Cluster, program: Program, environment: Mapping[str, str], *options: str) -> float:
        assert options == ("--reprise=off",)
        ran.append(environment["A"].rpartition("/")[2])
        return {"own": 2.0, "best": 2.1}[ran[-1]]

    monkeypatch.setattr(proxy_loss, "run_program", run)
    cluster = Cluster()
    found = proxy_loss.proxy_loss(cluster, PROGRAM, 7, {"best": "best", "own": "own"}, 4)  # type: ignore[arg-type]
    assert found == pytest.approx((0.05, 0.05, 0.05))
    assert sorted(ran) == ["best"] * 4 + ["own"] * 4 and cluster.asked == ["7", "own", "best"]
    assert cluster.files == {"/home/alice/real/one/proxy/0/own": "x", "/home/alice/real/one/proxy/1/best": "x"}


@pytest.mark.parametrize(
    ("proxy", "loss"),
    [
        (None, None),
        ({"made": False}, None),
        ({"best": "a", "own": "a"}, (0, 0, 0)),
        ({"best": None, "own": None}, None),
    ],
)
def test_nothing_runs_if_there_is_no_difference_to_measure(proxy: Any, loss: Any) -> None:
    assert proxy_loss.proxy_loss(Cluster(), PROGRAM, 7, proxy, 4) == loss  # type: ignore[arg-type]


def campaign(config: Config) -> Campaign:
    """A campaign on an application with the settings of TCP and of MPI-IO."""
    settings = {"nodes": 8, "components": {"openmpi-tcp": {"space": TCP}, "romio": {"space": ROMIO}}}
    component = component_registry.read("together", config, settings=settings)
    component["application"] = {
        "path": "/home/alice/job.sh",
        "script": "#!/bin/bash\n#SBATCH --nodes=8\nmpirun one\n",
        "directory": "/home/alice",
        "options": [],
    }
    spec = {"component": component, "definition": {"settings": settings}}
    return Campaign("one", "together", "1", 0.0, spec, {}, id=7)


def test_a_trials_setting_becomes_variables_and_files_without_the_witness() -> None:
    config = Config(tuner=Tuner(components=COMPONENTS))
    one = campaign(config)
    (problem,) = component_registry.build(
        unverified(one.spec["component"]), one.spec["definition"]["settings"], config
    ).problems()
    points = [
        problem.default,
        {**problem.default, "openmpi-tcp.eager_limit": 131072},
        {**problem.default, "romio.io": "^ompio", "romio.romio_cb_write": "disable"},
    ]
    found = job_of(one, points, EAGER, config)
    assert found["environment"]["OMPI_MCA_btl_tcp_eager_limit"] == "131072"
    hints = job_of(one, points, "romio.io=^ompio, romio.romio_cb_write=disable", config)
    assert hints["environment"]["ROMIO_HINTS"] == "{directory}/hints" and "LD_PRELOAD" not in hints["environment"]
    assert "romio_cb_write disable" in hints["files"]["hints"]
    assert job_of(one, points, "the default", config)["environment"] == {}
    with pytest.raises(NotFoundError, match="campaign 7 has no trial with nothing"):
        job_of(one, points, "nothing", config)
