# SPDX-License-Identifier: Apache-2.0
"""Test that the rules of two campaigns for the whole cluster are both in effect in an ordinary job."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Config
from reprise.database.entities import Campaign, Record, RecordStatus
from reprise.database.facade import Database
from reprise.tuner.campaign.publish import finish, given_already
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.model.component import TrialOutput, TrialPlan
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, describe
from reprise.tuner.openmpi.rules.releases import family_of, read
from reprise.tuner.openmpi.rules.writing import Form, write
from reprise.tuner.openmpi.rules_proof import with_oracle
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.unit.collectives_values import comparison

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
NAME = "openmpi-collectives"
PROBE = "/usr/local/libexec/reprise/reprise-rulesprobe"
NODES = 2
RULES_FILE = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
CALLS = [f"bcast:65536:{NODES}", f"allreduce:65536:{NODES}"]
JOB = f"""#!/bin/bash
#SBATCH -N {NODES} --ntasks-per-node=1
echo "file=${RULES_FILE}"
mpirun {PROBE} {" ".join(CALLS)}
"""
HAND_OVER = """
import json, sys
from pathlib import Path
from reprise.database import Database
from reprise.database.entities import Measurement, Record, RecordStatus, Scope
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    for one in json.loads(sys.argv[1]):
        one |= {key: Measurement(**one[key]) for key in ("default", "tuned")}
        database.add_record(Record(**{**one, "scope": Scope(one["scope"]), "status": RecordStatus(one["status"])}))
"""
FAILS = 13  # MPI_ERR_ARG, because a rule has an algorithm that does not exist


@pytest.fixture(scope="module")
def build() -> OpenMPIBuild:
    found = describe("ompi_info")
    if found.release[:2] != (4, 1):
        pytest.skip(f"the algorithms are those of Open MPI 4.1; installed is {found.version}")
    return found


@pytest.fixture(scope="module")
def cluster(build: OpenMPIBuild) -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=NODES) as machine:
        install(machine)
        config = machine.path("/etc/reprise/reprise.toml")
        text = config.read_text().replace("releases = []", f'releases = ["{build.version}"]', 1)
        config.write_text(text.replace("holdout = 0.05", "holdout = 0.0"))
        machine.write("/home/alice/job.sh", JOB, user="alice")
        yield machine


class Site:
    """Campaigns with a database outside the cluster. Their rules files are checked by launches on the cluster."""

    def __init__(self, cluster: VirtualCluster, build: OpenMPIBuild, database: Path) -> None:
        self.cluster = cluster
        self.build = build
        self.root = str(cluster.path("/")).rstrip("/")
        self.artifacts = cluster.path("/home/artifacts")
        self.artifacts.mkdir(mode=0o755)
        self.database = database
        Database.open(database, create=True).close()
        self.launches = 0

    def run(self, plan: TrialPlan) -> TrialOutput:
        """Run a launch that checks a rules file, with the host's paths converted to the cluster's paths."""
        self.launches += 1
        given = {name: value.removeprefix(self.root) for name, value in plan.environment.items()}
        argv = ["salloc", "-Q", f"-N{NODES}", "--ntasks-per-node=1", "mpirun", *plan.argv]
        done = self.cluster.run(argv, user="alice", env={**given, "REPRISE": "off"}, check=False)
        return TrialOutput(done.returncode, done.stdout, done.stderr, 0.0)

    def campaign(self, collective: str, algorithm: int) -> Record:
        """Store the result of a campaign that found an algorithm for a collective at 64 KiB; return its record."""
        settings = {"collectives": [collective], "sizes": [1024, 65536], "nodes": NODES}
        config = Config.model_validate({"site": {"cluster": "reprise"}, "openmpi": {"releases": [self.build.version]}})
        made = CollectivesComponent(NAME, "1", read_settings({}, settings), self.build, config)
        definition = check({"name": collective, "component": NAME, "scope": "cluster", "settings": settings}, "test")
        spec = {"metadata": {}, "problems": [{"problem": one.key} for one in made.problems()]}
        with Database.open(self.database) as database:
            context = {"cluster": "reprise", **made.context()}
            campaign = database.campaign(database.add_campaign(Campaign(collective, NAME, "1", 1.0, spec, context)))
            earlier = given_already(database, NAME)
            found = [comparison(f"{collective}/65536", algorithm, 0.5, 0.4, 0.6)]
            publications = made.publish_with(earlier, found, self.run, self.artifacts)
            (number,) = finish(database, campaign, definition, [], publications, 2.0 + self.launches, (), earlier)
            return database.record(number)

    def statuses(self) -> Sequence[RecordStatus]:
        with Database.open(self.database) as database:
            return [record.status for record in database.records(status=None)]

    def hand_over(self) -> None:
        """Pass all records to the cluster's matcher, with the host's paths converted to the cluster's paths."""
        with Database.open(self.database) as database:
            found = [dataclasses.asdict(record) for record in database.records(status=None)]
        for record in found:
            given = {name: value.removeprefix(self.root) for name, value in record["environment"].items()}
            record |= {"campaign_id": None, "artifact_sha256": None, "environment": given}
        self.cluster.run([*PYTHON, "-c", HAND_OVER, json.dumps(found)], user="reprise", cwd=SOURCE)


def told(output: str) -> tuple[str, dict[str, int]]:
    """Return the rules file and the return code of each collective that a job's output contains."""
    file, *lines = output.splitlines()
    found: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
    return file.removeprefix("file="), {one["collective"]: one["rc"] for one in found}


def test_the_rules_of_both_campaigns_are_in_effect_in_a_job(
    cluster: VirtualCluster, build: OpenMPIBuild, tmp_path: Path
) -> None:
    site = Site(cluster, build, tmp_path / "reprise.db")
    first = site.campaign("bcast", 6)
    alone = site.launches
    second = site.campaign("allreduce", 3)
    assert site.launches - alone == 3, "real launches prove a row of each collective, and the whole file"
    assert site.statuses() == [RecordStatus.RETIRED, RecordStatus.ACTIVE]
    path = second.environment[RULES_FILE]
    assert path != first.environment[RULES_FILE]
    text = Path(path).read_bytes()
    rules = read(text, family_of(build.version)).rules
    site.hand_over()
    with Daemon(cluster):
        ended = cluster.wait_job(cluster.submit("job.sh"))
        assert ended.state == "COMPLETED", ended
        file, codes = told(ended.output)
        assert file == path.removeprefix(site.root), "the job got the merged file"
        assert codes == {"bcast": 0, "allreduce": 0}
        # The test writes rules with an algorithm that does not exist, so a call fails if its rule is in effect.
        for collective in ("bcast", "allreduce"):
            Path(path).write_text(write(with_oracle(rules, collective, 0), Form.CLASSIC))
            _, codes = told(cluster.wait_job(cluster.submit("job.sh")).output)
            assert codes[collective] == FAILS, f"the rule for {collective} is not in effect"
            assert sum(codes.values()) == FAILS
        Path(path).write_bytes(text)
