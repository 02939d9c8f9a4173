# SPDX-License-Identifier: Apache-2.0
"""The specification of a virtual cluster: its size, its system and its names.

This module imports only the standard library, because `init.py`, which runs with the system's Python, uses it.
"""

from __future__ import annotations

import dataclasses

HEAD = "login"
SOURCE = "/opt/reprise/source"  # path of the checkout on all machines of a cluster
PYTHONPATH = f"{SOURCE}/build/package:{SOURCE}"
"""Python path of Reprise and its tests on a cluster's machines, where the checkout is not at the host's path."""
PYTHON = ("env", f"PYTHONPATH={PYTHONPATH}", f"{SOURCE}/.venv/bin/python", "-P")
FIRST_UID = 30001
SERVICE_UID = 30000
HEAD_ADDRESS = "10.99.0.254"


@dataclasses.dataclass(frozen=True)
class Spec:
    """The specification of a cluster to build.

    `rate` is the rate of each link in tc syntax, and `queue_ms` limits the queue of a link, in milliseconds.
    `latency_us` is the additional latency of a frame between two machines, in microseconds (0: none). `cpus` is the
    number of CPUs per node. With `pinned`, all processes of a node run on one CPU of the host.

    `cpu_group` is the name of the cluster's group in the kernel's scheduler. `root` is the root directory of the system
    that all machines run ("/": the host's system). `auth` is "munge", or "slurm" for a cluster with Slurm's own
    authentication and without munged and libmunge.
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
    auth: str

    def describe(self) -> str:
        """Return one line about the nodes and the rate and delay of their network, to print with measurements."""
        delay = f"{self.latency_us} us from machine to machine" if self.latency_us else "no latency of their own"
        return f"{self.nodes} nodes, links of {self.rate} each way, {delay}"


def node_name(index: int) -> str:
    return f"node{index}"


def node_address(index: int) -> str:
    return f"10.99.0.{index + 1}"
