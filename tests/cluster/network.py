# SPDX-License-Identifier: Apache-2.0
"""The network of a virtual cluster, which process 1 creates: a device on the login node, and `eth0` on each node.

Without latency, the network is a bridge with a pair of virtual Ethernet devices per node, whose rate the kernel limits.
With latency (`Spec.latency_us`), the network is `switch.c`, a program that gives each machine a TAP device and forwards
each frame after the latency. All traffic uses this network, including that of Slurm and munge, because programs expect
a single network (MPICH binds to the address of the host's name, Open MPI to all addresses that it finds). The launch of
a program needs so few round trips that the latency hardly slows it.

Every machine knows the Ethernet addresses of all other machines, so that no frame goes to all machines, and the first
message between two machines takes no longer than later ones.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.cluster.commands import run, succeeds
from tests.cluster.daemons import Daemons
from tests.cluster.spec import HEAD_ADDRESS, SOURCE, Spec, node_address

DEVICE = "fabric"  # the login node's network device
MTU = 9000
QUEUE_FRAMES = 16384  # queue length of a TAP device; TCP never fills it, but would fill the default of 1000
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
ROOT_GROUP = Path("/sys/fs/cgroup/cpu/cgroup.procs")  # the root group; nested groups have no real-time CPU time


def bits_per_second(rate: str) -> int:
    """Convert a rate in tc syntax, e.g. "1gbit"; raise RuntimeError for other strings."""
    if found := re.fullmatch(r"([\d.]+)([kmg]?)bit", rate):
        return int(float(found[1]) * UNITS[found[2]])
    raise RuntimeError(f"invalid rate {rate!r}: give one such as 500mbit or 10gbit")


def build(spec: Spec, daemons: Daemons) -> None:
    """Create the network and connect the login node to it. If a command fails, raise RuntimeError with its output."""
    run("ip", "link", "set", "lo", "up")
    if spec.latency_us:
        start_switch(spec, daemons)
        run("ip", "link", "set", f"port{spec.nodes}", "name", DEVICE)
        run("ip", "-batch", "-", stdin=configuration(spec, spec.nodes, DEVICE, HEAD_ADDRESS))
        return
    run("ip", "link", "add", DEVICE, "type", "bridge")
    run("ip", "link", "set", DEVICE, "up")
    run("ip", "address", "add", f"{HEAD_ADDRESS}/24", "dev", DEVICE)


def start_switch(spec: Spec, daemons: Daemons) -> None:
    """Compile and start the switch. Its ports are in this namespace: one for each node, and one for the login node."""
    program = "/run/cluster/switch"
    Path(program).parent.mkdir(parents=True, exist_ok=True)
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
    source = f"{SOURCE}/tests/cluster/switch.c"
    run("cc", "-std=c11", "-D_GNU_SOURCE", "-O2", *warnings, "-o", program, source)
    argv = [program, str(spec.nodes + 1), str(spec.latency_us), str(bits_per_second(spec.rate))]
    enter = f"echo $$ > {ROOT_GROUP}; " if ROOT_GROUP.exists() else ""
    daemons.start("the switch", ["sh", "-c", f'{enter}exec "$@"', "sh", *argv], "/var/log/switch.out")
    daemons.wait_for("the switch", lambda: succeeds("ip", "link", "show", f"port{spec.nodes}"))


def join(spec: Spec, index: int, pid: str, inside: list[str]) -> None:
    """Create `eth0` of node `index`. `pid` is a process in the node's namespaces; the prefix `inside` enters them."""
    run(*inside, "ip", "link", "set", "lo", "up")
    if spec.latency_us:
        run("ip", "link", "set", f"port{index}", "netns", pid, "name", "eth0")
        run(*inside, "ip", "-batch", "-", stdin=configuration(spec, index, "eth0", node_address(index)))
        return
    run("ip", "link", "add", f"port{index}", "type", "veth", "peer", "name", "eth0", "netns", pid)
    run("ip", "link", "set", f"port{index}", "master", DEVICE, "up")
    run(*shape(spec, f"port{index}"))
    run(*inside, "ip", "address", "add", f"{node_address(index)}/24", "dev", "eth0")
    run(*inside, "ip", "link", "set", "eth0", "up")
    run(*inside, *shape(spec, "eth0"))


def shape(spec: Spec, device: str) -> list[str]:
    return f"tc qdisc add dev {device} root tbf rate {spec.rate} burst {spec.burst} latency {spec.queue_ms}ms".split()


def hardware_address(port: int) -> str:
    """Return the Ethernet address of a port of the switch, numbered as in `switch.c`."""
    return f"02:00:00:00:00:{port:02x}"


def configuration(spec: Spec, port: int, device: str, address: str) -> str:
    """Return lines for `ip -batch` that configure a machine's network device and the addresses of its neighbors."""
    addresses = [*map(node_address, range(spec.nodes)), HEAD_ADDRESS]
    device_lines = [
        f"link set {device} address {hardware_address(port)} mtu {MTU} txqueuelen {QUEUE_FRAMES} up",
        f"address add {address}/24 dev {device}",
    ]
    neighbours = [
        f"neighbour add {other} lladdr {hardware_address(number)} nud permanent dev {device}"
        for number, other in enumerate(addresses)
        if number != port
    ]
    return "\n".join([*device_lines, *neighbours, ""])
