# SPDX-License-Identifier: Apache-2.0
"""Test the recording of a mini-application in a Slurm job on four nodes, and the replay in another job."""

from __future__ import annotations

import json

import pytest

from bench.apps.jobs import CG, FT, NODES, App, place
from reprise.tuner.proxy.monitoring_matrix import MonitoringMatrix, differences, read_matrix
from tests.cluster.machine import VirtualCluster

pytestmark = pytest.mark.cluster

HOME = "/home/reprise/proxies"


def monitored(cluster: VirtualCluster, script: str, name: str) -> MonitoringMatrix:
    """Run a batch script with Open MPI's monitoring, and return the matrix of messages."""
    directory = f"{HOME}/{name}"
    cluster.run(["mkdir", "-p", directory], user="reprise")
    settings = {"enable": "2", "enable_output": "3", "filename": f"{directory}/rank"}
    told = {f"OMPI_MCA_pml_monitoring_{key}": value for key, value in settings.items()}
    end = cluster.wait_job(cluster.submit(script, user="reprise", cwd=HOME, env=told))
    assert end.state == "COMPLETED", end.output
    return read_matrix(cluster.path(f"{directory}/rank"), NODES)


@pytest.mark.parametrize("app", [CG, FT], ids=lambda app: app.name)
def test_a_replay_of_a_recorded_job_sends_what_it_sent(cluster: VirtualCluster, app: App) -> None:
    place(cluster, "S")
    script = f"{HOME}/{app.script}"
    cluster.write(script, app.text("S"), user="reprise")
    mix = script.replace(".sh", ".mix")
    cluster.run(
        ["reprise", "tune", "record", script, "--output", mix, "--timeout", "300"], user="reprise", timeout_s=250
    )
    done = cluster.run(["reprise", "tune", "replay", mix, script, "--json"], user="reprise")
    replay = json.loads(done.stdout)["script"]
    end = cluster.wait_job(cluster.submit(replay, user="reprise", cwd=HOME))
    said = json.loads(next(line for line in end.output.splitlines() if line.startswith("{")))
    assert said["ranks"] == NODES and said["slowest_s"] > 0
    assert {name for name, _ in app.calls} <= said["kinds"].keys()

    text = cluster.path(replay).read_text()
    bare = f"{HOME}/{app.name}.bare.sh"
    cluster.write(bare, text.replace("--compute full", "--bare --compute none"), user="reprise")
    application, proxy = monitored(cluster, script, f"{app.name}-app"), monitored(cluster, bare, f"{app.name}-proxy")
    assert list(differences(application, proxy)) == []
