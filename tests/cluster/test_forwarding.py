# SPDX-License-Identifier: Apache-2.0
"""Test forwarding as a whole: a campaign, the arbiter, the library in users' jobs, and forwarders on I/O nodes.

The compute nodes have a slow way to the file system, and the I/O nodes a faster one, so that forwarders help.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster import forwarding
from tests.cluster.forwarding import Arbiter, Pool
from tests.cluster.machine import JobEnd, VirtualCluster
from tests.cluster.product import Daemon, install, tune
from tests.cluster.slurm_services import CONF
from tests.cluster.storage import NEEDED, Storage
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="glusterfs-server is not installed"),
]

IO_NODES = (4, 5)
PLACE = "/home/alice/heat"
BYTES, REQUEST = 16 * 2**20, 2**20
FORGE = "/usr/local/libexec/reprise/reprise-forge"
PATTERN = {
    "path": "/scratch/heat",
    "number_of_files": "individual",
    "operations": "write",
    "total_size": BYTES // 2,
    "request_size": REQUEST,
    "forwarders": 0,
}
STEPS = (
    "open:individual:/scratch/$USER",
    f"write:individual:{BYTES}:{REQUEST}:/scratch/$USER",
    f"read:individual:{BYTES}:{REQUEST}:/scratch/$USER",
    "close:individual:/scratch/$USER",
)
SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=heat --nodes=4 --ntasks-per-node=1 --output=heat-%j.out
while ! [ -e go-$SLURM_JOB_ID ] && [ -e wait ]; do sleep 0.1; done
mpirun {FORGE} --validate {" ".join(STEPS)}
"""
CAMPAIGN = {
    "name": "heat",
    "component": "forwarders",
    "settings": {"pattern": f"{PLACE}/heat.json", "forwarders": [1, 2]},
    "application": {"script": f"{PLACE}/heat.sh", "user": "alice"},
    "search": {"method": "exhaustive", "budget": 6, "window": 0},
    "noise": {"policy": "even", "settings": {"evaluations": 3}},
    "repetitions": {"default_runs": 3, "final_pairs": 3},
    "executor": {"kind": "slurm", "max_trial_s": 60},
}


CHECKPOINTS = """\
import os, time
path = "/scratch/checkpoint-" + os.environ["USER"] + os.environ["SLURM_PROCID"]
for number in range(2):
    time.sleep(0.3)
    with open(path, "wb", 0) as file:
        for piece in range(2):
            file.write(bytes([number, piece]) * (1 << 19))
"""
BURST_SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=bursts --nodes=4 --ntasks-per-node=1 --output=bursts-%j.out
srun /usr/bin/python3 {PLACE}/checkpoints.py
sha256sum /scratch/checkpoint-$USER? | cut -c1-64 | sort -u
"""
LAST = hashlib.sha256(b"".join(bytes([1, piece]) * 2**19 for piece in range(2))).hexdigest()
"""Hash of the last checkpoint of a rank."""
ASKS = "#BB_LUA pool=ram capacity=64M destage-after=60000 ram-threshold=90"
BURST_CAMPAIGN = {
    "name": "bursts",
    "component": "burst-buffer",
    "settings": {"space": {name: [value] for name, value in {
        "library": "burst", "write-back": "ram", "workers": 16, "ram-bytes": 268435456, "flash-destagers": 4,
        "ram-threshold": 50, "destage-after": 1000,
    }.items()}},
    "application": {"script": f"{PLACE}/bursts.sh", "user": "alice"},
    "search": {"method": "exhaustive", "budget": 2},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 2, "final_pairs": 3},
    "executor": {"kind": "slurm", "max_trial_s": 120},
}  # fmt: skip


@pytest.fixture(scope="module")
def site() -> Iterator[VirtualCluster]:
    """Yield a cluster with four compute nodes, two I/O nodes, a parallel file system, and Reprise installed."""
    with VirtualCluster(nodes=6) as cluster:
        install(cluster)
        forwarding.install(cluster)
        Storage(cluster, io_nodes=IO_NODES, compute_rate="8mbit", io_rate="200mbit").start()
        forwarding.keep_for_forwarding(cluster, IO_NODES)
        cluster.write(f"{PLACE}/heat.json", json.dumps(PATTERN), user="alice")
        cluster.write(f"{PLACE}/heat.sh", SCRIPT, user="alice", mode=0o755)
        yield cluster


@pytest.fixture(scope="module")
def pool(site: VirtualCluster) -> Iterator[Pool]:
    with Pool(site, IO_NODES, "--bursts=/dev/shm/bursts", "--burst-flash=/dev/shm/flash", "--linger=5") as running:
        forwarding.configure(site, running.addresses, prefixes=["/scratch"])
        yield running


@pytest.fixture(scope="module")
def report(site: VirtualCluster, pool: Pool) -> dict[str, Any]:
    return tune(site, "/home/reprise/curve.yaml", CAMPAIGN, timeout_s=300)


@pytest.fixture(scope="module")
def bursts(site: VirtualCluster, pool: Pool, report: dict[str, Any]) -> dict[str, Any]:
    site.write(f"{PLACE}/checkpoints.py", CHECKPOINTS, user="alice")
    site.write(f"{PLACE}/bursts.sh", BURST_SCRIPT, user="alice", mode=0o755)
    return tune(site, "/home/reprise/bursts.yaml", BURST_CAMPAIGN, timeout_s=300)


@pytest.fixture
def arbiter(site: VirtualCluster, pool: Pool, report: dict[str, Any], bursts: dict[str, Any]) -> Iterator[Arbiter]:
    for one in pool.forwarders:
        one.start()
    with Daemon(site), Arbiter(site) as running:
        yield running


def start(site: VirtualCluster, *options: str) -> int:
    """Start a job that waits for `go`."""
    site.write(f"{PLACE}/wait", "", user="alice")
    job = site.submit("heat.sh", *options, user="alice", cwd=PLACE)
    wait_for(f"the start of job {job}", lambda: site.job(job)["JobState"] == "RUNNING", 30)
    return job


def go(site: VirtualCluster, job: int) -> JobEnd:
    site.write(f"{PLACE}/go-{job}", "", user="alice")
    end = site.wait_job(job)
    assert (end.state, json.loads(end.output)["stopped"]) == ("COMPLETED", False), end
    return end


def mapped(site: VirtualCluster, job: int) -> list[str]:
    """Return the forwarders in a job's map, once it has one."""
    path = site.path(f"{forwarding.MAPS}/{job}")
    wait_for(f"the map of job {job}", path.exists, 30)
    return path.read_text().splitlines()[1:]


def forwarded(pool: Pool) -> float:
    return sum(one.metric("bytes_total") for one in pool.forwarders)


def test_the_campaign_measures_the_curve(site: VirtualCluster, report: dict[str, Any]) -> None:
    assert report["record"], report
    told = json.loads(site.run(["reprise", "records", "show", str(report["record"]), "--json"], user="reprise").stdout)
    told = told["record"]
    assert told["environment"] == {"REPRISE_PRELOAD": "forward"}
    curve = {int(number): sum(runs) / len(runs) for number, runs in told["parametrization"]["bandwidth_mb_s"].items()}
    assert set(curve) == {0, 1, 2} and min(curve[1], curve[2]) > curve[0]


def test_the_users_next_job_goes_through_forwarders(site: VirtualCluster, pool: Pool, arbiter: Arbiter) -> None:
    job = start(site)
    assert set(mapped(site, job)) <= set(pool.addresses)
    before = forwarded(pool)
    go(site, job)
    assert forwarded(pool) - before == 2 * BYTES, "all requests are large, so all go through forwarders"
    explained = site.run(["reprise", "match", "explain", str(job)], user="reprise").stdout
    assert "forwarder" in explained, explained
    wait_for("the map's end", lambda: not site.path(f"{forwarding.MAPS}/{job}").exists(), 60)


def test_a_user_who_says_no_uses_the_file_system_directly(site: VirtualCluster, pool: Pool, arbiter: Arbiter) -> None:
    before = forwarded(pool)
    go(site, start(site, "--reprise=off"))
    assert forwarded(pool) == before


def test_killed_forwarders_cost_no_byte(site: VirtualCluster, pool: Pool, arbiter: Arbiter) -> None:
    job = start(site)
    mapped(site, job)
    site.write(f"{PLACE}/go-{job}", "", user="alice")
    before = forwarded(pool)
    wait_for("forwarded bytes", lambda: forwarded(pool) > before, 30)
    for one in pool.forwarders:
        one.kill("forwarder")
    end = site.wait_job(job)
    assert (end.state, json.loads(end.output)["stopped"]) == ("COMPLETED", False), end
    wait_for("the loss in the log", lambda: arbiter.log().count("event=forwarder-failed") == len(IO_NODES), 30)
    for one in pool.forwarders:
        one.start()
    wait_for("their return in the log", lambda: arbiter.log().count("event=forwarder-works") >= 2 * len(IO_NODES), 30)


def test_jobs_keep_their_maps_if_the_arbiter_is_killed(site: VirtualCluster, pool: Pool, arbiter: Arbiter) -> None:
    job = start(site)
    names = mapped(site, job)
    arbiter.kill()
    before = forwarded(pool)
    go(site, job)
    assert mapped(site, job) == names and forwarded(pool) - before == 2 * BYTES
    arbiter.start()
    wait_for("the map's end", lambda: not site.path(f"{forwarding.MAPS}/{job}").exists(), 60)


@pytest.fixture
def directives(site: VirtualCluster, pool: Pool, arbiter: Arbiter) -> None:
    """Let Slurm serve the directives of batch scripts for burst buffers."""
    script = site.path("/usr/local/share/reprise/burst_buffer.lua").read_text()
    maps = '"/var/lib/reprise/forwarders"'
    assert script.count(maps) == 1
    site.write("/etc/slurm/burst_buffer.lua", script.replace(maps, f'"{forwarding.MAPS}"'))
    site.write("/etc/slurm/burst_buffer.conf", "StageOutTimeout=120\n")
    conf = site.path(CONF)
    conf.write_text(f"{conf.read_text()}BurstBufferType=burst_buffer/lua\n")
    pid = site.path("/run/slurmctld.pid").read_text().strip()
    site.run(["kill", pid])
    wait_for("slurmctld's end", lambda: not site.path(f"/proc/{pid}").exists(), 20)
    site.popen(["slurmctld", "-D"], log="/var/log/slurm/slurmctld-bursts.out")
    wait_for("the pools", lambda: "ram" in site.run(["scontrol", "show", "burst"], check=False).stdout, 30)


def test_slurm_reserves_a_burst_buffer_that_a_script_asks_for_and_drains_it(
    site: VirtualCluster, pool: Pool, directives: None
) -> None:
    """The tasks are killed, so that only Slurm's drain writes the data before the minute is over."""
    options = "#SBATCH --nodes=4 --ntasks-per-node=1 --output=asks-%j.out"
    script = f"#!/bin/bash\n{options}\n{ASKS}\nsrun /usr/bin/python3 killed.py\n"
    site.write(f"{PLACE}/killed.py", f"{CHECKPOINTS}os.kill(os.getpid(), 9)\n", user="alice")
    site.write(f"{PLACE}/asks.sh", script, user="alice", mode=0o755)
    site.run(["sh", "-c", "rm -f /scratch/checkpoint-alice?"], node="node0")
    begun = time.monotonic()
    job = site.submit("asks.sh", "--reprise=off", user="alice", cwd=PLACE)
    wait_for("the end", lambda: site.job(job)["JobState"] == "FAILED", 50)
    found = site.run(["sh", "-c", "sha256sum /scratch/checkpoint-alice?"], node="node5").stdout.splitlines()
    assert [line.split()[0] for line in found] == [LAST] * 4 and time.monotonic() - begun < 55


def test_a_directive_that_slurm_cannot_serve_is_refused_with_a_line(site: VirtualCluster, directives: None) -> None:
    site.write(f"{PLACE}/wrong.sh", "#!/bin/bash\n#BB_LUA pool=ram capacity=4G colour=red\ntrue\n", user="alice")
    done = site.run(["sbatch", f"{PLACE}/wrong.sh"], user="alice", cwd=PLACE, check=False)
    assert done.returncode and "colour=red is unknown: use pool, capacity" in done.stderr


def test_checkpoints_go_to_a_burst_buffer_with_the_parameters_of_a_campaign(
    site: VirtualCluster, pool: Pool, arbiter: Arbiter, bursts: dict[str, Any]
) -> None:
    assert bursts["record"], bursts["problems"]
    end = site.wait_job(site.submit("bursts.sh", user="alice", cwd=PLACE))
    explained = site.run(["reprise", "match", "explain", str(end.job_id)], user="reprise").stdout
    assert end.state == "COMPLETED" and "REPRISE_FORWARD_BURST=ram" in explained, (end, explained)
    assert end.output.split() == [LAST], "all nodes' last checkpoints are in the file system"
    assert any("burst buffer" in one.log() for one in pool.forwarders)
