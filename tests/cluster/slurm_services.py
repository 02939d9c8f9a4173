# SPDX-License-Identifier: Apache-2.0
"""Services that a site may run besides slurmctld and slurmd: slurmdbd, another cluster, slurmrestd and scrontab.

These services end with the cluster.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.machine import VirtualCluster
from tests.cluster.spec import SOURCE
from tests.waiting import wait_for

CONF = "/etc/slurm/slurm.conf"
FAR = "far"
ACCOUNT, MEMBER = "science", "bob"  # the only account in slurmdbd's database, and its only user
FAR_CONF = "/etc/slurm-far/slurm.conf"
SLURMRESTD_SOCKET = "/run/slurmrestd/socket"
DATABASE = "/var/lib/slurm-accounting"
SYSTEM_DATABASE = "CREATE DATABASE mysql;\nUSE mysql;\n"  # for the stored procedure with which slurmdbd reads users
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=login
ScronParameters=enable
DebugFlags=NO_CONF_HASH
"""
SLURMDBD = f"""\
AuthType=auth/munge
DbdHost=login
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
# socket of the database: {DATABASE}/socket, by MYSQL_UNIX_PORT
"""


def answers(cluster: VirtualCluster, *argv: str) -> None:
    """Run a Slurm command on the cluster repeatedly until it succeeds, for up to 30 s."""
    wait_for(" ".join(argv), lambda: cluster.run(argv, check=False).returncode == 0, 30, every_s=0.05)


def start_accounting(cluster: VirtualCluster, more: str = "") -> None:
    """Start slurmdbd with a separate database, and make the controller use it; `-M` and slurmrestd need slurmdbd.

    `more` contains further lines of slurm.conf.
    """
    for directory in (DATABASE, f"{DATABASE}/data"):
        cluster.run(["install", "-d", "-o", "reprise", "-m", "755", directory])
    data = ["--no-defaults", f"--datadir={DATABASE}/data", "--innodb-log-file-size=8M"]
    tables = cluster.path("/usr/share/mysql/mysql_system_tables.sql").read_text()
    cluster.run(["mariadbd", *data, "--bootstrap"], user="reprise", stdin=f"{SYSTEM_DATABASE}{tables}")
    served = ["--skip-networking", f"--socket={DATABASE}/socket", "--skip-grant-tables"]
    fast = ["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"]
    cluster.popen(["mariadbd", *data, *served, *fast], user="reprise", log="/var/log/slurm/mariadbd.out")
    wait_for("the database", lambda: cluster.path(f"{DATABASE}/socket").exists(), 30)
    cluster.write("/etc/slurm/slurmdbd.conf", SLURMDBD, mode=0o600)
    cluster.popen(["slurmdbd", "-D"], env={"MYSQL_UNIX_PORT": f"{DATABASE}/socket"}, log="/var/log/slurm/slurmdbd.out")
    conf = cluster.path(CONF)
    conf.write_text(conf.read_text() + ACCOUNTING + more)
    answers(cluster, "sacctmgr", "--noheader", "show", "cluster")
    cluster.run(["sacctmgr", "--immediate", "add", "cluster", cluster.spec.name, FAR])
    cluster.run(["sacctmgr", "--immediate", "add", "account", ACCOUNT])
    cluster.run(["sacctmgr", "--immediate", "add", "user", MEMBER, f"account={ACCOUNT}"])
    restart_controller(cluster)  # the controller reads all accounting data when it starts


def restart_controller(cluster: VirtualCluster) -> None:
    pid = cluster.path("/run/slurmctld.pid").read_text().strip()
    cluster.run(["kill", pid])
    wait_for("the controller's end", lambda: not cluster.path(f"/proc/{pid}").exists(), 20)
    cluster.popen(["slurmctld", "-D"], log="/var/log/slurm/slurmctld.out")
    listed = ["sinfo", "--noheader", "--format=%T"]
    wait_for("the nodes", lambda: set(cluster.run(listed, check=False).stdout.split()) == {"idle"}, 30, every_s=0.05)


def start_far_cluster(cluster: VirtualCluster) -> None:
    """Start another Slurm cluster, `far`, with one node, on the login node; `-M far` submits jobs to it."""
    text = cluster.path(CONF).read_text()
    kept = [line for line in text.splitlines() if not line.startswith(("ClusterName", "NodeName", "Partition"))]
    text = "\n".join(kept).replace("/var/spool/", "/var/spool/far-").replace("/run/slurm", "/run/far-slurm")
    text = text.replace("/var/log/slurm/", "/var/log/slurm/far-") + (
        f"\nClusterName={FAR}\nSlurmctldPort=6827\nSlurmdPort=6828\n"
        f"NodeName={FAR}0 NodeHostname=login NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000\n"
        f"PartitionName=main Nodes={FAR}0 Default=YES State=UP\n"
    )
    cluster.write(FAR_CONF, text)
    cluster.run(["mkdir", "-p", "/var/spool/far-slurmctld", f"/var/spool/far-slurmd-{FAR}0"])
    cluster.popen(["slurmctld", "-D", "-f", FAR_CONF], log="/var/log/slurm/far-slurmctld.out")
    slurmd = ["slurmd", "-D", "-N", f"{FAR}0", "-f", FAR_CONF]
    cluster.popen(slurmd, log="/var/log/slurm/far-slurmd.out")
    listed = ["sinfo", "--clusters", FAR, "--noheader", "--format=%T"]
    wait_for("the far cluster", lambda: "idle" in cluster.run(listed, check=False).stdout, 30, every_s=0.05)


def start_slurmrestd(cluster: VirtualCluster, user: str) -> None:
    """Start slurmrestd for a user on a Unix socket, so that the kernel identifies the clients (rest_auth/local)."""
    cluster.run(["install", "-d", "-o", user, "/run/slurmrestd"])
    argv = ["slurmrestd", "-a", "rest_auth/local", f"unix:{SLURMRESTD_SOCKET}"]
    cluster.popen(argv, user=user, log="/var/log/slurm/slurmrestd.out")
    wait_for("slurmrestd", lambda: cluster.path(SLURMRESTD_SOCKET).exists(), 20)


def install_scrontab(cluster: VirtualCluster) -> None:
    """Install the replacement for `scrontab`, linked to libslurmfull, which has the private functions that it needs."""
    found = next(Path("/usr/lib").glob("*/slurm*/libslurmfull.so"), None)
    assert found, "libslurmfull.so is not in the directory where Debian installs it"
    library = found.parent
    source = f"{SOURCE}/tests/cluster/scrontab.c"
    words = ["cc", "-D_GNU_SOURCE", "-o", "/usr/local/bin/scrontab", source, f"-L{library}", "-lslurmfull"]
    cluster.run([*words, f"-Wl,-rpath,{library}"])
