# SPDX-License-Identifier: Apache-2.0
"""Test that a virtual cluster has the specified properties, can run next to another, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import keeper, machine
from tests.cluster.machine import CHECKOUT, ClusterError, VirtualCluster
from tests.cluster.spec import SOURCE
from tests.nobody import as_nobody
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def shared() -> Iterator[VirtualCluster]:
    """Start a cluster for tests that do not change it."""
    with VirtualCluster(nodes=3) as cluster:
        yield cluster


def host_state() -> dict[str, object]:
    """Return the state of all parts of the host that a cluster could change."""
    return {
        "hosts": Path("/etc/hosts").read_text(),
        "passwd": Path("/etc/passwd").read_text(),
        "slurm.conf": Path("/etc/slurm/slurm.conf").exists(),
        "links": {p.name for p in Path("/sys/class/net").iterdir()},
        "mounts": {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()},
    }


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_nodes_have_their_own_names_addresses_and_private_tmp(shared: VirtualCluster) -> None:
    seen = [shared.run(["hostname"], node=f"node{i}").stdout.strip() for i in range(3)]
    assert seen == ["node0", "node1", "node2"]
    shared.run(["touch", "/tmp/mine"], node="node0")
    assert shared.run(["test", "-e", "/tmp/mine"], node="node1", check=False).returncode != 0
    assert "10.99.0.2" in shared.run(["ip", "-brief", "address"], node="node1").stdout


def test_links_are_shaped_both_ways() -> None:
    with VirtualCluster(nodes=1, rate="100mbit") as cluster:
        for where in ("", "node0"):
            assert "tbf" in (shown := cluster.run(["tc", "qdisc"], node=where).stdout)
            assert "rate 100Mbit" in shown


def test_an_ordinary_user_runs_a_job_on_all_nodes(shared: VirtualCluster) -> None:
    shared.write("/home/bob/job.sh", "#!/bin/bash\nid -un\nsrun hostname\n", user="bob")
    end = shared.wait_job(shared.submit("job.sh", "-N3", user="bob"))
    assert (end.state, end.exit_status) == ("COMPLETED", 0)
    assert sorted(end.output.split()) == ["bob", "node0", "node1", "node2"]


def test_ranks_of_different_nodes_yield_the_core_that_they_share(shared: VirtualCluster) -> None:
    """If ranks did not yield, a message would take one tick of the kernel, and a campaign would measure the tick."""
    told = shared.run(["ompi_info", "--all", "--parsable"], node="node0").stdout.splitlines()
    assert "mca:mpi:base:param:mpi_yield_when_idle:value:true" in told


def test_ranks_of_different_nodes_are_not_bound_to_the_same_core(shared: VirtualCluster) -> None:
    """If ranks were bound, the first ranks of all nodes would share one core of this host; other cores would idle."""
    mine = "mpirun -N 1 grep Cpus_allowed_list /proc/self/status"
    shared.write("/home/alice/bound.sh", f"#!/bin/bash\n{mine}\n", user="alice")
    end = shared.wait_job(shared.submit("bound.sh", "-N3", user="alice"))
    assert end.state == "COMPLETED", end.output
    all_of_them = Path("/proc/self/status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
    assert [line.split()[-1] for line in end.output.splitlines() if "Cpus" in line] == [all_of_them] * 3


def test_a_command_that_does_not_end_is_named(shared: VirtualCluster) -> None:
    with pytest.raises(ClusterError, match=r"root: sleep 60: not finished within 1 s"):
        shared.run(["sleep", "60"], timeout_s=1)


def test_nodes_keep_to_a_cpu_each_where_that_is_wanted() -> None:
    usable = sorted(os.sched_getaffinity(0))
    with VirtualCluster(nodes=2, pinned=True) as cluster:
        done = cluster.run(["srun", "-N2", "grep", "Cpus_allowed_list", "/proc/self/status"], user="alice")
    told = {int(line.split()[1]) for line in done.stdout.splitlines()}
    assert told == {usable[0], usable[1 % len(usable)]}


def test_a_daemon_that_dies_ends_what_waits_for_it_and_is_named() -> None:
    """A slurmd once died of a fault unrelated to Reprise, and a whole test run then waited for jobs on its node."""
    with VirtualCluster(nodes=2) as cluster:
        endless = cluster.popen(["srun", "-w", "node1", "sleep", "1000"], user="alice")
        states = ["squeue", "--noheader", "--format=%T"]
        wait_for("the job's start", lambda: cluster.run(states).stdout.split() == ["RUNNING"], 30)
        cluster.run(["sh", "-c", "kill -ABRT $(cat /run/slurmd-node0.pid)"], check=False)
        assert endless.wait(timeout=20)
        with pytest.raises(ClusterError, match=r"^slurmd of node0 died \(SIGABRT\): .*/slurmd-node0.out of the"):
            cluster.run(["true"])
        assert "slurmd-node0.out" in cluster.logs()


@pytest.mark.parametrize("part", ["cluster", "matrix"])
def test_the_logs_of_a_cluster_are_shown_where_a_test_fails(tmp_path: Path, part: str) -> None:
    (tmp_path / "conftest.py").write_text(f"from tests.{part}.conftest import pytest_runtest_makereport\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom tests.cluster.machine import VirtualCluster\n"
        "@pytest.fixture\ndef cluster():\n    with VirtualCluster(nodes=1) as running:\n        yield running\n"
        "def test_it(cluster):\n    assert False\n"
    )
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert "logs of the virtual cluster" in done.stdout and "==> slurmctld.log <==" in done.stdout


def test_a_daemon_that_is_told_to_end_may_do_so() -> None:
    with VirtualCluster(nodes=1) as cluster:
        pid = cluster.path("/run/slurmd-node0.pid").read_text().strip()
        cluster.run(["kill", pid])
        wait_for("the end of slurmd", lambda: not cluster.path(f"/proc/{pid}").exists(), 20)
        cluster.run(["true"])


def test_a_daemon_that_dies_while_the_cluster_starts_is_named() -> None:
    with pytest.raises(ClusterError, match=r"slurmctld died \(exit 1\): .*fatal"):
        VirtualCluster(nodes=0).start()


def test_nodes_open_a_credential_once_each_as_nodes_with_a_munged_of_their_own_do(shared: VirtualCluster) -> None:
    credential = shared.run(["munge", "-n"]).stdout
    for node in ("node0", "node1"):
        shared.run(["unmunge"], node=node, stdin=credential)
    replayed = shared.run(["unmunge"], node="node1", stdin=credential, check=False)
    assert "Replayed credential" in replayed.stderr + replayed.stdout


@pytest.mark.parametrize("latency_us", [0, 500])
def test_two_clusters_stand_side_by_side_and_leave_nothing(latency_us: int) -> None:
    before = host_state()
    with VirtualCluster(nodes=1, latency_us=latency_us) as one, VirtualCluster(nodes=2, latency_us=latency_us) as two:
        pids = [one.pid, two.pid]
        assert one.run(["sinfo", "-h", "-o", "%D"]).stdout.split()[0] == "1"
        assert two.run(["sinfo", "-h", "-o", "%D"]).stdout.split()[0] == "2"
    assert not any(alive(pid) for pid in pids)
    assert host_state() == before


@pytest.mark.parametrize("latency_us", [0, 500])
def test_the_cluster_ends_when_its_owner_is_killed(latency_us: int) -> None:
    before = host_state()
    program = (
        "from tests.cluster.machine import VirtualCluster\n"
        f"cluster = VirtualCluster(nodes=1, latency_us={latency_us}); cluster.start()\n"
        "print(cluster.pid, cluster.spec.cpu_group, flush=True); input()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    words = owner.stdout.readline().split()
    pid, group = int(words[0]), words[1]
    assert alive(pid)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    wait_for("the cluster's end", lambda: not alive(pid), 15)
    if groups := keeper.cpu_groups():
        wait_for("its group's end", lambda: not any(groups.glob(f"{group}-*")), 15)
    wait_for("the end of everything that the cluster created", lambda: host_state() == before, 15)


@pytest.mark.skipif(keeper.cpu_groups() is None, reason="this machine has no groups of the CPU scheduler")
def test_what_a_killed_keeper_has_left_the_next_one_removes() -> None:
    groups = keeper.cpu_groups()
    assert groups
    dead = subprocess.Popen(["true"])
    dead.wait()
    theirs = [groups / f"{machine.unique_name(keeper.GROUP_PREFIX)}-{pid}" for pid in (dead.pid, os.getpid())]
    for group in theirs:
        group.mkdir()
    try:
        with keeper.cpu_group(machine.unique_name(keeper.GROUP_PREFIX)):
            assert [group.exists() for group in theirs] == [False, True]
    finally:
        theirs[1].rmdir()


@pytest.mark.parametrize(("latency_us", "words"), [(0, "tc qdisc"), (500, "invalid rate 'fast'")])
def test_a_cluster_that_cannot_start_says_why_and_leaves_nothing(latency_us: int, words: str) -> None:
    before = host_state()
    with pytest.raises(ClusterError, match=words):
        VirtualCluster(nodes=1, rate="fast", latency_us=latency_us).start()
    assert host_state() == before


def test_without_root_one_line_says_what_is_needed() -> None:
    with as_nobody(), pytest.raises(ClusterError, match=r"needs root .*: run this as root"):
        machine.check_host()


def test_a_checkout_that_users_cannot_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CHECKOUT", tmp_path)
    tmp_path.chmod(0o700)
    with pytest.raises(ClusterError, match=f"chmod -R a.rX {tmp_path}"):
        VirtualCluster().start()


def test_a_file_by_its_name_on_the_host_is_refused_as_a_cluster_may_not_see_it() -> None:
    """A checkout below /tmp or /home on the host has a different path on the cluster."""
    with pytest.raises(ClusterError, match=f"{CHECKOUT}/demo/solver is a path on the host: .* at {SOURCE}"):
        VirtualCluster().command(["install", "-D", f"{CHECKOUT}/demo/solver", "/srv/solver"], user="root")
