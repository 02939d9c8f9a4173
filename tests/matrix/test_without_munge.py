# SPDX-License-Identifier: Apache-2.0
"""Test the plugin and a daemon over TCP on clusters without munge, and on clients that have lost its library."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprise.database import Database
from tests.cluster.machine import JobEnd, VirtualCluster
from tests.cluster.product import install_plugin
from tests.cluster.spec import HEAD_ADDRESS, SERVICE_UID
from tests.matrix.host_python import install_reprise
from tests.matrix.results import WithoutMunge
from tests.matrix.roots import RELEASES, fill
from tests.places import ROOT
from tests.unit.matcher_daemon import RULES, SCRIPT, Daemon, job, record
from tests.waiting import wait_for

pytestmark = pytest.mark.matrix

WITH_AUTH_SLURM = [WithoutMunge(one) for one in RELEASES if one.slurm >= "23.11"]
PORT = 7817
PLUGSTACK = "/etc/slurm/plugstack.conf.d/test.conf"
LINE = f"optional spank_reprise.so endpoint=tcp:{HEAD_ADDRESS}:{PORT} matcher_uid={SERVICE_UID} deadline_ms=1000\n"
SCRIPT_OF_ONE_NODE = SCRIPT.replace("nodes=4", "nodes=1")
# Runs a command in a private mount namespace, in which libmunge cannot be loaded.
HIDDEN = (
    "unshare",
    "--mount",
    "sh",
    "-c",
    'for file in /usr/lib/*/libmunge.so.2; do mount --bind /dev/null "$file"; done; '
    f'exec setpriv --reuid={SERVICE_UID} --regid={SERVICE_UID} --clear-groups "$@"',
    "-",
)


class ServiceDaemon(Daemon):
    """A daemon that runs on the host's system, in the cluster's network, as the cluster's user `reprise`.

    The root of the release does not contain the Python packages that the daemon needs. The daemon reaches slurmctld's
    socket through a descriptor, because users other than root cannot enter the cluster's root from outside.
    """

    def __init__(self, directory: Path, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.sockets = os.open(cluster.path("/run/slurmctld"), os.O_PATH | os.O_DIRECTORY)
        super().__init__(
            directory,
            f'listen = "{HEAD_ADDRESS}:{PORT}"',
            'munge_socket = "/nowhere"',
            f'sack_socket = "/proc/self/fd/{self.sockets}/sack.socket"',
        )
        text = self.config.read_text()
        self.config.write_text(text.replace('cluster = "test"', f'cluster = "{cluster.spec.name}"'))

    def spawn(self, *_: object, **__: object) -> None:
        """Start the process."""
        for path in (self.socket.parent.parent, *self.socket.parent.parent.rglob("*")):
            os.chown(path, SERVICE_UID, SERVICE_UID)
        enter = ["nsenter", "--target", str(self.cluster.pid), "--net"]
        drop = ["setpriv", f"--reuid={SERVICE_UID}", f"--regid={SERVICE_UID}", "--clear-groups"]
        serve = [sys.executable, "-m", "reprise", "--config", str(self.config), "serve"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*enter, *drop, *serve],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                pass_fds=(self.sockets,),
            )

    def stop(self) -> int:
        """Stop the daemon with SIGTERM, and return its exit status."""
        os.close(self.sockets)
        return super().stop()


@pytest.fixture(scope="module", params=WITH_AUTH_SLURM, ids=str)
def chosen(request: pytest.FixtureRequest) -> WithoutMunge:
    found: WithoutMunge = request.param
    return found


@pytest.fixture(scope="module")
def cluster(chosen: WithoutMunge) -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=1, root=fill(chosen.release), plugstack=LINE, auth="slurm") as machine:
        done = install_plugin(machine)
        assert (done.returncode, done.stderr) == (0, "")
        machine.write("/home/alice/job.sh", SCRIPT_OF_ONE_NODE, user="alice")
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/usr/local/bin/mpirun", "#!/bin/sh\nenv\nexit 3\n", mode=0o755)
        install_reprise(machine)
        machine.write("/etc/reprise/reprise.toml", f'[site]\ncluster = "{machine.spec.name}"\n')
        yield machine


@pytest.fixture(scope="module")
def daemon(cluster: VirtualCluster) -> Iterator[Daemon]:
    directory = Path(tempfile.mkdtemp(prefix="reprise-sack-"))  # a directory that the user `reprise` may enter
    directory.chmod(0o755)
    daemon = ServiceDaemon(directory, cluster)
    alice = str(cluster.uid("alice"))  # the uid, because the daemon's host has no account for this user
    context = {"cluster": cluster.spec.name, "nodes": 1, "tasks_per_node": 1, "openmpi": ["4.1.4"]}
    daemon.add(record(metadata=job(alice, SCRIPT_OF_ONE_NODE).to_json(), context=context))
    try:
        daemon.start()
        started = int(time.time())
        wait_for("a second whose tokens are accepted", lambda: int(time.time()) > started)
        yield daemon
    finally:
        print(daemon.text())  # noqa: T201 (pytest shows it if a test failed)
        daemon.stop()
        shutil.rmtree(directory)


def is_decided(end: JobEnd) -> bool:
    return {f"{name}={value}" for name, value in RULES.items()} <= set(end.output.splitlines())


def test_the_cluster_has_no_munge_and_the_plugin_loads(cluster: VirtualCluster) -> None:
    config = cluster.run(["scontrol", "show", "config"]).stdout
    assert re.search(r"AuthType\s*= auth/slurm", config)
    assert cluster.run(["munge", "-n"], check=False).returncode != 0
    assert "libmunge" not in cluster.run(["find", "/usr", "-name", "libmunge.so*"]).stdout
    assert "--reprise=" in cluster.run(["sbatch", "--help"], user="alice").stdout
    done = cluster.run(["sbatch", "--parsable", "--reprise=off", "job.sh"], user="alice")
    assert done.stderr == "" and not is_decided(cluster.wait_job(int(done.stdout)))


def test_jobs_are_decided_and_reported_over_tcp(cluster: VirtualCluster, daemon: Daemon) -> None:
    assert daemon.log_contains(rf"serving-tcp .*uid={SERVICE_UID} credentials=(munge,)?slurm")
    from_login = cluster.wait_job(cluster.submit("job.sh"))
    done = cluster.run(["sbatch", "--parsable"], user="alice", stdin=SCRIPT_OF_ONE_NODE)
    from_node = cluster.wait_job(int(done.stdout))
    assert is_decided(from_login), daemon.text()
    assert is_decided(from_node), daemon.text()

    def points() -> list[str]:
        return re.findall(r"event=decision .*point=(\w+) verdict=apply", daemon.text())

    wait_for("both decisions in the log", lambda: points() == ["submit", "start"], 20)

    def outcome(end: JobEnd) -> object:
        with Database.open(daemon.database, read_only=True) as database:
            return [run.exit_status for run in database.outcomes_of_job(cluster.spec.name, end.job_id)]

    for end in (from_login, from_node):
        wait_for("the outcome", lambda end=end: outcome(end) == [3 << 8], 20)  # type: ignore[misc]


@pytest.mark.parametrize("node", ["", "node0"], ids=["login", "node0"])
def test_the_doctor_finds_nothing_wrong(
    cluster: VirtualCluster, daemon: Daemon, chosen: WithoutMunge, node: str
) -> None:
    done = cluster.run(["reprise", "doctor", "--json"], user="alice", node=node, check=False)
    found = {one["check"]: (one["level"], one["text"]) for one in json.loads(done.stdout)["findings"]}
    assert done.returncode == 0 and {level for level, _ in found.values()} == {"ok"}, done.stdout
    assert found["plugin"][1].endswith(f"spank_reprise.so, built for Slurm {chosen.release.slurm}")
    socket = "/run/slurm/sack.socket" if node else "/run/slurmctld/sack.socket"
    assert found["auth"][1].startswith(f"auth/slurm; over TCP: Slurm ({socket})")
    assert found["daemon"][1] == f"answers on tcp:{HEAD_ADDRESS}:{PORT}, knows 1 record"


def test_without_a_socket_of_slurm_a_job_runs_and_slurmds_log_says_why(cluster: VirtualCluster) -> None:
    cluster.write(PLUGSTACK, LINE.replace("deadline_ms", "sack_socket=/nowhere deadline_ms"))
    try:
        end = cluster.wait_job(cluster.submit("job.sh"))
    finally:
        cluster.write(PLUGSTACK, LINE)
    assert not is_decided(end) and "reprise:" not in end.output
    log = cluster.path("/var/log/slurm/slurmd-node0.log").read_text()
    assert log.count("reprise: this host cannot authenticate over TCP: ") == 1


def test_a_client_that_lost_libmunge_behaves_as_without_the_plugin(chosen: WithoutMunge) -> None:
    """Slurm's own commands need the library on a cluster with munge; the plugin must add nothing to their failure."""
    with VirtualCluster(nodes=1, root=fill(chosen.release)) as machine:
        assert install_plugin(machine).returncode == 0
        install_reprise(machine)

        def run(*argv: str) -> subprocess.CompletedProcess[str]:
            return machine.run([*HIDDEN, *argv], cwd="/tmp", check=False)

        def submitted(line: str, *options: str) -> tuple[int, str, str]:
            machine.write(PLUGSTACK, line)
            done = run("sbatch", *options, "--wrap=true")
            return done.returncode, done.stdout, done.stderr

        assert submitted(LINE) == submitted("")
        assert "unrecognized option" not in submitted(LINE, "--reprise=off")[2]
        said = run("reprise", "doctor").stdout
        missing = "libmunge.so.2 cannot be loaded"
        assert re.search(rf"^problem +auth .*{missing}.* the package libmunge2 ", said, re.MULTILINE), said
        assert re.search(r"^problem +slurm .*auth plugin\): .* the package libmunge2 ", said, re.MULTILINE), said
