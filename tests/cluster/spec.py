# SPDX-License-Identifier: Apache-2.0
"""What a virtual cluster is to be: its size, its system, its names. Only the standard library, for `init.py`."""

from __future__ import annotations

import dataclasses

HEAD = "login"
SOURCE = "/opt/reprise/source"  # where all machines of a cluster see the checkout, wherever it lies on the host
PYTHONPATH = f"{SOURCE}/build/package:{SOURCE}"
"""Reprise and its tests, for the machines: the environment itself names the checkout's place on the host."""
PYTHON = ("env", f"PYTHONPATH={PYTHONPATH}", f"{SOURCE}/.venv/bin/python", "-P")
FIRST_UID = 30001
SERVICE_UID = 30000
HEAD_ADDRESS = "10.99.0.254"


@dataclasses.dataclass(frozen=True)
class Spec:
    """What to build. Sizes: `rate` in tc's words, `queue_ms` the queue limit of the shaper, `latency_us` what a frame
    takes from one machine to another beyond what the links need (0: nothing), `cpus` per node.
    `pinned`: what runs on a node keeps to one CPU of the host.

    `cpu_group` names the cluster's group of the kernel's scheduler. `root` is the directory that holds the system that
    all its machines run: "/" for the host's own.
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
        """The nodes and what their network does to a message, for a person who reads a figure."""
        delay = f"{self.latency_us} us from machine to machine" if self.latency_us else "no latency of their own"
        return f"{self.nodes} nodes, links of {self.rate} each way, {delay}"


def node_name(index: int) -> str:
    return f"node{index}"


def node_address(index: int) -> str:
    return f"10.99.0.{index + 1}"
