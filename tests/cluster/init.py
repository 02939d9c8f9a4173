# SPDX-License-Identifier: Apache-2.0
"""Process 1 of a virtual cluster, which builds the cluster and then keeps it alive.

It runs as root in fresh mount, network, UTS, IPC and PID namespaces; `keeper.py` starts it. Everything that the process
creates is in these namespaces: an overlay over the host's root, a network, a set of namespaces for each node, and the
daemons. When the process ends, for whatever reason, nothing is left on the host.

This module imports only the standard library, because it runs with the system's Python. Usage, in the checkout:
`python3 -m tests.cluster.init SPEC`, where SPEC is JSON (see `Spec`). The process writes the line `ready` to standard
output when the cluster is ready, and ends when its standard input is closed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from tests.cluster import network
from tests.cluster.commands import run, succeeds
from tests.cluster.configuration import add_users, configure_open_mpi, configure_slurm, write, write_hosts
from tests.cluster.daemons import Daemons
from tests.cluster.spec import HEAD, SOURCE, Spec, node_name

DIED = "/run/cluster/died"  # file that contains one line about the daemon whose death ended the cluster
DAEMONS = Daemons()


def mount(*argv: str) -> None:
    run("mount", *argv)


def enter_private_root(spec: Spec) -> None:
    """Put an overlay over the system's root, and make the overlay the root of this namespace.

    The overlay is on a tmpfs over /run, which only this namespace sees, so that no directory on the host is needed.
    """
    base = Path("/run")
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "-o", "mode=755,size=4g", "reprise-cluster", str(base))
    root, upper, work = base / "root", base / "upper", base / "work"
    for directory in (root, upper, work):
        directory.mkdir()
    mount("-t", "overlay", "-o", f"lowerdir={spec.root},upperdir={upper},workdir={work}", "overlay", str(root))
    mount("--rbind", "/dev", str(root / "dev"))
    mount("--rbind", "/sys", str(root / "sys"))
    mount("-t", "proc", "proc", str(root / "proc"))
    for path, mode in (("run", "755"), ("tmp", "1777"), ("home", "755"), ("dev/shm", "1777")):
        mount("-t", "tmpfs", "-o", f"mode={mode},size=2g", path, str(root / path))
    source = root / SOURCE.lstrip("/")
    source.mkdir(parents=True, exist_ok=True)
    mount("--rbind", spec.source, str(source))
    mount("-o", "remount,bind,ro", str(source))
    os.chdir(root)
    (root / "run/old-root").mkdir()
    run("pivot_root", ".", "run/old-root")
    os.chroot(".")
    os.chdir("/")
    run("umount", "-l", "/run/old-root")
    os.rmdir("/run/old-root")


MUNGE_DIRECTORIES = {"/run/munge": 0o755, "/var/log/munge": 0o700, "/var/lib/munge": 0o711, "/etc/munge": 0o700}
MUNGED = ["munged", "--foreground", "--force"]


def start_munge() -> None:
    """Start munged as root with a separate key for the cluster; root becomes the owner of munge's directories."""
    for path, mode in MUNGE_DIRECTORIES.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        os.chmod(path, mode)
        for owned in (path, *map(str, Path(path).iterdir())):
            os.chown(owned, 0, 0)
    key = Path("/etc/munge/munge.key")
    key.unlink(missing_ok=True)
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    DAEMONS.start("munged", MUNGED, "/var/log/munged.out")
    DAEMONS.wait_for("munged", lambda: succeeds("munge", "-n"))


def remove_libmunge() -> None:
    """Remove munge's library from the cluster's private root, as on a site that uses no munge."""
    for path in Path("/usr").glob("lib*/**/libmunge.so*"):
        path.unlink()


def start_node(spec: Spec, index: int) -> tuple[str, list[str]]:
    """Create the node's namespaces, connect them to the network, and start a munged in them if the cluster uses munge.

    Returns the id of a process in the node's namespaces, and the prefix of a command line that runs a command there.

    Each node has its own munged. With one munged for all nodes, several nodes would decode the same credential of a
    step; munge treats this as a replay. After a replay, slurmd 22.05 may free libmunge's message twice if two launches
    coincide.
    """
    name = node_name(index)
    holder = subprocess.Popen(
        ["unshare", "--mount", "--net", "--uts", "--ipc", "sh", "-c", "echo up; read _; exec sleep infinity"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert holder.stdin and holder.stdout
    holder.stdout.readline()
    pid = str(holder.pid)
    inside = ["nsenter", "--target", pid, "--mount", "--net", "--uts", "--ipc"]
    place = "/run/munge" if spec.auth == "munge" else "/run/slurm"  # directory of the socket of munged or slurmd
    for argv in (
        ["hostname", name],
        ["mount", "-t", "tmpfs", "-o", "mode=1777,size=1g", "tmp", "/tmp"],
        ["mount", "-t", "tmpfs", "-o", "mode=1777,size=1g", "shm", "/dev/shm"],
        ["mkdir", "-p", place],
        ["mount", "-t", "tmpfs", "-o", "mode=755,size=1m", "auth", place],
    ):
        run(*inside, *argv)
    network.join(spec, index, pid, inside)
    if spec.auth == "munge":
        DAEMONS.start(f"munged of {name}", [*inside, *MUNGED], f"/var/log/munged-{name}.out")
    return pid, inside


def start_slurmd(spec: Spec, index: int, pid: str, inside: list[str]) -> None:
    """Start slurmd in the namespaces that `start_node` has created, once the node's munged, if any, answers."""
    name = node_name(index)
    if spec.auth == "munge":
        DAEMONS.wait_for(f"munged of {name}", lambda: succeeds(*inside, "munge", "-n"))
    Path(f"/var/spool/slurmd-{name}").mkdir(parents=True, exist_ok=True)
    write(f"/run/cluster/{name}.pid", pid)
    slurmd = [*inside, *keep_to_cpu(spec, index), "slurmd", "-D", "-N", name]
    DAEMONS.start(f"slurmd of {name}", slurmd, f"/var/log/slurm/slurmd-{name}.out")


def keep_to_cpu(spec: Spec, index: int) -> list[str]:
    """Return the prefix of a command line that pins a command to the node's CPU; empty if nodes are not pinned."""
    usable = sorted(os.sched_getaffinity(0))
    return ["taskset", "--cpu-list", str(usable[index % len(usable)])] if spec.pinned else []


def nodes_ready(spec: Spec) -> bool:
    done = subprocess.run(["sinfo", "-h", "-N", "-p", "main", "-o", "%t"], capture_output=True, text=True, check=False)
    return done.stdout.split() == ["idle"] * spec.nodes


def keep_until_closed() -> None:
    """Do the work of process 1: reap children that end, and return when standard input is closed.

    A cluster that has lost a daemon would only make its users wait. Therefore, the loss is written to DIED, and all
    other processes of the cluster are killed. The cluster's files remain readable.
    """
    while True:
        DAEMONS.reap()
        if not Path(DIED).exists() and (died := DAEMONS.obituary()):
            write(f"{DIED}.new", died)
            os.rename(f"{DIED}.new", DIED)
            if os.getpid() == 1:  # in a PID namespace, -1 means all other processes of the namespace
                os.kill(-1, signal.SIGKILL)
        readable, _, _ = select.select([0], [], [], 0.2)
        if readable and not os.read(0, 1):
            return


def build(spec: Spec) -> None:
    """Build the cluster, from the private root up to idle nodes."""
    enter_private_root(spec)
    run("hostname", HEAD)
    write_hosts(spec)
    add_users(spec)
    configure_slurm(spec)
    configure_open_mpi()
    network.build(spec, DAEMONS)
    if spec.auth == "munge":
        start_munge()
    else:
        remove_libmunge()
    DAEMONS.start("slurmctld", ["slurmctld", "-D"], "/var/log/slurm/slurmctld.out")
    DAEMONS.wait_for("slurmctld", lambda: succeeds("scontrol", "ping"))
    for index, node in enumerate(
        [start_node(spec, index) for index in range(spec.nodes)]
    ):  # start every munged before waiting for one
        start_slurmd(spec, index, *node)
    DAEMONS.wait_for("the nodes", lambda: nodes_ready(spec))


def main() -> None:
    spec = Spec(**json.loads(sys.argv[1]))
    try:
        build(spec)
    except RuntimeError as error:
        logs = [*Path("/var/log/slurm").glob("*"), Path("/var/log/munged.out"), Path("/var/log/switch.out")]
        tails = [f"{log}:\n{log.read_text(errors='replace')[-1500:]}" for log in logs if log.is_file()]
        sys.exit("\n".join([*tails, str(error)]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("ready", flush=True)
    keep_until_closed()


if __name__ == "__main__":
    main()
