# SPDX-License-Identifier: Apache-2.0
"""A class for a virtual Slurm cluster on this machine: start it, run commands on it as its users, and stop it.

Every cluster has separate namespaces (see `init.py`). Therefore, any number of clusters can run at once, nothing on the
host changes, and nothing is left behind, even if this process is killed. A cluster needs root, Linux with overlayfs,
and the packages that `make deps-cluster` installs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tests.cluster import init, keeper
from tests.cluster.spec import FIRST_UID, SERVICE_UID, SOURCE, Spec
from tests.waiting import wait_for

CHECKOUT = Path(__file__).resolve().parents[2]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINAL_STATES = frozenset(
    ["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"]
)
TOLD = ("slurm", "reprise")  # log directories whose files are shown if a test fails
NOISE = "Unauthorized credential"  # munged often logs this about another user's credential, which is not an error
NEEDED_COMMANDS = ("unshare", "nsenter", "setpriv", "ip", "tc", "slurmctld", "slurmd", "munged", "sbatch")


class ClusterError(RuntimeError):
    """The virtual cluster cannot start, or an operation on it failed; the message contains the remedy."""


@dataclass(frozen=True)
class JobEnd:
    """The end of a job: Slurm's state, and the exit status and output of the batch script."""

    job_id: int
    state: str
    exit_status: int
    output: str


def check_host() -> None:
    """Raise ClusterError, with the remedy, if this machine cannot run a virtual cluster."""
    if os.geteuid() != 0:
        raise ClusterError("a virtual cluster needs root (to make namespaces and mounts): run this as root")
    missing = [name for name in NEEDED_COMMANDS if not shutil.which(name, path=PATH)]
    if missing:
        raise ClusterError(f"a virtual cluster needs {', '.join(missing)}: install them with `make deps-cluster`")
    if "overlay" not in Path("/proc/filesystems").read_text():
        subprocess.run(["modprobe", "overlay"], capture_output=True, check=False)
        if "overlay" not in Path("/proc/filesystems").read_text():
            raise ClusterError("a virtual cluster needs overlayfs, which this kernel lacks: load the module `overlay`")


def check_source() -> None:
    """Raise ClusterError if the cluster's users cannot read the checkout, e.g. if it was created with umask 077."""
    for name in ("", "reprise", "reprise/__init__.py", ".venv", ".venv/pyvenv.cfg"):
        path = CHECKOUT / name
        if path.exists() and not path.stat().st_mode & stat.S_IROTH:
            raise ClusterError(f"{path}: the cluster's users cannot read it: run `chmod -R a+rX {CHECKOUT}`")


def only_child(pid: int) -> int:
    """Return the process id of a process's only child."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


class VirtualCluster:
    """A login node (`login`, also the controller) and `nodes` compute nodes (`node0`, ...).

    `rate` limits every link in both directions (in tc syntax). `latency_us` is the additional latency of every frame
    between machines, in microseconds. With a latency, the cluster takes precedence over other processes of this
    machine, so that measurements show the network, not the few processors that all nodes share (`network.py`). `users`
    are ordinary users; `root` and the service account `reprise` exist too. The argument `root` is a directory with
    another system's root (see `tests/matrix/`); the cluster then runs that system's Slurm. With `pinned`, each node
    uses one CPU of this host; if there are fewer CPUs than nodes, the same nodes always share a CPU. With
    `auth="slurm"`, for Slurm 23.11 and newer, Slurm authenticates by itself, and no machine has munged or libmunge. Use
    the class as a context manager, or call `start()` and `stop()`. `running` lists the clusters of this process.
    """

    running: ClassVar[list[VirtualCluster]] = []

    def __init__(
        self,
        nodes: int = 4,
        rate: str = "1gbit",
        latency_us: int = 0,
        users: Sequence[str] = ("alice", "bob", "carol"),
        cpus: int = 2,
        pinned: bool = False,
        plugstack: str = "",
        root: Path = Path("/"),
        auth: Literal["munge", "slurm"] = "munge",
    ) -> None:
        self.spec = Spec(
            name="reprise",
            cpu_group=unique_name(keeper.GROUP_PREFIX),
            root=str(root),
            source=str(CHECKOUT),
            nodes=nodes,
            rate=rate,
            burst="64k",
            queue_ms=20,
            latency_us=latency_us,
            users=list(users),
            cpus=cpus,
            pinned=pinned,
            plugstack=plugstack,
            auth=auth,
        )
        self._process: subprocess.Popen[str] | None = None
        self.pid = 0

    def __enter__(self) -> VirtualCluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the cluster and return once all nodes are idle. Raise ClusterError with the logs if the start fails."""
        check_host()
        check_source()
        self._process = subprocess.Popen(
            ["/usr/bin/python3", keeper.__file__, json.dumps(vars(self.spec))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": PATH, "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        assert self._process.stdout and self._process.stderr
        line = self._process.stdout.readline().strip()
        if line != "ready":
            words = self._process.stderr.read().strip().splitlines()
            self.stop()
            error = ClusterError(f"the virtual cluster did not start: {words[-1] if words else 'no reason given'}")
            error.add_note("\n".join(words[:-1]))
            raise error
        self.pid = only_child(only_child(self._process.pid))  # the keeper's child is unshare, whose child is process 1
        VirtualCluster.running.append(self)

    def stop(self) -> None:
        """Stop the cluster, if it is running."""
        if self in VirtualCluster.running:
            VirtualCluster.running.remove(self)
        if self._process:
            assert self._process.stdin and self._process.stdout and self._process.stderr
            self._process.stdin.close()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process.stdout.close()
            self._process.stderr.close()
            self._process = None

    def describe(self) -> str:
        """Return one line about the nodes and their network, to print with all measurements on this cluster."""
        return self.spec.describe()

    def path(self, inside: str | Path) -> Path:
        """Return the path on the host of a file of the cluster, except files in /tmp and /dev/shm of compute nodes."""
        return Path(f"/proc/{self.pid}/root") / str(inside).lstrip("/")

    def check_daemons(self) -> None:
        """Raise ClusterError, with the daemon's last output, if a daemon has died and thereby ended the cluster."""
        died = self.path(init.DIED)
        if died.exists():
            raise ClusterError(died.read_text())

    def uid(self, user: str) -> int:
        if user == "root":
            return 0
        return SERVICE_UID if user == "reprise" else FIRST_UID + self.spec.users.index(user)

    def command(
        self, argv: Sequence[str], *, user: str, node: str = "", cwd: str = "", env: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return the argument list that runs `argv` on the cluster as `user`, in a clean environment as after a login.

        Raise ClusterError if the cluster has lost a daemon, or if an argument names a file of the checkout by its path
        on the host: a cluster has a separate /tmp and /home, and may not have the file there.
        """
        if strays := [word for word in argv if word.startswith(f"{CHECKOUT}/") and not word.startswith(f"{SOURCE}/")]:
            raise ClusterError(f"{strays[0]} is a path on the host: on the cluster, the checkout is at {SOURCE}")
        self.check_daemons()
        uid = self.uid(user)
        home = "/root" if user == "root" else f"/home/{user}"
        pid = self.path(f"/run/cluster/{node}.pid").read_text() if node else None
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--net", "--uts", "--ipc", "--pid"]
        if group := self._measuring_group():
            enter = ["sh", "-c", f'echo 0 > {group}/cgroup.procs; exec "$@"', "-", *enter]
        if pid:  # a node's process id is an id in the cluster's PID namespace
            enter += ["nsenter", "--target", pid, "--mount", "--net", "--uts", "--ipc"]
        drop = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"] if uid else []
        base = {"PATH": PATH, "HOME": home, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash", "LC_ALL": "C.UTF-8"}
        variables = [f"{name}={value}" for name, value in {**base, **(env or {})}.items()]
        shell = f"cd {shlex.quote(cwd or home)} && exec {shlex.join(argv)}"
        return [*enter, "env", "-i", *variables, *drop, "sh", "-c", shell]

    def _measuring_group(self) -> Path | None:
        """Return the scheduler group of a cluster with latency, which commands join, so that they keep up with ranks.

        None for other clusters, since their group has only the weight of one process.
        """
        groups = keeper.cpu_groups() if self.spec.latency_us else None
        return groups / f"{self.spec.cpu_group}-{self._process.pid}" if groups and self._process else None

    def run(
        self,
        argv: Sequence[str],
        *,
        user: str = "root",
        node: str = "",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout_s: float = 120.0,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node, or on `node`, and wait for its end.

        Raise ClusterError if the command takes longer than `timeout_s` seconds, if the cluster loses a daemon or, with
        `check`, if the command fails.
        """
        try:
            done = subprocess.run(
                self.command(argv, user=user, node=node, cwd=cwd, env=env),
                input=stdin if stdin is not None else "",
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{user}: {shlex.join(argv)}: not finished within {timeout_s:g} s") from error
        if done.returncode:
            self.check_daemons()
        if check and done.returncode:
            words = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise ClusterError(f"{user}: {shlex.join(argv)}: exit {done.returncode}: {words}")
        return done

    def popen(
        self,
        argv: Sequence[str],
        *,
        user: str = "root",
        node: str = "",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        log: str = "",
    ) -> subprocess.Popen[str]:
        """Start a command in the background; its output goes to the cluster's file `log`, or to pipes."""
        command = self.command(argv, user=user, node=node, cwd=cwd, env=env)
        if not log:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        target = self.path(log)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a") as out:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, text=True)

    def write(self, inside: str, text: str, user: str = "root", mode: int = 0o644) -> None:
        """Write a file on the cluster; `user` owns the file and any directories that are created for it."""
        target = self.path(inside)
        made = [p for p in (target, *target.parents) if not p.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
        for path in made or [target]:
            os.chown(path, self.uid(user), self.uid(user))

    def submit(
        self, script: str, *options: str, user: str = "alice", cwd: str = "", env: Mapping[str, str] | None = None
    ) -> int:
        """Submit a batch script on the cluster as `user`, and return the job id."""
        done = self.run(["sbatch", "--parsable", *options, script], user=user, cwd=cwd, env=env)
        return int(done.stdout.strip().split(";")[0])

    def job(self, job_id: int) -> dict[str, str]:
        """Return the keys and values of `scontrol show job`."""
        done = self.run(["scontrol", "--oneliner", "show", "job", str(job_id)])
        return dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|\s*$)", done.stdout))

    def wait_job(self, job_id: int, timeout_s: float = 120.0) -> JobEnd:
        """Wait for a job's end, and return the job's state, exit status and output.

        Raise NotSeenError after `timeout_s` seconds.
        """

        def ended() -> dict[str, str] | None:
            job = self.job(job_id)
            return job if job["JobState"] in TERMINAL_STATES else None

        job = wait_for(f"the end of job {job_id}", ended, timeout_s, every_s=0.1)
        output = self.path(job["StdOut"]) if "StdOut" in job else None
        text = output.read_text(errors="replace") if output and output.is_file() else ""
        return JobEnd(job_id, job["JobState"], int(job["ExitCode"].split(":")[0]), text)

    def logs(self, lines: int = 40) -> str:
        """Return the last lines of all daemons' logs, for display after a failure; the controller's log comes last."""
        found = self.path("/var/log").rglob("*")
        logs = {log for log in found if log.is_file() and (log.parent.name in TOLD or log.name.startswith("munged"))}
        parts = []
        for log in sorted(logs, key=lambda log: (log.name == "slurmctld.log", log.name)):
            # a daemon's .out file repeats the lines of its .log file, so only its end, perhaps a message of the C
            # library, is shown
            again = log.suffix == ".out" and log.with_suffix(".log") in logs
            said = [line for line in log.read_text(errors="replace").splitlines() if NOISE not in line]
            if tail := said[-5 if again else -lines :]:
                parts.append(f"==> {log.name} <==\n" + "\n".join(tail))
        return "\n".join(parts)


def unique_name(prefix: str) -> str:
    """Return a unique name with this prefix, for files in directories that several clusters share."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"
