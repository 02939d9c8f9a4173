# SPDX-License-Identifier: Apache-2.0
"""Test that the campaign file that Reprise proposes for a job needs no editing. A daemon has decided about the job."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.tuner.definition.campaign_definition import load
from tests.unit.matcher.daemon.test_server import outcome
from tests.unit.matcher_daemon import ME, Daemon, request

COMPONENT = """\
name: sleep
version: "1"
description: How long a script sleeps
kind: application
parameters:
  SRO_SIZE: {default: 4, values: [0, 1]}
"""
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --job-name=weather
mpirun /home/alice/bin/weather --days 5
"""


def run(daemon: Daemon, *words: str) -> str:
    done = CliRunner().invoke(reprise, ["--config", str(daemon.config), *words])
    assert done.exit_code == 0, done.output or done.exception
    return done.stdout


def test_a_proposed_campaign_can_be_planned_without_edits(daemon: Daemon, tmp_path: Path) -> None:
    components = tmp_path / "components"
    components.mkdir()
    (components / "sleep.yaml").write_text(COMPONENT)
    with daemon.config.open("a") as file:
        file.write(f'[tuner]\ncomponents = "{components}"\nwork = "{tmp_path}/work"\n')
    work = tmp_path / "home"
    work.mkdir()
    (work / "run.sh").write_text(SCRIPT)
    asked = request(SCRIPT)
    asked["submission"] |= {"argv": ["sbatch", "--job-name=forecast", "run.sh"], "cwd": str(work)}
    asked["submission"]["script"]["path"] = "./run.sh"
    daemon.start()
    reply = daemon.ask(asked)
    assert reply["verdict"] == "none"
    for state in ("started", "ended"):
        daemon.ask({**outcome(reply["id"], state), "verdict": "none"})
    daemon.stop()
    said = run(daemon, "jobs", "unmatched", "--campaign", str(tmp_path / "made"), "--component", "sleep")
    path = tmp_path / f"made/01-{ME}-weather-2-nodes.yaml"
    assert said.endswith(f"{path}: written\n"), "nothing in the file needs editing"
    application = load(path).application
    assert application is not None and application.script == work / "run.sh"
    assert "--job-name=forecast" in application.options
    assert "sbatch " in run(daemon, "tune", "plan", str(path))
