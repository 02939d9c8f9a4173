# SPDX-License-Identifier: Apache-2.0
"""Test that the requests of `reprise-forge` go through a forwarder, and come back unchanged."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.forward.client.diod import PROGRAM as DIOD
from tests.forward.client.diod import Diod
from tests.once import built_once
from tests.places import ROOT

pytestmark = pytest.mark.slow

SOURCE = ROOT / "tuner/programs/forge"
SIZE, REQUEST = 2**21, 2**17


@pytest.mark.skipif(not Path(DIOD).exists(), reason="diod is missing")
def test_all_requests_of_a_pattern_go_through_the_forwarder(programs: Path, tmp_path: Path) -> None:
    def make(directory: Path) -> None:
        subprocess.run(["make", "--silent", "-C", SOURCE, f"BUILD={directory}"], check=True)

    forge = built_once("forge", "mpicc", SOURCE.glob("*.[ch]"), make) / "reprise-forge"
    files, address, report = tmp_path / "files", tmp_path / "diod.sock", tmp_path / "report"
    files.mkdir()
    (tmp_path / "map").write_text(f"reprise-forwarders 1\n{address}\n")
    given = {
        "REPRISE_FORWARD_MAP": tmp_path / "map",
        "REPRISE_FORWARD_PREFIXES": files,
        "REPRISE_FORWARD_AUTH": "none",
        "REPRISE_FORWARD_REPORT": report,
        "LD_PRELOAD": programs / "libreprise_forward.so",
    }
    steps = [
        f"open:strided:{files}/f",
        f"write:strided:{SIZE}:{REQUEST}:{files}/f",
        f"read:strided:{SIZE}:{REQUEST}:{files}/f",
        f"close:strided:{files}/f",
    ]
    loaded = ["env", *(f"{name}={value}" for name, value in given.items())]
    command = ["mpirun", "--oversubscribe", "-np", "2", *loaded, str(forge), "--validate", *steps]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    with Diod(address, files):
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **root}, timeout=100, check=False
        )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["write_bytes"], said["read_bytes"]) == (SIZE, SIZE)
    reports = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(reports) == 2
    assert [sum(one[key] for one in reports) for key in ("write_bytes", "read_bytes", "direct_calls")] == [
        SIZE,
        SIZE,
        0,
    ]
    assert not list(files.iterdir())
