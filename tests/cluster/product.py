# SPDX-License-Identifier: Apache-2.0
"""Functions that install, configure, start and stop Reprise on a virtual cluster, as an admin does."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from reprise.matcher.errors import DaemonUnreachableError
from reprise.matcher.wire.client import PING, ask
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.spec import SOURCE as SOURCE
from tests.waiting import wait_for

BUILD = "/root/build"
SOCKET = "/run/reprise/matcher.sock"
PLUGSTACK = "/etc/slurm/plugstack.conf.d/reprise.conf"

# Replaces the command that `make install-python` installs, so that no second Python environment has to be created.
COMMAND = f"""\
#!/bin/sh
PYTHONPATH={SOURCE}/build/package exec {SOURCE}/.venv/bin/python -P -m reprise "$@"
"""

NONE_HELD_OUT = """\
# The default, 0.05, holds out a random half of the first jobs that match a record. Tests need settings in every
# job that matches.
holdout = 0.0
"""


def install_plugin(cluster: VirtualCluster, *words: str) -> subprocess.CompletedProcess[str]:
    """Build and install the plugin with the cluster's compiler and headers; `words` are arguments for make."""
    copy = f"rm -rf {BUILD} && mkdir -p {BUILD}/reprise && cp -r {SOURCE}/spank {BUILD} && rm -rf {BUILD}/spank/build"
    cluster.run(["sh", "-c", f"{copy} && rm -f {BUILD}/spank/*.so && cp {SOURCE}/reprise/__init__.py {BUILD}/reprise"])
    argv = ["make", "-s", "-j2", "-C", f"{BUILD}/spank", "install", *words]
    return cluster.run(argv, check=False, timeout_s=300)  # takes 10 s on an idle machine


def install(cluster: VirtualCluster) -> None:
    """Install Reprise with the product's make targets, configure it for the cluster, and enable its plugin."""
    cluster.run(["make", "-C", SOURCE, "install-plugin", "install-tools", "install-etc"])
    cluster.write("/usr/local/bin/reprise", COMMAND, mode=0o755)
    config = cluster.path("/etc/reprise/reprise.toml")
    text = config.read_text()
    text = text.replace('cluster = "cluster"', f'cluster = "{cluster.spec.name}"')
    text = text.replace("nodes = 1\n", f"nodes = {cluster.spec.nodes}\n")
    text = text.replace("holdout = 0.05\n", NONE_HELD_OUT)
    config.write_text(text)
    for directory in ("/run/reprise", "/var/lib/reprise", "/var/log/reprise"):  # as systemd does for the service
        cluster.run(["install", "-d", "-o", "reprise", "-g", "reprise", "-m", "755", directory])
    cluster.run(["cp", "/usr/local/share/reprise/plugstack.conf", PLUGSTACK])
    cluster.run(["reprise", "db", "init"], user="reprise")


def tune(cluster: VirtualCluster, path: str, definition: Mapping[str, Any], timeout_s: float = 120) -> dict[str, Any]:
    """Write a campaign file to `path`, run it as an admin, and return the output of `reprise tune run --json`."""
    cluster.write(path, yaml.safe_dump(dict(definition)), user="reprise")
    done = cluster.run(["reprise", "tune", "run", path, "--yes", "--json"], user="reprise", timeout_s=timeout_s)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


class Started:
    """A context manager that calls `start` and `stop`."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start, and return when it works."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop what runs."""
        raise NotImplementedError


class Service(Started):
    """A command of Reprise that runs as the service account; a context manager, or used with `start` and `stop`."""

    def __init__(self, cluster: VirtualCluster, name: str) -> None:
        self.cluster = cluster
        self._pidfile = f"/run/reprise/{name}.pid"
        self._log = f"/var/log/reprise/{name}.log"
        self._process: subprocess.Popen[str] | None = None

    def signal(self, name: str) -> None:
        """Send a signal, e.g. "STOP", to the process itself."""
        self.cluster.run(["kill", f"-{name}", self.cluster.path(self._pidfile).read_text().strip()])
        if name == "CONT" and self._process:  # nsenter stops when its child is stopped, so it must be continued too
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to the process, and wait for its end."""
        if self._process:
            self.signal("KILL")
            self._process.wait(timeout=20)

    def stop(self) -> None:
        """Send SIGTERM to the process, if it is running, and wait for its end."""
        if self._process and self._process.poll() is None:
            self.signal("TERM")
            self._process.wait(timeout=20)

    def log(self) -> str:
        """Return the log."""
        path: Path = self.cluster.path(self._log)
        return path.read_text(errors="replace") if path.exists() else ""


class Daemon(Service):
    """The matcher daemon on a cluster.

    A daemon with a different `config` file, NAME.toml, must have its socket at /run/reprise/NAME.sock.
    """

    def __init__(self, cluster: VirtualCluster, config: str = "") -> None:
        name = Path(config).stem if config else "matcher"
        super().__init__(cluster, name)
        self.socket = f"/run/reprise/{name}.sock"
        self._env = {"REPRISE_CONFIG": config} if config else {}

    def start(self) -> None:
        """Start the daemon as the service account, and return when it answers on its socket."""
        process = self.spawn()

        def answers() -> bool:
            if process.poll() is not None:
                raise ClusterError(f"reprise serve ended: {self.log()[-500:]}")
            try:
                return bool(ask(self.cluster.path(self.socket), PING, 1.0)["kind"] == "ok")
            except DaemonUnreachableError:
                return False

        wait_for("the matcher daemon", answers, 30)

    def spawn(self) -> subprocess.Popen[str]:
        """Start the daemon without waiting until it answers."""
        script = f"echo $$ > {self._pidfile}; exec reprise -v serve"
        argv = ["sh", "-c", script]
        self._process = self.cluster.popen(argv, user="reprise", env=self._env, log=self._log)
        return self._process

    def log_contains(self, words: str, timeout_s: float = 10.0) -> None:
        """Wait until the log contains `words`."""
        wait_for(f"{words!r} in the matcher's log", lambda: words in self.log(), timeout_s)


def seconds_of(argv: list[str], cluster: VirtualCluster, user: str, cwd: str = "") -> tuple[float, str]:
    """Run a command as a user; return the wall time in seconds and the standard output."""
    started = time.monotonic()
    done = cluster.run(argv, user=user, cwd=cwd)
    return time.monotonic() - started, done.stdout
