# SPDX-License-Identifier: Apache-2.0
"""Starts process 1 of a virtual cluster in namespaces and a scheduler group of its own, and clears up after it.

It outlives the process that asked for the cluster, so that nothing stays behind however that one ends. Standard input,
output and error are those of `init.py`. Only the standard library. Usage: keeper.py SPEC.
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
WEIGHT_FILES = ("cpu.shares", "cpu.weight")  # of the kernel's two kinds of groups; both begin as one process
WEIGHT = 64
"""How much a cluster with latency weighs in the scheduler's eyes, in processes: as one process, it would wait for each
of the others on this machine, and figures would be theirs. With ten compilers beside it, repeated figures differed by a
factor of 2 to 5 with the weight of one, and by a few per cent with this."""
RELEASE_TIMEOUT_S = 5.0  # the kernel lets go of a group's last process a moment after its end


def cpu_groups() -> Path | None:
    """The directory in which groups of the kernel's CPU scheduler are made, where there is one."""
    first, second = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    if (first / "cgroup.procs").exists():
        return first
    control = second / "cgroup.subtree_control"
    return second if control.exists() and "cpu" in control.read_text().split() else None


def remove_left_over(groups: Path) -> None:
    """Remove the groups of clusters whose keeper was killed: they are named after it, who would have removed them."""
    for group in groups.glob(f"{GROUP_PREFIX}-*-*"):
        keeper = group.name.rpartition("-")[2]
        if not Path("/proc", keeper).exists():
            with contextlib.suppress(OSError):  # it is gone already, or the cluster has yet to end
                group.rmdir()


@contextlib.contextmanager
def cpu_group(name: str, measuring: bool = False) -> Iterator[Path | None]:
    """One group of the scheduler for a whole cluster, `name`-PID; None where this machine has no such groups.

    `measuring`: it comes before other processes of this machine (see `WEIGHT`).

    Outside of any group the kernel makes one for every session (sched_autogroup), so that ranks of different nodes,
    which share a core here, cannot yield to each other: all that is measured then is the tick (4 ms at 250 Hz).
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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the cluster ends when its input is closed
        signal.signal(number, lambda *_: None)  # unlike SIG_IGN not inherited by the cluster's processes
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
