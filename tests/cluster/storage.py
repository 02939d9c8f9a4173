# SPDX-License-Identifier: Apache-2.0
"""A parallel file system for a virtual cluster: GlusterFS, with data servers on a storage network of their own.

Each file is on one of the data servers, as on Lustre with one stripe. All nodes mount the file system at `/scratch`,
without caches that could differ between nodes. Every machine has a link to the storage network (`eth1` on nodes), and
the link's rate is that of the machine's kind. So the nodes that compute may have a slower way to the data than those
that serve as I/O nodes, and data servers that many files share are slower for each of them.

Everything is in the cluster's namespaces and ends with the cluster.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.cluster.machine import ClusterError, VirtualCluster
from tests.waiting import wait_for

PLACE = "/scratch"
BRIDGE = "storage"
VOLUMES = "/etc/glusterfs"
PORT = 24007
NEEDED = ("glusterfs", "glusterfsd")

SERVER = """\
volume posix
  type storage/posix
  option directory {directory}
end-volume
volume locks
  type features/locks
  subvolumes posix
end-volume
volume brick
  type performance/io-threads
  option thread-count 4
  subvolumes locks
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address {address}
  option transport.socket.listen-port {port}
  option auth.addr.brick.allow *
  subvolumes brick
end-volume
"""
CLIENT = """\
volume server{number}
  type protocol/client
  option transport-type tcp
  option remote-host {address}
  option remote-port {port}
  option remote-subvolume brick
end-volume
"""
TOGETHER = """\
volume together
  type cluster/distribute
  subvolumes {servers}
end-volume
"""


@dataclass
class Storage:
    """The file system's machines and their links.

    `servers` is the number of data servers. `io_nodes` lists the nodes with the faster link. Rates are in tc syntax.
    """

    cluster: VirtualCluster
    io_nodes: Sequence[int] = ()
    servers: int = 3
    server_rate: str = "400mbit"
    compute_rate: str = "100mbit"
    io_rate: str = "400mbit"
    addresses: list[str] = field(default_factory=list)

    def describe(self) -> str:
        """Return one line about the servers and the rates, to print with all measurements."""
        return (
            f"GlusterFS on {self.servers} data servers with links of {self.server_rate}; compute nodes reach them with "
            f"{self.compute_rate} each, I/O nodes with {self.io_rate}"
        )

    def start(self) -> None:
        """Create the storage network, start the data servers, and mount the file system on all nodes."""
        if missing := [name for name in NEEDED if not shutil.which(name)]:
            raise ClusterError(f"the file system needs {', '.join(missing)}: install glusterfs-server")
        self._run(f"ip link add {BRIDGE} type bridge", f"ip link set {BRIDGE} mtu 9000 up")
        self._run("printf '\\nbtl_tcp_if_exclude = lo,eth1\\noob_tcp_if_exclude = lo,eth1\\n' "
                  ">> /etc/openmpi/openmpi-mca-params.conf")  # fmt: skip
        self.addresses = [self._start_server(number) for number in range(self.servers)]
        parts = [
            CLIENT.format(number=number, address=address, port=PORT) for number, address in enumerate(self.addresses)
        ]
        names = " ".join(f"server{number}" for number in range(self.servers))
        self.cluster.write(f"{VOLUMES}/client.vol", "".join(parts) + TOGETHER.format(servers=names))
        self._run(f"mkdir -p {PLACE}")
        for number in range(self.cluster.spec.nodes):
            pid = self.cluster.path(f"/run/cluster/node{number}.pid").read_text().strip()
            rate = self.io_rate if number in self.io_nodes else self.compute_rate
            self._join(pid, f"store{number}", f"10.98.0.{number + 1}", rate)
            self._mount(number)
        self._run(f"chmod 1777 {PLACE}", node="node0")

    def _start_server(self, number: int) -> str:
        """Start a data server in a network namespace of its own, and return its address."""
        address, directory, name = f"10.98.0.{number + 201}", f"/srv/data{number}", f"data{number}"
        # the directory is in memory, because an overlay keeps no extended attributes of the kind that GlusterFS uses
        self._run(
            f"mkdir -p {directory} && mount -t tmpfs -o size=3g {name} {directory} && chmod 1777 {directory}",
            f"setsid unshare --net sh -c 'echo $$ > /run/cluster/{name}.pid; exec sleep infinity' >/dev/null 2>&1 &",
        )
        place = self.cluster.path(f"/run/cluster/{name}.pid")
        pid = wait_for(f"{name}'s namespace", lambda: place.exists() and place.read_text().strip())
        assert isinstance(pid, str)
        self._run(f"nsenter --target {pid} --net ip link set lo up")
        self._join(pid, name, address, self.server_rate)
        self.cluster.write(f"{VOLUMES}/{name}.vol", SERVER.format(directory=directory, address=address, port=PORT))
        self._run(f"nsenter --target {pid} --net glusterfsd -f {VOLUMES}/{name}.vol -l /var/log/{name}.log")
        return address

    def _join(self, pid: str, port: str, address: str, rate: str) -> None:
        """Connect the namespace of process `pid` to the storage network."""
        shaped = f"root tbf rate {rate} burst 64k latency 50ms"
        inside = f"nsenter --target {pid} --net"
        self._run(
            f"ip link add {port} mtu 9000 type veth peer name eth1 mtu 9000 netns {pid}",
            f"ip link set {port} master {BRIDGE} up",
            f"tc qdisc add dev {port} {shaped}",
            f"{inside} ip address add {address}/24 dev eth1",
            f"{inside} ip link set eth1 up",
            f"{inside} tc qdisc add dev eth1 {shaped}",
        )

    def _mount(self, number: int) -> None:
        node = f"node{number}"
        options = "--attribute-timeout=0 --entry-timeout=0 --direct-io-mode=enable"
        self._run(
            f"glusterfs -f {VOLUMES}/client.vol -l /var/log/glusterfs-{node}.log {options} {PLACE}",
            node=node,
        )
        wait_for(
            f"{PLACE} on {node}",
            lambda: self.cluster.run(["stat", "-f", "-c", "%T", PLACE], node=node, check=False).stdout == "fuseblk\n",
        )

    def _run(self, *lines: str, node: str = "") -> None:
        self.cluster.run(["sh", "-ec", "\n".join(lines)], node=node)
