# SPDX-License-Identifier: Apache-2.0
"""Test the network with latency: its delay, its rate, the order of frames, and the effect on collectives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.cluster import keeper
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.network import bits_per_second
from tests.cluster.product import SOURCE
from tests.cluster.spec import node_address
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

NODES = 8
LATENCY_US = 2000  # large in comparison with the delays of a busy machine
PYTHON = ["/usr/bin/python3", "-c"]
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7000))
print("ready", flush=True)
while True:
    s.sendto(*s.recvfrom(9000))
"""
ROUND_TRIPS = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
times = []
for _ in range(200):
    begun = time.perf_counter()
    s.sendto(b"x" * 64, (sys.argv[1], 7000))
    s.recv(100)
    times.append(time.perf_counter() - begun)
print(sorted(times)[len(times) // 10] * 1e6)
"""
# Receives datagrams until none has arrived for a second. Prints the seconds from the first datagram to the last, and,
# for each sender, the numbers of the sender's datagrams in the order in which they arrived.
COLLECT = """
import collections, json, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE: what the switch carries, the receiver must not drop
s.bind(("", 7001))
print("ready", flush=True)
seen = collections.defaultdict(list)
while True:
    data, (sender, _) = s.recvfrom(9000)
    last = time.perf_counter()
    first = last if not seen else first
    seen[sender].append(struct.unpack("I", data[:4])[0])
    s.settimeout(1)
    try:
        s.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        break
print(json.dumps([last - first, seen]))
"""
SEND = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for number in range(int(sys.argv[2])):
    s.sendto(struct.pack("I", number) + bytes(8000), (sys.argv[1], 7001))
"""
COLLBENCH = f"{SOURCE}/tuner/programs/collbench/reprise-collbench"
FORCED = "OMPI_MCA_coll_tuned_bcast_algorithm"
LINEAR, PIPELINE = "1", "3"


@pytest.fixture(scope="module")
def slow() -> Iterator[VirtualCluster]:
    with VirtualCluster(NODES, latency_us=LATENCY_US) as cluster:
        yield cluster


def collected(
    cluster: VirtualCluster, receiver: str, target: str, senders: list[str], count: int
) -> tuple[float, dict[str, list[int]]]:
    """Make nodes send `count` datagrams each at once; return the elapsed seconds and the received numbers by sender."""
    listening = cluster.popen([*PYTHON, COLLECT], node=receiver, user="root")
    assert listening.stdout and listening.stdout.readline() == "ready\n"
    sending = [cluster.popen([*PYTHON, SEND, target, str(count)], node=node, user="root") for node in senders]
    assert [one.wait(timeout=60) for one in sending] == [0] * len(senders)
    seconds, found = json.loads(listening.communicate(timeout=60)[0])
    return seconds, found


def received(cluster: VirtualCluster, node: str) -> int:
    """Return the number of frames that a node's network device has received."""
    told = json.loads(cluster.run(["ip", "-json", "-statistics", "link", "show", "eth0"], node=node).stdout)
    return int(told[0]["stats64"]["rx"]["packets"])


def test_a_round_trip_takes_the_delay_twice(slow: VirtualCluster) -> None:
    echo = slow.popen([*PYTHON, ECHO], node="node1", user="root")
    try:
        assert echo.stdout and echo.stdout.readline() == "ready\n"
        told = slow.run([*PYTHON, ROUND_TRIPS, node_address(1)], node="node0").stdout
    finally:
        echo.kill()
        slow.run(["pkill", "--full", "s.bind"], check=False)  # `echo.kill()` would only end nsenter
    assert 2 * LATENCY_US <= float(told) <= 2.3 * LATENCY_US


def test_frames_of_many_senders_keep_their_order_and_none_is_lost(slow: VirtualCluster) -> None:
    senders = list(range(1, NODES))
    _, found = collected(slow, "node0", node_address(0), [f"node{i}" for i in senders], 1000)
    assert found == {node_address(i): list(range(1000)) for i in senders}


def test_a_broadcast_reaches_all_and_nothing_else_reaches_a_third(slow: VirtualCluster) -> None:
    others = [f"node{i}" for i in range(NODES) if i != 2]
    before = {node: received(slow, node) for node in others}
    _, found = collected(slow, "node5", "10.99.0.255", ["node2"], 200)
    assert found == {node_address(2): list(range(200))}
    assert all(received(slow, node) - before[node] >= 200 for node in others)
    before = {node: received(slow, node) for node in others}
    _, found = collected(slow, "node3", node_address(3), ["node4"], 200)
    assert found == {node_address(4): list(range(200))}
    third = [node for node in others if node not in ("node3", "node4")]
    assert all(received(slow, node) - before[node] < 100 for node in third)  # only a few frames, sent by Slurm


def test_links_carry_no_more_than_their_rate_each_way() -> None:
    frame_bits = 8 * (8000 + 4 + 28 + 14 + 20)  # data, sequence number, IP and UDP, Ethernet, preamble and gap
    with VirtualCluster(nodes=3, rate="50mbit", latency_us=100) as cluster:
        one, found = collected(cluster, "node0", node_address(0), ["node1"], 500)
        assert {sender: len(numbers) for sender, numbers in found.items()} == {node_address(1): 500}
        two, found = collected(cluster, "node0", node_address(0), ["node1", "node2"], 250)
        assert {sender: len(numbers) for sender, numbers in found.items()} == {
            node_address(1): 250,
            node_address(2): 250,
        }
    least_s = 499 * frame_bits / 50e6
    assert least_s * 0.98 <= one <= least_s * 1.2
    assert least_s * 0.98 <= two <= least_s * 1.2


def test_collectives_take_as_many_delays_as_their_algorithm_has_steps(slow: VirtualCluster) -> None:
    """A pipeline forwards a short message seven times, so the last rank waits for seven delays.

    In the linear algorithm, the root sends the message to each rank, so every rank waits for one delay.
    """
    times = {}
    for algorithm in (LINEAR, PIPELINE):
        env = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", FORCED: algorithm}
        words = ["--warmup", "5", "--repetitions", "20", "bcast:1024"]
        done = slow.run(["srun", "--mpi=pmix", f"-N{NODES}", COLLBENCH, *words], user="alice", env=env)
        times[algorithm] = json.loads(done.stdout.splitlines()[-1])["max_s"] * 1e6
    assert times[LINEAR] >= LATENCY_US
    assert times[PIPELINE] >= 7 * LATENCY_US
    assert times[PIPELINE] > 2 * times[LINEAR]


@pytest.mark.skipif(keeper.cpu_groups() is None, reason="this machine has no groups of the CPU scheduler")
def test_a_command_on_the_cluster_belongs_to_its_scheduler_group(slow: VirtualCluster) -> None:
    """A command of another group would wait for ranks that poll, since the cluster's group takes precedence."""
    for node in ("", "node1"):
        groups = slow.run(["cat", "/proc/self/cgroup"], user="alice", node=node).stdout
        assert slow.spec.cpu_group in groups
    with VirtualCluster(nodes=1) as cluster:
        assert cluster.spec.cpu_group not in cluster.run(["cat", "/proc/self/cgroup"]).stdout


def test_the_switch_that_dies_is_named() -> None:
    with VirtualCluster(nodes=1, latency_us=100) as cluster:
        cluster.run(["pkill", "-ABRT", "-x", "switch"], check=False)
        wait_for("the cluster's end", lambda: cluster.path("/run/cluster/died").exists(), 20)
        with pytest.raises(ClusterError, match=r"^the switch died \(SIGABRT\)"):
            cluster.run(["true"])


def test_a_cluster_says_what_its_network_is() -> None:
    assert VirtualCluster(8, "10gbit", 500).describe() == (
        "8 nodes, links of 10gbit each way, 500 us from machine to machine"
    )
    assert VirtualCluster(4).describe() == "4 nodes, links of 1gbit each way, no latency of their own"


def test_rates_are_read_as_tc_reads_them() -> None:
    assert list(map(bits_per_second, ("1gbit", "2.5gbit", "100mbit", "9600bit"))) == [10**9, 25 * 10**8, 10**8, 9600]
    with pytest.raises(RuntimeError, match="invalid rate 'fast': give one such as"):
        bits_per_second("fast")
    assert re.fullmatch(r"[\d.]+[kmg]?bit", VirtualCluster().spec.rate)
