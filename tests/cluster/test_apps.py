# SPDX-License-Identifier: Apache-2.0
"""Test ordinary users' mini-applications with and without a rules file that the site applies to all MPI jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.apps.jobs import APPS, CG, FILE, FT, NODES, SWITCH, App, Run, place, readable, run
from reprise.tuner.openmpi.installed_build import describe
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import SOURCE, Daemon
from tests.cluster.spec import PYTHON

pytestmark = pytest.mark.cluster

PATH = "/var/lib/reprise/artifacts/apps.conf"
# The rules for allgather (0), allreduce (2) and alltoall (3) on 4 ranks: ring, recursive doubling, pairwise.
RULES = "3\n0 1 4 1 0 4 0 0\n2 1 4 1 0 3 0 0\n3 1 4 1 0 2 0 0\n"
# The rules above, except that the rule for allgather (for cg) or alltoall (for ft) names an algorithm that does not
# exist.
BROKEN = {CG: RULES.replace("0 4 0 0", "0 13 0 0"), FT: RULES.replace("0 2 0 0", "0 13 0 0")}
# Adds a record for all MPI jobs on NODES nodes, and prints the record's id.
RECORD = f"""
from pathlib import Path
from reprise.database import Database
from reprise.database.entities import Scope
from tests.unit.matcher_daemon import record
context = dict(cluster="reprise", nodes={NODES}, tasks_per_node=1, openmpi=["{{release}}"])
environment = {{{{"{SWITCH}": "1", "{FILE}": "{PATH}"}}}}
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    print(database.add_record(record(scope=Scope.CLUSTER, metadata={{{{}}}}, context=context, environment=environment)))
"""


@pytest.fixture(scope="module")
def site(cluster: VirtualCluster) -> Iterator[VirtualCluster]:
    """Install the programs and the rules file, and run a daemon with a record that applies this file."""
    place(cluster, "S")
    cluster.write(PATH, RULES, user="reprise")
    code = RECORD.format(release=describe("ompi_info").version)
    record = cluster.run([*PYTHON, "-c", code], user="reprise", cwd=SOURCE).stdout.strip()
    with Daemon(cluster):
        yield cluster
    cluster.run(["reprise", "records", "retire", record], user="reprise")


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_results_are_right_with_the_rules_file_and_without(site: VirtualCluster, app: App) -> None:
    told = {given: run(site, app, *options) for given, options in ((PATH, ()), ("", ("--reprise=off",)))}
    assert {given: Run(True, one.seconds, given) for given, one in told.items()} == told
    assert readable(site, PATH, app.user)


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_the_rules_file_decides_the_application_s_calls(site: VirtualCluster, app: App) -> None:
    path = f"/home/{app.user}/broken.conf"
    site.write(path, BROKEN[app], user=app.user)
    with pytest.raises(ClusterError, match="MPI_ERR_ARG"):
        run(site, app, f"--export=ALL,{SWITCH}=1,{FILE}={path}")
