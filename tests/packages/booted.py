# SPDX-License-Identifier: Apache-2.0
"""A booted system: systemd runs as process 1 of separate namespaces, with a system's directory as its root.

The system cannot affect this machine: `/sys` and `/proc/sys` are read-only, the system has only the usual six devices
and a loopback network, and it may not set the clock or load a module. All its processes end when the context `booted`
is left, or when the process that called `booted` ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.machine import only_child, unique_name
from tests.packages.systems import System
from tests.waiting import wait_for

PREFIX = "reprise-booted"
BOOT_S = 60.0
TIMEOUT_S = 900.0  # Ansible's first run of the role takes a minute, and several on a busy machine
LEFT_OUT = ("slurmctld.service", "slurmd.service", "munge.service", "getty.target", "systemd-udevd.service")
NAMESPACES = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"]
TAKEN = "-sys_time,-sys_module,-sys_boot,-syslog,-sys_rawio,-mknod,-audit_control"
# Makes the system's directory, $1, the root directory, with the usual mounts of a container, and starts systemd.
ENTER = """\
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t tmpfs -o mode=755,size=64m devices dev
for name in null zero full random urandom tty; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755,size=512m run run
mount -t cgroup2 cgroup sys/fs/cgroup
mkdir run/old
pivot_root . run/old
umount -l /run/old
rmdir /run/old
exec env -i container=reprise PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --bounding-set="$2" /lib/systemd/systemd \
  --unit=multi-user.target --show-status=no --log-target=journal
"""


class Booted:
    """A booted system. `pid` is the id of its process 1 on this machine."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def path(self, inside: str) -> Path:
        return Path(f"/proc/{self.pid}/root") / inside.lstrip("/")

    def run(self, command: str, *, check: bool = True) -> str:
        """Run a command in root's login environment; return the standard output and error as one text."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--net", "--uts", "--ipc", "--pid", "--cgroup"]
        login = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]
        done = subprocess.run(
            [*enter, *login, "DEBIAN_FRONTEND=noninteractive", "sh", "-c", f"cd / && {command}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if check and done.returncode:
            journal = self.run("journalctl --no-pager -n 40", check=False)
            raise AssertionError(f"{command}: exit {done.returncode}: {done.stdout[-3000:]}\n{journal}")
        return done.stdout

    def shown(self, unit: str, key: str) -> str:
        """Return the value of a property of a systemd unit."""
        return self.run(f"systemctl show -p {key} --value {unit}").strip()


@contextmanager
def booted(system: System) -> Iterator[Booted]:
    """Boot a system, which must have the package `systemd`, and yield it."""
    units = system.path("/etc/systemd/system")
    for name in LEFT_OUT:  # units that no test uses, but for which booting would wait
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    with _group() as group:

        def join() -> None:
            (group / "cgroup.procs").write_text("0")

        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            *NAMESPACES,
            "--propagation",
            "private",
            "sh",
            "-c",
            ENTER,
            "sh",
            str(system.root),
            TAKEN,
        ]
        outer = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=join
        )
        try:
            yield _up(outer)
        finally:
            outer.kill()  # this also kills its child (process 1 of the system), and thus all processes of the system
            outer.communicate()
            for name in LEFT_OUT:
                (units / name).unlink()


def _up(outer: subprocess.Popen[bytes]) -> Booted:
    def started() -> Booted | None:
        assert outer.poll() is None, (outer.stdout.read() if outer.stdout else b"").decode(errors="replace")
        with contextlib.suppress(OSError, ValueError):
            pid = only_child(outer.pid)
            if Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                return Booted(pid)
        return None

    system = wait_for("process 1", started, BOOT_S)
    up = ("running", "degraded")  # "degraded" if a unit unrelated to Reprise cannot run in these namespaces
    wait_for("systemd", lambda: system.run("systemctl is-system-running", check=False).strip() in up, BOOT_S)
    return system


@contextmanager
def _group() -> Iterator[Path]:
    """Create a control group for a whole system, in the unified hierarchy (cgroup v2), and yield the group's path."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    (top, *_) = [Path(words[1]) for words in mounts if words[2] == "cgroup2"]
    for left in top.glob(f"{PREFIX}-*-*"):  # left by killed test processes; each name ends with a process id
        if not Path("/proc", left.name.rpartition("-")[2]).exists():
            _clear(left)
    group = top / f"{unique_name(PREFIX)}-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        _clear(group)


def _clear(group: Path) -> None:
    for directory, _, _ in os.walk(group, topdown=False):
        _remove(Path(directory))


def _remove(group: Path) -> None:
    end = time.monotonic() + 10
    while group.exists():
        try:
            group.rmdir()
        except OSError:  # the group's last process has not ended yet
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
