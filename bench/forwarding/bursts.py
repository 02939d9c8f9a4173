# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a program, without and with burst buffers, on a virtual cluster with a parallel file system.

The program computes and writes checkpoints in turn. Its run time includes the wait for all data at its end. The names
of files determine their data servers, and both runs of a pair have the same names: otherwise, the server with most
files would decide which of them is faster.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from bench.forwarding.live import site
from reprise.tuner.model.statistics import paired_gain
from tests.cluster import forwarding
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import tune

PLACE = "/home/alice/bursts"
PROGRAM = """\
import os, sys, time
count, size, files = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
before, after = float(sys.argv[4]), float(sys.argv[5])
rank, placement = os.environ["SLURM_PROCID"], os.environ["PLACEMENT"]
piece = os.urandom(1 << 20)
opened = {}
for number in range(count):
    time.sleep(before)
    path = f"/scratch/checkpoint-{placement}-{rank}-{number % files}"
    fd = opened.pop(path, None) or os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    for at in range(size):
        os.pwrite(fd, piece, at << 20)
    if number + files < count:
        opened[path] = fd
    else:
        os.close(fd)
time.sleep(after)
"""
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=bursts --nodes=4 --exclusive --output=bursts-%j.out
export PLACEMENT=${{PLACEMENT:-$SLURM_JOB_ID}}
begun=$(date +%s.%N)
srun --ntasks=16 --overcommit /usr/bin/python3 {place}/program.py {words}
echo "$begun $(date +%s.%N)" | awk '{{print $2 - $1}}'
rm -f /scratch/checkpoint-$PLACEMENT-*
"""
FITTING, EXCEEDING = "6 6 6 1.5 0", "3 12 3 0.2 0"
"""Checkpoints, MiB of each rank's checkpoint, files that each rank uses in turn, seconds before each checkpoint, and
seconds at the end.

The I/O nodes can move the checkpoints of the former, 96 MiB at a time, to the file system while the program computes.
The 192 MiB of each of the latter neither fit into the buffers nor get to the file system in time.
"""
TUNED = "1 60 1 1 20"
"""A checkpoint of 960 MiB at a forwarder whose buffer has 256 MiB by default, and enough time to move it."""
MAP = {"REPRISE_FORWARD_MAP": f"{PLACE}/map", "REPRISE_FORWARD_PREFIXES": "/scratch"}
FORWARDED = {**MAP, "LD_PRELOAD": "/usr/local/lib/libreprise_forward.so"}
DELAYED = {**MAP, "LD_PRELOAD": "/usr/local/lib/libreprise_burst.so", "REPRISE_FORWARD_BURST": "ram"}
SMALL_RAM = {**DELAYED, "REPRISE_FORWARD_BURST_RAM_BYTES": str(64 << 20)}
BURSTS, FLASH = "--bursts=/dev/shm/bursts", "--burst-flash=/dev/shm/flash"
"""Directories of burst buffers, and of their flash caches; each node has a /dev/shm of its own."""
LINGER = "--linger=5"
TRIALS = 20
COMPUTE_NODES = 8


def measured(pairs: int) -> Mapping[str, Any]:
    """Return the ratios of run times without and with burst buffers, and the gain of a campaign."""
    with site(COMPUTE_NODES, BURSTS, FLASH, LINGER, rate="160mbit") as (cluster, storage, pool):
        _prepare(cluster, pool.addresses, {"fitting": FITTING, "exceeding": EXCEEDING})
        ratios = {
            "fitting": _ratios(cluster, "fitting", DELAYED, pairs),
            "exceeding": _ratios(cluster, "exceeding", SMALL_RAM, pairs),
        }
        described = f"{cluster.describe()}; {storage.describe()}"
    return {
        "burst_gain": ratios["fitting"]["direct"],
        "burst_worst": min(ratios["exceeding"].values()),
        "ratios": ratios,
        "cluster": described,
        **_tuned(pairs),
    }


def _tuned(pairs: int) -> Mapping[str, Any]:
    """Return the gain of a campaign's parameters over the defaults, for a job with one forwarder without flash."""
    with site(COMPUTE_NODES, BURSTS, LINGER, rate="320mbit") as (cluster, storage, pool):
        forwarding.configure(cluster, pool.addresses[:1], prefixes=["/scratch"])
        _prepare(cluster, pool.addresses[:1], {"tuned": TUNED})
        report = tune(cluster, "/home/reprise/bursts.yaml", _campaign(), timeout_s=5400)
        tuned = _settings(cluster, report["record"]) if report["record"] else None
        return {
            "burst_tuned_gain": tuned and _gain(cluster, "tuned", DELAYED, {**DELAYED, **tuned}, pairs),
            "tuned": tuned,
            "tuned_cluster": f"{cluster.describe()}; {storage.describe()}",
            "problems": report["problems"],
        }


def _prepare(cluster: VirtualCluster, addresses: Sequence[str], programs: Mapping[str, str]) -> None:
    """Write a map of forwarders, and scripts for the program with different words."""
    cluster.write(f"{PLACE}/program.py", PROGRAM, user="alice")
    cluster.write(f"{PLACE}/map", "\n".join(["reprise-forwarders 1", *addresses, ""]), user="alice")
    for name, words in programs.items():
        cluster.write(f"{PLACE}/{name}.sh", SCRIPT.format(place=PLACE, words=words), user="alice", mode=0o755)


def _settings(cluster: VirtualCluster, record: int) -> dict[str, str]:
    done = cluster.run(["reprise", "records", "show", str(record), "--json"], user="reprise")
    environment = json.loads(done.stdout)["record"]["environment"]
    return {name: value for name, value in environment.items() if name.startswith("REPRISE_FORWARD_")}


def _ratios(cluster: VirtualCluster, name: str, burst: Mapping[str, str], pairs: int) -> dict[str, list[float]]:
    """Return the run times of direct and of forwarded I/O divided by that with burst buffers, with bounds."""
    others: dict[str, Mapping[str, str]] = {"direct": {}, "forwarded": FORWARDED}
    found = {way: _gain(cluster, name, before, burst, pairs) for way, before in others.items()}
    return {way: [round(1 / (1 - value), 3) for value in gain] for way, gain in found.items()}


def _gain(
    cluster: VirtualCluster, name: str, before: Mapping[str, str], after: Mapping[str, str], pairs: int
) -> list[float]:
    """Return the share of the run time that variables save in comparison with others, with its bounds."""
    times: dict[str, list[float]] = {"before": [], "after": []}
    for pair in range(pairs):
        for which in random.sample(list(times), 2):
            environment = {**(before if which == "before" else after), "PLACEMENT": str(pair)}
            times[which].append(_seconds(cluster, name, environment))
    return [round(value, 4) for value in paired_gain(times["before"], times["after"])]


def _seconds(cluster: VirtualCluster, name: str, environment: Mapping[str, str]) -> float:
    export = ",".join(["ALL", *(f"{key}={value}" for key, value in environment.items())])
    job = cluster.submit(f"{name}.sh", "--reprise=off", f"--export={export}", user="alice", cwd=PLACE)
    end = cluster.wait_job(job, 600)
    if end.state != "COMPLETED":
        raise RuntimeError(f"job {job}: {end.state}: {end.output[-500:]}")
    return float(end.output.splitlines()[-1])


def _campaign() -> dict[str, Any]:
    return {
        "name": "bursts",
        "component": "burst-buffer",
        "settings": {"space": {"library": ["burst"], "write-back": ["ram"]}},
        "application": {"script": f"{PLACE}/tuned.sh", "user": "alice"},
        "search": {"budget": TRIALS},
        "repetitions": {"default_runs": 3, "final_pairs": 5},
        "executor": {"kind": "slurm", "max_trial_s": 300},
    }
