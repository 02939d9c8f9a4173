# SPDX-License-Identifier: Apache-2.0
"""I/O forwarders and the arbiter on a virtual cluster, started as an administrator does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import Service, Started
from tests.cluster.spec import SOURCE, node_address
from tests.cluster.storage import PLACE
from tests.waiting import wait_for

DIOD_PORT = 5640
PORT = 564
METRICS_PORT = 9564
MAPS = "/home/reprise/forwarders"  # on a file system that all machines of the cluster share
PROGRAM = "/usr/local/libexec/reprise/reprise-forwarder"


def install(cluster: VirtualCluster) -> None:
    """Install the library for jobs and the program for I/O nodes."""
    cluster.run(["make", "-s", "-C", SOURCE, "install-accelerators", "install-forwarder"])


def keep_for_forwarding(cluster: VirtualCluster, io_nodes: Sequence[int]) -> None:
    """Take I/O nodes away from jobs, and configure the number of the others as the site's."""
    config = cluster.path("/etc/reprise/reprise.toml")
    nodes = cluster.spec.nodes
    config.write_text(config.read_text().replace(f"\nnodes = {nodes}\n", f"\nnodes = {nodes - len(io_nodes)}\n"))
    names = ",".join(f"node{number}" for number in io_nodes)
    cluster.run(["scontrol", "update", f"nodename={names}", "state=drain", "reason=forwarder"])


class Forwarder:
    """A diod that serves the file system to users whom munge confirms, and the forwarder in front of it, on a node."""

    def __init__(self, cluster: VirtualCluster, number: int, *options: str, export: str = PLACE) -> None:
        self.cluster = cluster
        self.export = export
        self.node = f"node{number}"
        self.address = f"{node_address(number)}:{PORT}"
        self.diod_address = f"{node_address(number)}:{DIOD_PORT}"
        self._options = options
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> None:
        """Start what does not run, and return when the forwarder accepts connections."""
        diod = ["diod", "-f", "-l", f"0.0.0.0:{DIOD_PORT}", "-e", self.export, "-L", "stderr"]
        listen = [f"--listen={self.address}", f"--diod=127.0.0.1:{DIOD_PORT}"]
        places = [word.partition("=")[2] for word in self._options if word.startswith("--burst") and "/" in word]
        if places:
            self.cluster.run(["mkdir", "-p", "-m", "711", *places], node=self.node)
        self._spawn("diod", ["env", "--ignore-signal=PIPE", *diod])
        self._await("diod", f"127.0.0.1/{DIOD_PORT}")
        self._spawn("forwarder", [PROGRAM, *listen, f"--metrics=0.0.0.0:{METRICS_PORT}", *self._options])
        self._await("forwarder", self.address.replace(":", "/"))

    def _spawn(self, name: str, argv: Sequence[str]) -> None:
        if (process := self._processes.get(name)) is None or process.poll() is not None:
            script = f'echo $$ > /run/cluster/{name}-{self.node}.pid; exec "$@"'
            log = f"/var/log/reprise/{name}-{self.node}.log"
            self._processes[name] = self.cluster.popen(["sh", "-c", script, "sh", *argv], node=self.node, log=log)

    def _await(self, name: str, address: str) -> None:
        def accepts() -> bool:
            if self._processes[name].poll() is not None:
                raise ClusterError(f"{name} of {self.node} ended: {self.log(name)[-500:]}")
            script = f": < /dev/tcp/{address}"
            return self.cluster.run(["bash", "-c", script], node=self.node, check=False).returncode == 0

        wait_for(f"{name} of {self.node}", accepts, every_s=0.1)

    def signal(self, number: str, name: str = "forwarder") -> None:
        """Send a signal, e.g. "KILL", to the forwarder or its diod."""
        pid = self.cluster.path(f"/run/cluster/{name}-{self.node}.pid").read_text().strip()
        self.cluster.run(["kill", f"-{number}", pid])

    def kill(self, name: str = "forwarder") -> None:
        """Kill the forwarder or its diod, and wait for its end."""
        self.signal("KILL", name)
        self._processes[name].wait(timeout=20)

    def log(self, name: str = "forwarder") -> str:
        path = self.cluster.path(f"/var/log/reprise/{name}-{self.node}.log")
        return path.read_text(errors="replace") if path.exists() else ""

    def metric(self, name: str) -> float:
        """Return the sum of a metric's values over all labels."""
        script = f"exec 3<>/dev/tcp/127.0.0.1/{METRICS_PORT}; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
        text = self.cluster.run(["bash", "-c", script], node=self.node).stdout
        rows = [row.rsplit(" ", 1) for row in text.splitlines() if row.startswith(f"reprise_forwarder_{name}")]
        return sum(float(value) for _, value in rows)

    def stop(self) -> None:
        """Stop what runs."""
        for name, process in reversed(self._processes.items()):
            if process.poll() is None:
                self.signal("TERM", name)
                process.wait(timeout=60)


class Pool(Started):
    """Forwarders on several nodes. Use it as a context manager, or call `start()` and `stop()`."""

    def __init__(self, cluster: VirtualCluster, io_nodes: Sequence[int], *options: str) -> None:
        self.forwarders = [Forwarder(cluster, number, *options) for number in io_nodes]

    @property
    def addresses(self) -> Sequence[str]:
        return [one.address for one in self.forwarders]

    def start(self) -> None:
        for one in self.forwarders:
            one.start()

    def stop(self) -> None:
        for one in self.forwarders:
            one.stop()


def configure(cluster: VirtualCluster, addresses: Sequence[str], **settings: object) -> None:
    """Write the pool's addresses, the directory of the maps and other settings into the configuration file."""
    config = cluster.path("/etc/reprise/reprise.toml")
    text = config.read_text()
    values = {"forwarders": list(addresses), "maps": MAPS, "check_s": 1.0, **settings}
    head, _, rest = text.partition("\n[forwarding]\n")
    kept, cut, after = rest.partition("\n[")
    lines = [line for line in kept.splitlines() if line.partition(" = ")[0] not in values]
    lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    config.write_text(head + "\n[forwarding]\n" + "\n".join(lines) + "\n" + cut + after)


class Arbiter(Service):
    """The arbiter on the login node."""

    def __init__(self, cluster: VirtualCluster) -> None:
        super().__init__(cluster, "arbiter")

    def start(self) -> None:
        """Start the arbiter as the service account, and return when it shares out."""
        begin = len(self.log())
        script = f"echo $$ > {self._pidfile}; exec reprise -v arbiter"
        process = self._process = self.cluster.popen(["sh", "-c", script], user="reprise", log=self._log)

        def works() -> bool:
            if process.poll() is not None:
                raise ClusterError(f"reprise arbiter ended: {self.log()[-500:]}")
            return "event=arbitrating" in self.log()[begin:]

        wait_for("the arbiter", works, 30)
