# SPDX-License-Identifier: Apache-2.0
"""A service user's directory on a virtual cluster, for campaigns of the fake component."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests import fake_component
from tests.cluster.machine import VirtualCluster, unique_name
from tests.cluster.spec import PYTHONPATH, SOURCE

REPRISE = [f"{SOURCE}/.venv/bin/python", "-m", "tests.fake_component"]
ENVIRONMENT = {"PYTHONPATH": PYTHONPATH, "PYTHONDONTWRITEBYTECODE": "1"}


class Site:
    """A service user's directory on the cluster, with a separate database."""

    environment = ENVIRONMENT

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.home = f"/home/reprise/{unique_name('site')}"
        self.log = f"{self.home}/log"
        self.write("components/fake.yaml", fake_component.FILE)
        self.write("db/.keep", "")
        self.write("app.sh", "#!/bin/bash\n#SBATCH -N 4\nsrun ./heat --steps 3\n")
        self.write(
            "reprise.toml",
            f'[database]\npath = "{self.home}/db/reprise.db"\n[artifacts]\ndirectory = "{self.home}/artifacts"\n'
            f'[tuner]\ncomponents = "{self.home}/components"\nwork = "{self.home}/work"\n',
        )
        self.reprise("db", "init")

    def write(self, name: str, text: str) -> str:
        self.cluster.write(f"{self.home}/{name}", text, user="reprise")
        return f"{self.home}/{name}"

    def command(self, *arguments: str) -> list[str]:
        return [*REPRISE, "--config", f"{self.home}/reprise.toml", *arguments]

    def reprise(self, *arguments: str, check: bool = True) -> Any:
        return self.cluster.run(self.command(*arguments), user="reprise", env=ENVIRONMENT, check=check)

    def campaign(self, kind: str, settings: dict[str, Any], **executor: Any) -> str:
        definition = {
            "name": "test",
            "component": "fake",
            "settings": {"log": self.log, "nodes": 4, **settings},
            "application": {"script": f"{self.home}/app.sh", "user": "alice"},
            "search": {"method": "random", "budget": 2},
            "noise": {"policy": "none"},
            "repetitions": {"default_runs": 1, "final_pairs": 2},
            "executor": {"kind": kind, **executor},
        }
        return self.write("campaign.yaml", yaml.safe_dump(definition))

    def start(self, file: str) -> Any:
        return self.cluster.popen(
            self.command("tune", "run", file, "--yes"), user="reprise", env=ENVIRONMENT, log=f"{self.home}/out"
        )

    def runs(self) -> list[str]:
        path = self.cluster.path(self.log)
        return path.read_text().splitlines() if path.exists() else []

    def pid(self) -> str:
        """Return the coordinator's process id on the cluster, from the coordinator's lock file."""
        lock = next(self.cluster.path(f"{self.home}/work").glob("*/lock"))
        return lock.read_text().split()[1]

    def jobs(self) -> list[str]:
        """Return the id and name of each job that is pending or running. Jobs that are completing are left out."""
        asked = ["squeue", "--noheader", "--user=reprise", "--states=PENDING,RUNNING", "--format=%A %j"]
        return self.cluster.run(asked).stdout.splitlines()

    def status(self, campaign: int = 1) -> dict[str, Any]:
        said = self.reprise("tune", "status", str(campaign), "--json").stdout
        result: dict[str, Any] = json.loads(said.splitlines()[-1])
        return result
