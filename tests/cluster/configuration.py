# SPDX-License-Identifier: Apache-2.0
"""The configuration files of a virtual cluster: hosts, users, Slurm and Open MPI.

`init.py` writes these files to the cluster's private root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.cluster.spec import FIRST_UID, HEAD, HEAD_ADDRESS, SERVICE_UID, Spec, node_address, node_name

FIRST_WITH_CGROUP_PLUGIN = (22, 5)  # Slurm's daemons of earlier releases exit if cgroup.conf sets a plugin


def write(path: str, text: str, mode: int = 0o644) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(mode)


def _append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


def write_hosts(spec: Spec) -> None:
    lines = ["127.0.0.1 localhost", f"{HEAD_ADDRESS} {HEAD}"]
    lines += [f"{node_address(i)} {node_name(i)}" for i in range(spec.nodes)]
    write("/etc/hosts", "\n".join(lines) + "\n")


def add_users(spec: Spec) -> None:
    """Add the service account `reprise` and the ordinary users to the cluster's own /etc, and create their homes.

    Slurm gets the environment for `--export=NONE` from `su - USER`. On Debian sid, su refuses users that are not in
    /etc/shadow, and Slurm then holds the job.
    """
    for uid, user in [(SERVICE_UID, "reprise"), *enumerate(spec.users, FIRST_UID)]:
        _append("/etc/group", f"{user}:x:{uid}:\n")
        _append("/etc/passwd", f"{user}:x:{uid}:{uid}::/home/{user}:/bin/bash\n")
        _append("/etc/shadow", f"{user}:*:20000:0:99999:7:::\n")
        home = Path("/home") / user
        home.mkdir(mode=0o755)
        os.chown(home, uid, uid)


def slurm_conf(spec: Spec) -> str:
    return f"""\
ClusterName={spec.name}
SlurmctldHost={HEAD}({HEAD_ADDRESS})
SlurmUser=root
SlurmdUser=root
AuthType=auth/{spec.auth}
CredType=cred/{spec.auth}
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd-%n.log
PlugStackConfig=/etc/slurm/plugstack.conf
ReturnToService=2
InactiveLimit=0
KillWait=5
MinJobAge=3600
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
RebootProgram=/bin/true
NodeName=node[0-{spec.nodes - 1}] CPUs={spec.cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60:00 State=UP OverSubscribe=NO
PartitionName=debug Nodes=ALL Default=NO MaxTime=10:00 State=UP OverSubscribe=FORCE:4
PartitionName=scavenge Nodes=ALL Default=NO MaxTime=10:00 State=UP PriorityTier=0
"""


def slurm_release() -> tuple[int, int]:
    """Return the release of the installed Slurm, e.g. (22, 5) if `slurmd -V` prints "slurm-wlm 22.05.8"."""
    said = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True).stdout
    year, month = said.split()[-1].split(".")[:2]
    return int(year), int(month)


def configure_slurm(spec: Spec) -> None:
    shutil.rmtree("/etc/slurm/plugstack.conf.d", ignore_errors=True)
    write("/etc/slurm/slurm.conf", slurm_conf(spec))
    if spec.auth == "slurm":
        Path("/etc/slurm/slurm.key").write_bytes(os.urandom(1024))
        Path("/etc/slurm/slurm.key").chmod(0o600)
    if slurm_release() >= FIRST_WITH_CGROUP_PLUGIN:
        write("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n")
    write("/etc/slurm/plugstack.conf", "include /etc/slurm/plugstack.conf.d/*.conf\n")
    Path("/etc/slurm/plugstack.conf.d").mkdir()
    if spec.plugstack:
        write("/etc/slurm/plugstack.conf.d/test.conf", spec.plugstack)
    for path in ("/var/spool/slurmctld", "/var/log/slurm"):
        Path(path).mkdir(parents=True, exist_ok=True)


def configure_open_mpi() -> None:
    """Make idle ranks yield their core, and leave ranks unbound, because all nodes share the cores of this machine.

    An idle rank that does not yield costs the other ranks a time slice of the kernel. By default, mpirun binds the
    first rank of every node to the node's first core. These are the same core on all nodes, so all ranks would share
    it, and the other cores would idle. Measurements would then show only these effects.

    The text begins with a newline, because Debian's file does not end with one.
    """
    if (directory := Path("/etc/openmpi")).is_dir():
        with (directory / "openmpi-mca-params.conf").open("a") as params:
            params.write("\nmpi_yield_when_idle = 1\nhwloc_base_binding_policy = none\n")
