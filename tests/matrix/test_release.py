# SPDX-License-Identifier: Apache-2.0
"""Test what may differ between releases: builds, exports, links, a real daemon, and a build for another Slurm."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reprise.database import Database
from reprise.doctor import plugin_checks, slurm_checks
from reprise.doctor.findings import Finding, Level
from reprise.doctor.probes import Ran
from tests.cluster.machine import JobEnd, VirtualCluster
from tests.cluster.product import BUILD, SOCKET, install_plugin
from tests.matrix.roots import RELEASES, Release, fill
from tests.unit.matcher_daemon import RULES, SCRIPT, Daemon, job, record
from tests.waiting import wait_for

pytestmark = pytest.mark.matrix

PLUGIN = f"{BUILD}/spank/spank_reprise.so"
PLUGSTACK = "/etc/slurm/plugstack.conf.d/test.conf"
LINE = "optional spank_reprise.so\n"
EXPORTS = {"plugin_name", "plugin_type", "plugin_version", "spank_plugin_version"}
LIBRARIES = r"lib(c|dl|json-c)\.so\.\d+|ld-linux-.*"
# Lines with variables that differ between any two jobs.
PER_JOB = re.compile(r"(SLURM_JOB_?ID|SLURM_JOB_SLUID|SLURM_TASK_PID|SLURM_JOB_(START|END)_TIME|_)=")
CARRIED = "SLURM_SPANK_REPRISE="  # the variable with which a submission passes its decision to the job
SCRIPT_OF_ONE_NODE = SCRIPT.replace("nodes=4", "nodes=1")
FAILS = "#!/bin/sh\nenv | sort\nsrun sh -c 'env | grep -v ^SLURM_ | sort'\nexit 7\n"


@pytest.fixture(scope="module")
def cluster(root: Path) -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=1, root=root, plugstack=LINE) as machine:
        machine.run(["mkdir", "-p", "/run/reprise"])
        machine.write("/home/alice/fails.sh", FAILS, user="alice")
        machine.write("/home/alice/job.sh", SCRIPT_OF_ONE_NODE, user="alice")
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/usr/local/bin/mpirun", "#!/bin/sh\nenv\nexit 3\n", mode=0o755)
        yield machine


@pytest.fixture(scope="module")
def installed(cluster: VirtualCluster) -> None:
    """Build the plugin for this release, and install it; the last tests of this file replace it."""
    done = install_plugin(cluster)
    assert (done.returncode, done.stderr) == (0, "")


def plugin_loads(cluster: VirtualCluster) -> bool:
    return "--reprise=" in cluster.run(["sbatch", "--help"], user="alice").stdout


def run(cluster: VirtualCluster, script: str, *options: str) -> JobEnd:
    return cluster.wait_job(cluster.submit(script, *options))


def doctor(cluster: VirtualCluster) -> Finding:
    """Return the finding of `reprise doctor` about the plugin; Slurm's commands run on the cluster."""

    def ask(argv: Sequence[str]) -> Ran:
        done = cluster.run(argv, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    _, slurm = slurm_checks.look(ask)
    places = tuple(cluster.path(place) for place in slurm.plugin_directories)
    # This host does not load the plugin, which was built for another Debian release. `sbatch --help` tests that Slurm
    # loads it.
    return plugin_checks.plugin(dataclasses.replace(slurm, plugin_directories=places), None, load=lambda _: None)


def test_the_cluster_runs_this_release(cluster: VirtualCluster, release: Release) -> None:
    said = cluster.run(["sbatch", "--version"]).stdout
    assert re.search(rf"\b{release.slurm}\.", said), (
        f"{release.name} has another release: correct tests/matrix/roots.py"
    )
    assert f"{release.slurm}." in cluster.run(["scontrol", "show", "config"]).stdout


def test_the_plugin_compiles_without_a_warning_and_loads(
    cluster: VirtualCluster, installed: None, release: Release
) -> None:
    assert plugin_loads(cluster)
    finding = doctor(cluster)
    assert (finding.level, finding.text.endswith(f"built for Slurm {release.slurm}")) == (Level.OK, True)


def test_the_plugin_exports_only_what_slurm_looks_up(cluster: VirtualCluster, installed: None) -> None:
    lines = cluster.run(["nm", "-D", "--defined-only", "--format=posix", PLUGIN]).stdout.splitlines()
    names = {line.split()[0] for line in lines}
    assert {"plugin_name", "plugin_type", "plugin_version", "slurm_spank_init"} <= names
    assert {name for name in names - EXPORTS if not name.startswith("slurm_spank_")} == set()


def test_the_plugin_links_only_libc_and_jsonc(cluster: VirtualCluster, installed: None) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", cluster.run(["readelf", "-d", PLUGIN]).stdout)
    assert "libc.so.6" in needed
    assert [name for name in needed if not re.fullmatch(LIBRARIES, name)] == []


def test_a_daemon_decides_and_learns_how_the_job_ended(
    cluster: VirtualCluster, installed: None, tmp_path: Path
) -> None:
    daemon = Daemon(tmp_path)
    daemon.socket = cluster.path(SOCKET)
    daemon.configure()
    alice = str(cluster.uid("alice"))  # the uid, because the daemon's host has no account for this user
    context = {"cluster": "test", "nodes": 1, "tasks_per_node": 1, "openmpi": ["4.1.4"]}
    daemon.add(record(metadata=job(alice, SCRIPT_OF_ONE_NODE).to_json(), context=context))
    daemon.start()
    try:
        end = run(cluster, "job.sh", "--export=NONE")

        def outcome() -> object:
            with Database.open(daemon.database, read_only=True) as database:
                return [run.exit_status for run in database.outcomes_of_job(cluster.spec.name, end.job_id)]

        assert {f"{name}={value}" for name, value in RULES.items()} <= set(end.output.splitlines()), daemon.text()
        wait_for("the outcome", lambda: outcome() == [3 << 8], 20)
    finally:
        daemon.stop()


def test_without_a_daemon_a_job_is_as_without_the_plugin(cluster: VirtualCluster, installed: None) -> None:
    with_plugin = run(cluster, "fails.sh")
    cluster.write(PLUGSTACK, "")
    without = run(cluster, "fails.sh")
    cluster.write(PLUGSTACK, LINE)
    assert (with_plugin.state, with_plugin.exit_status) == (without.state, without.exit_status) == ("FAILED", 7)
    assert lines_of(with_plugin) == lines_of(without) != []


def lines_of(end: JobEnd) -> list[str]:
    return [line for line in end.output.splitlines() if not PER_JOB.match(line)]


@pytest.mark.parametrize("which", [0, -1], ids=["the oldest of the others", "the newest"])
def test_a_build_for_another_release_is_refused_and_stops_no_job(
    cluster: VirtualCluster, release: Release, which: int
) -> None:
    other = [one for one in RELEASES if one != release][which]
    headers = f"/root/{other.suite}"
    shutil.copytree(fill(other) / "usr/include/slurm", cluster.path(headers) / "slurm", dirs_exist_ok=True)
    refused = install_plugin(cluster, f"CPPFLAGS=-I{headers}")
    line = refused.stderr.splitlines()[0]
    assert refused.returncode and f"built for Slurm {other.slurm}" in line and f"{release.slurm} is installed" in line

    forced = install_plugin(cluster, f"CPPFLAGS=-I{headers}", f"SLURM_RELEASE={other.slurm}")
    assert (forced.returncode, forced.stderr) == (0, "")
    finding = doctor(cluster)
    assert f"was built for Slurm {other.slurm}, but this is {release.slurm}" in finding.text
    assert "make install-plugin" in finding.remedy
    end = run(cluster, "fails.sh")
    assert (end.state, end.exit_status, CARRIED in end.output) == ("FAILED", 7, False)
    said = cluster.run(["srun", "true"]).stderr
    if release.slurm == "20.11":  # loads plugins built for any release, so the plugin itself must refuse to work
        assert f"reprise: built for Slurm {other.slurm}.x, but this is 20.11." in said
        assert cluster.run(["srun", "true"], user="alice").stderr == ""
    else:
        assert re.search(rf"Incompatible Slurm plugin .*spank_reprise\.so version \({other.slurm}\.", said)


def test_a_plugin_that_does_not_load_stops_no_job(cluster: VirtualCluster, release: Release) -> None:
    """Test a plugin that needs a missing library; since 25.11, Slurm prints nothing about it if it is optional."""
    places = cluster.run(["scontrol", "show", "config"]).stdout
    (place,) = re.findall(r"PluginDir\s*= (\S+)", places)
    cluster.write("/root/broken.c", "int x;\n")
    cluster.run(["cc", "-shared", "-o", "/root/libgone.so", "/root/broken.c"])
    link = ["cc", "-shared", "-o", f"{place}/spank_reprise.so", "/root/broken.c", "-Wl,--no-as-needed"]
    cluster.run([*link, "-L/root", "-lgone"])
    cluster.run(["rm", "/root/libgone.so"])
    said = cluster.run(["srun", "true"], user="alice").stderr
    assert said.count("\n") == (0 if release.slurm >= "25.11" else 1 if release.slurm == "20.11" else 2), said
    end = run(cluster, "fails.sh")
    assert (end.state, end.exit_status, "error:" in end.output) == ("FAILED", 7, bool(said))
