# SPDX-License-Identifier: Apache-2.0
"""Bandwidth of one sequential stream through a forwarder, compared with diod alone and with the link.

A compute node of a virtual cluster writes and reads a file in the memory of an I/O node. The links carry 1 Gbit/s.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.cluster import forwarding
from tests.cluster.machine import VirtualCluster
from tests.cluster.spec import node_address

MEBIBYTES = 256
PREFIX = "/home"
FILE = f"{PREFIX}/alice/stream"
LIBRARY = "/usr/local/lib/libreprise_forward.so"
LINK_PORT = 5999
RECEIVE = (
    "import socket\ns = socket.create_server(('0.0.0.0', {port}))\nc, _ = s.accept()\nwhile c.recv(1 << 20): pass\n"
)
SEND = """
import socket, time
with socket.create_connection(("{address}", {port})) as s:
    begun = time.perf_counter()
    for _ in range({mebibytes}):
        s.sendall(bytes(1 << 20))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    print(time.perf_counter() - begun)
"""
DD = re.compile(r" copied, ([0-9.]+) s")


def measured(rounds: int) -> Mapping[str, Any]:
    """Return the medians of the bandwidths in MB/s, and the share that a forwarded stream has of the smaller limit."""
    with VirtualCluster(nodes=2) as cluster:
        forwarding.install(cluster)
        one = forwarding.Forwarder(cluster, 1, export=PREFIX)
        one.start()
        found: dict[str, list[float]] = {}
        places = {"forwarder": one.address, "diod": one.diod_address}
        for _ in range(rounds):
            found.setdefault("link", []).append(_link(cluster))
            for name, address in places.items():
                for call, mb_s in _streamed(cluster, address).items():
                    found.setdefault(f"{name} {call}", []).append(mb_s)
        one.stop()
    medians = {name: round(statistics.median(values), 1) for name, values in found.items()}
    shares = [
        medians[f"forwarder {call}"] / min(medians["link"], medians[f"diod {call}"]) for call in ("write", "read")
    ]
    return {"mb_s": medians, "share": round(min(shares), 3), "network": cluster.describe()}


def _link(cluster: VirtualCluster) -> float:
    receiver = cluster.popen(["python3", "-c", RECEIVE.format(port=LINK_PORT)], node="node1")
    script = SEND.format(address=node_address(1), port=LINK_PORT, mebibytes=MEBIBYTES)
    listens = f"until ss -ltn | grep -q :{LINK_PORT}; do sleep 0.05; done"
    cluster.run(["sh", "-c", listens], node="node1")
    seconds = float(cluster.run(["python3", "-c", script], node="node0").stdout)
    receiver.wait(timeout=20)
    return MEBIBYTES * 1.048576 / seconds


def _streamed(cluster: VirtualCluster, address: str) -> Mapping[str, float]:
    cluster.write("/home/alice/map", f"reprise-forwarders 1\n{address}\n", user="alice")
    environment = {
        "LD_PRELOAD": LIBRARY,
        "REPRISE_FORWARD_MAP": "/home/alice/map",
        "REPRISE_FORWARD_PREFIXES": PREFIX,
        "REPRISE_FORWARD_REPORT": "/home/alice/report",
    }
    words = {
        "write": ["dd", "if=/dev/zero", f"of={FILE}", "bs=1M", f"count={MEBIBYTES}", "conv=notrunc"],
        "read": ["dd", f"if={FILE}", "of=/dev/null", "bs=1M"],
    }
    return {call: MEBIBYTES * 1.048576 / _seconds(cluster, argv, environment) for call, argv in words.items()}


def _seconds(cluster: VirtualCluster, argv: Sequence[str], environment: Mapping[str, str]) -> float:
    cluster.path("/home/alice/report").unlink(missing_ok=True)
    done = cluster.run(argv, user="alice", node="node0", env=environment)
    found = DD.search(done.stderr)
    report = cluster.path("/home/alice/report").read_text()
    if not found or '"redone_bytes": 0' not in report or '"read_calls": 0, "read_bytes": 0, "write_calls": 0' in report:
        raise RuntimeError(f"the stream was not forwarded: {report} {done.stderr}")
    return float(found[1])
