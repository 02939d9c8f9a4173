# SPDX-License-Identifier: Apache-2.0
"""A virtual cluster with an MPI release, with Reprise installed and configured for this release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.releases.mpi_families import LATENCY_US, NODES, Family
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import COMMAND, PLUGSTACK, Daemon, install_plugin
from tests.cluster.spec import SOURCE
from tests.matrix.host_python import install_reprise
from tests.matrix.roots import fill

CONFIG = "/etc/reprise/reprise.toml"
PROGRAMS = "/root/build/collbench"
"""Directory for the compiled programs of campaigns, because the cluster's checkout is read-only."""
PRELOADED = "/usr/local/lib/idle_ranks.so"
OPEN_MPI_PARAMETERS = "/etc/openmpi/openmpi-mca-params.conf"
MAKE_TIMEOUT_S = 300


@contextmanager
def site(family: Family) -> Iterator[VirtualCluster]:
    """Start a cluster with the family's system, install Reprise as an administrator does, and start the matcher."""
    root = fill(family.system) if family.system else Path("/")
    with VirtualCluster(nodes=NODES, latency_us=LATENCY_US, root=root) as cluster:
        _install(cluster, family)
        with Daemon(cluster):
            yield cluster


def release_of(cluster: VirtualCluster, family: Family) -> str:
    """Return the installed release of the family, e.g. "5.0.7"."""
    argv = ["mpichversion", "--version"] if family.is_mpich else ["ompi_info", "--version"]
    said = cluster.run(argv).stdout
    found = re.search(r"(?:MPICH Version:|Open MPI v)\s*(\S+)", said)
    if not found:
        raise ClusterError(f"{' '.join(argv)} names no release: {said}")
    return found[1]


def _install(cluster: VirtualCluster, family: Family) -> None:
    done = install_plugin(cluster)
    if done.returncode:
        raise ClusterError(f"the plugin was not built: {done.stderr}")
    for words in (
        ["-C", SOURCE, "install-etc"],
        [
            *("-C", f"{SOURCE}/tuner/programs/collbench", "install", f"BUILD={PROGRAMS}"),
            *(f"MPICC={family.mpicc}", f"FAMILY={'mpich' if family.is_mpich else 'openmpi'}"),
        ],
    ):
        cluster.run(["make", "-s", *words], timeout_s=MAKE_TIMEOUT_S)
    if family.system:
        install_reprise(cluster)
    else:
        cluster.write("/usr/local/bin/reprise", COMMAND, mode=0o755)
    config = cluster.path(CONFIG)
    config.write_text(configured(config.read_text(), cluster.spec.name, family, release_of(cluster, family)))
    for directory in ("/run/reprise", "/var/lib/reprise", "/var/log/reprise"):  # as systemd does for the service
        cluster.run(["install", "-d", "-o", "reprise", "-g", "reprise", "-m", "755", directory])
    line = cluster.path("/usr/local/share/reprise/plugstack.conf").read_text().rstrip()
    # The longest deadline: with a shorter one, a daemon that waits for a processor would leave jobs without settings.
    cluster.write(PLUGSTACK, f"{line} deadline_ms=1000\n")
    cluster.run(["reprise", "db", "init"], user="reprise")
    if family.is_mpich:
        _share_processors(cluster)
    else:
        _use_the_network(cluster)


def configured(text: str, name: str, family: Family, release: str) -> str:
    """Return the configuration with an administrator's changes for the cluster `name`, and with no jobs held out."""
    wanted = {
        ("site", "cluster"): f'"{name}"',
        ("site", "nodes"): str(NODES),
        ("matcher", "holdout"): "0",
        ("mpich" if family.is_mpich else "openmpi", "releases"): f'["{release}"]',
    }
    for (section, key), value in wanted.items():
        head, _, rest = text.partition(f"[{section}]\n")
        rest, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"{CONFIG} has no setting {section}.{key}")
        text = f"{head}[{section}]\n{rest}"
    return text


def _share_processors(cluster: VirtualCluster) -> None:
    """Let the ranks of MPICH share processors (`idle_ranks.c`)."""
    words = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    cluster.run(["cc", *words, "-o", PRELOADED, f"{SOURCE}/bench/releases/idle_ranks.c", "-ldl"])
    cluster.write("/etc/ld.so.preload", f"{PRELOADED}\n")


def _use_the_network(cluster: VirtualCluster) -> None:
    """Remove the limit to the loopback interface, as docs/how-to/openmpi.md says, from Debian's Open MPI 6."""
    path = cluster.path(OPEN_MPI_PARAMETERS)
    kept = [line for line in path.read_text().splitlines() if not re.match(r"\s*btl_tcp_if_include\s*=\s*lo\b", line)]
    path.write_text("\n".join([*kept, ""]))
