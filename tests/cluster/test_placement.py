# SPDX-License-Identifier: Apache-2.0
"""Test on a real Slurm that settings for Slurm or the dynamic loader take effect, and that users' choices are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install_plugin
from tests.spank.daemon import FakeDaemon, decision

pytestmark = pytest.mark.cluster

SOCKET = "/run/reprise/matcher.sock"
LIBRARIES = "/tmp/lib"  # a separate directory on each node
ALLOCATOR = f"{LIBRARIES}/libreprise_jemalloc.so"
WHERE = "sh -c 'echo $SLURM_PROCID $SLURM_NODEID'"
BLOCK, CYCLIC = ["0 0", "1 0", "2 1", "3 1"], ["0 0", "1 1", "2 0", "3 1"]


@pytest.fixture(scope="module")
def cluster(root: Path) -> Iterator[VirtualCluster]:
    words = f"deadline_ms=300 endpoint=unix:{SOCKET} preload_directory={LIBRARIES}"
    with VirtualCluster(nodes=2, plugstack=f"optional spank_reprise.so {words}\n", root=root) as machine:
        done = install_plugin(machine)
        assert (done.returncode, done.stderr) == (0, "")
        machine.run(["mkdir", "-p", "/run/reprise"])
        yield machine


@pytest.fixture
def daemon(cluster: VirtualCluster) -> Iterator[FakeDaemon]:
    reply = decision("apply", {"SLURM_DISTRIBUTION": "cyclic"})
    with FakeDaemon(cluster.path(SOCKET), reply=reply).listening() as listening:
        yield listening
        assert listening.refused == []


def output(cluster: VirtualCluster, script: str, *options: str, env: Mapping[str, str] | None = None) -> list[str]:
    """Run a job on both nodes, and return the lines of its standard output and error, sorted."""
    cluster.write("/home/alice/job.sh", f"#!/bin/bash\n{script}\n", user="alice")
    argv = ["sbatch", "--parsable", "--nodes=2", "--ntasks=4", "--overcommit", *options, "job.sh"]
    done = cluster.run(argv, user="alice", env=env)
    end = cluster.wait_job(int(done.stdout))
    assert end.state == "COMPLETED", end.output
    return sorted(end.output.splitlines())


def test_a_job_whose_user_has_not_chosen_has_the_given_distribution(
    cluster: VirtualCluster, daemon: FakeDaemon
) -> None:
    assert output(cluster, f"srun {WHERE}") == CYCLIC
    assert output(cluster, f"srun {WHERE}", "--reprise=off") == BLOCK


CHOICES: dict[str, dict[str, Any]] = {
    "the option": {"options": ["--distribution=block"]},
    "a line of the script": {"script": f"#SBATCH -m block\nsrun {WHERE}"},
    "the variable of sbatch": {"env": {"SBATCH_DISTRIBUTION": "block"}},
    "an option of srun": {"script": f"srun --distribution=block {WHERE}"},
    "the variable of srun": {"script": f"export SLURM_DISTRIBUTION=block\nsrun {WHERE}"},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_user_who_has_chosen_keeps_the_choice_whatever_the_daemon_says(
    cluster: VirtualCluster, daemon: FakeDaemon, choice: str
) -> None:
    """Slurm or the plugin drops the fake daemon's settings. The real matcher returns no settings for such a job."""
    said = CHOICES[choice]
    assert output(cluster, said.get("script", f"srun {WHERE}"), *said.get("options", []), env=said.get("env")) == BLOCK


def test_mpirun_starts_its_ranks_whatever_the_distribution(cluster: VirtualCluster, daemon: FakeDaemon) -> None:
    assert output(cluster, "mpirun --oversubscribe -np 4 sh -c 'echo rank $OMPI_COMM_WORLD_RANK'") == [
        f"rank {rank}" for rank in range(4)
    ]


def test_a_node_without_an_allocator_runs_without_it_and_no_program_complains(
    cluster: VirtualCluster, daemon: FakeDaemon
) -> None:
    daemon.reply = decision("apply", {"REPRISE_PRELOAD": "jemalloc"})
    link = f"mkdir -p {LIBRARIES}; ln -sf /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 {ALLOCATOR}"
    has = "sh -c 'grep -q jemalloc /proc/$$/maps && echo with || echo without'"
    script = f"srun {has}\nmpirun --oversubscribe -np 4 --map-by node {has}\n/bin/true"
    cluster.run(["srun", "--reprise=off", "--nodes=1", "--nodelist=node0", "sh", "-c", link])
    assert output(cluster, script) == ["with"] * 4 + ["without"] * 4, "only the first node has the allocator"


@pytest.mark.parametrize("name", ["SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"])
def test_a_job_that_runs_says_what_slurm_gives_it_on_a_node_whatever_its_user_says(
    cluster: VirtualCluster, name: str
) -> None:
    with FakeDaemon(cluster.path(SOCKET), reply=decision("defer", {})).listening() as listening:
        printed = output(cluster, f"echo ${name}", env={name: "99"})
    (asked,) = listening.of_kind("decide", "start")
    assert [asked.message["submission"]["env"][name]] == printed != ["99"]


def test_a_job_that_runs_says_how_much_memory_it_may_use_whatever_its_user_says(cluster: VirtualCluster) -> None:
    for option, name in (("--mem=100", "SLURM_MEM_PER_NODE"), ("--mem-per-cpu=50", "SLURM_MEM_PER_CPU")):
        with FakeDaemon(cluster.path(SOCKET), reply=decision("defer", {})).listening() as listening:
            printed = output(cluster, f"echo ${name}", option, env={name: "9999"})
        (asked,) = listening.of_kind("decide", "start")
        assert [asked.message["submission"]["env"][name]] == printed == [option.partition("=")[2]]
