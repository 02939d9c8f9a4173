# SPDX-License-Identifier: Apache-2.0
"""Test that valgrind finds no more problems in the real sbatch with the plugin than with a bare plugin."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import valgrind
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOCKET, Daemon, install
from tests.cluster.test_transport import ABSENT, HOST, PORT
from tests.spank.daemon import FakeDaemon, decision

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
SOURCES = {path.name for path in SPANK.glob("*.c")}
LOG = "/home/alice/valgrind.log"
ATTEMPTS = 5  # maximum number of submissions, because under valgrind on a busy machine, an answer may arrive too late


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=1) as machine:
        install(machine)
        config = machine.path("/etc/reprise/reprise.toml")
        config.write_text(config.read_text().replace('listen = ""', f'listen = "{HOST}:{PORT}"'))
        machine.write("/home/alice/job.sh", "#!/bin/sh\ntrue\n", user="alice")
        source = Path(__file__).parent / "bare_plugin.c"
        machine.write("/tmp/bare_plugin.c", source.read_text())
        machine.run(["cc", "-g", "-shared", "-fPIC", "-o", "/tmp/bare_plugin.so", "/tmp/bare_plugin.c"])
        yield machine


def submit(cluster: VirtualCluster, plugin: str) -> tuple[str, list[valgrind.Problem]]:
    """Run sbatch as Alice under valgrind with a plugin; return the error output and the problems found."""
    cluster.write(PLUGSTACK, f"optional {plugin}\n")
    argv = valgrind.command(LOG, "sbatch", "--reprise=explain", "job.sh")
    done = cluster.run(argv, user="alice")
    return done.stderr, valgrind.problems(cluster.path(LOG).read_text())


@pytest.fixture(scope="module")
def slurms_own(cluster: VirtualCluster) -> set[tuple[str, ...]]:
    _, found = submit(cluster, "/tmp/bare_plugin.so")
    assert found, "valgrind finds no leak, although sbatch 22.05 has some"
    return {problem.callees_of(["bare_plugin.c"]) for problem in found}


def check(cluster: VirtualCluster, slurms_own: set[tuple[str, ...]], endpoint: str, words: str) -> None:
    plugin = f"spank_reprise.so endpoint={endpoint} matcher_uid={cluster.uid('reprise')} deadline_ms=1000"
    for _ in range(ATTEMPTS):
        told, found = submit(cluster, plugin)
        ours = [problem for problem in found if problem.callees_of(SOURCES) not in slurms_own]
        assert not ours, "\n".join(map(str, ours))
        if words in told:
            return
    raise AssertionError(f"sbatch never printed {words!r}: {told}")


def test_a_submission_over_a_unix_socket_is_clean(cluster: VirtualCluster, slurms_own: set[tuple[str, ...]]) -> None:
    reply = decision("apply", {"SRO_A": "1", "OMPI_MCA_b": "2"}, score=0.5, record=1)
    with FakeDaemon(cluster.path(SOCKET), reply=reply).listening():
        check(cluster, slurms_own, f"unix:{SOCKET}", "reprise: apply: because")


def test_a_submission_over_tcp_with_munge_is_clean(cluster: VirtualCluster, slurms_own: set[tuple[str, ...]]) -> None:
    with Daemon(cluster):
        check(cluster, slurms_own, f"tcp:{HOST}:{PORT}", "reprise: none: ")


def test_a_submission_without_a_daemon_is_clean(cluster: VirtualCluster, slurms_own: set[tuple[str, ...]]) -> None:
    check(cluster, slurms_own, ABSENT, "reprise: unreachable: ")
