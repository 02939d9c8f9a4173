# SPDX-License-Identifier: Apache-2.0
"""Specification of a virtual cluster: its size, its system, its names.

It imports only the standard library, for `init.py`.
"""

from __future__ import annotations

import dataclasses

HEAD = "login"
SOURCE = "/opt/reprise/source"  # path of the checkout on all machines of a cluster
PYTHONPATH = f"{SOURCE}/build/package:{SOURCE}"
"""Python path of Reprise and its tests on the machines; the environment names the checkout's path on the host."""
PYTHON = ("env", f"PYTHONPATH={PYTHONPATH}", f"{SOURCE}/.venv/bin/python", "-P")
FIRST_UID = 30001
SERVICE_UID = 30000
HEAD_ADDRESS = "10.99.0.254"


@dataclasses.dataclass(frozen=True)
class Spec:
    """Specification of a cluster to build.

    Sizes: `rate` in the syntax of tc, `queue_ms` the queue limit of the shaper, `latency_us` the time of a frame from
    one machine to another in addition to that of the links (0: nothing), `cpus` per node.
    With `pinned`, processes on a node keep to one CPU of the host.

    `cpu_group` names the cluster's group of the kernel's scheduler. `root` is the directory with the system that all
    its machines run: "/" for the host's.
    """

    name: str
    cpu_group: str
    root: str
    source: str
    nodes: int
    rate: str
    burst: str
    queue_ms: int
    latency_us: int
    users: list[str]
    cpus: int
    pinned: bool
    plugstack: str

    def describe(self) -> str:
        """Return the nodes and the delay and rate of their network, for a person who reads a figure."""
        delay = f"{self.latency_us} us from machine to machine" if self.latency_us else "no latency of their own"
        return f"{self.nodes} nodes, links of {self.rate} each way, {delay}"


def node_name(index: int) -> str:
    return f"node{index}"


def node_address(index: int) -> str:
    return f"10.99.0.{index + 1}"
