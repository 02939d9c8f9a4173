# SPDX-License-Identifier: Apache-2.0
"""Start process 1 of a virtual cluster in separate namespaces and a CPU scheduler group, and clean up after it.

The keeper outlives the process that started the cluster, so that nothing is left behind, however that process ends.
`init.py` inherits the keeper's standard input, output and error. This module imports only the standard library. Usage:
keeper.py SPEC.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

NAMESPACES = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--propagation", "private"]
GROUP_PREFIX = "reprise-cluster"
WEIGHT_FILES = ("cpu.shares", "cpu.weight")  # a group's weight in cgroup v1 and v2; initially that of a process
WEIGHT = 64
"""Scheduler weight of a cluster with latency, as a multiple of the weight of one process.

With the weight of one process, the cluster would wait for every other process on this machine, and measurements would
show the load of those processes. While ten compilers ran, repeated measurements differed by a factor of 2 to 5 with the
weight of one process, and by a few per cent with this weight.
"""
RELEASE_TIMEOUT_S = 5.0  # time to wait for an empty group: the kernel removes ended processes with a delay


def cpu_groups() -> Path | None:
    """Return the directory for groups of the kernel's CPU scheduler, or None if this machine has none."""
    first, second = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    if (first / "cgroup.procs").exists():
        return first
    control = second / "cgroup.subtree_control"
    return second if control.exists() and "cpu" in control.read_text().split() else None


def remove_left_over(groups: Path) -> None:
    """Remove the groups of clusters whose keeper was killed. A group's name contains its keeper's process id."""
    for group in groups.glob(f"{GROUP_PREFIX}-*-*"):
        keeper = group.name.rpartition("-")[2]
        if not Path("/proc", keeper).exists():
            with contextlib.suppress(OSError):  # the group no longer exists, or its cluster has not ended yet
                group.rmdir()


@contextlib.contextmanager
def cpu_group(name: str, measuring: bool = False) -> Iterator[Path | None]:
    """Create a scheduler group, `name`-PID, for a whole cluster; yield its path, or None if this machine has no groups.

    With `measuring`, the group takes precedence over other processes of this machine (see `WEIGHT`).

    Without a group for the whole cluster, the kernel creates a group for every session (sched_autogroup). Ranks of
    different nodes, which share a core on a virtual cluster, then cannot yield to each other, and measurements show
    only the tick (4 ms at 250 Hz).
    """
    groups = cpu_groups()
    if groups is None:
        yield None
        return
    remove_left_over(groups)
    group = groups / f"{name}-{os.getpid()}"
    group.mkdir()
    if measuring:
        for file in filter(Path.exists, (group / name for name in WEIGHT_FILES)):
            file.write_text(str(WEIGHT * int(file.read_text())))
    try:
        yield group
    finally:
        end = time.monotonic() + RELEASE_TIMEOUT_S
        while group.exists():
            try:
                group.rmdir()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # ignored; only closing standard input ends a cluster
        signal.signal(number, lambda *_: None)  # unlike SIG_IGN, a handler is not inherited by the cluster
    checkout = Path(__file__).resolve().parents[2]
    spec = json.loads(sys.argv[1])
    with cpu_group(spec["cpu_group"], measuring=bool(spec["latency_us"])) as group:

        def join() -> None:
            if group:
                (group / "cgroup.procs").write_text("0")

        argv = ["unshare", *NAMESPACES, sys.executable, "-m", "tests.cluster.init", sys.argv[1]]
        return subprocess.run(argv, cwd=checkout, check=False, preexec_fn=join).returncode


if __name__ == "__main__":
    sys.exit(main())
