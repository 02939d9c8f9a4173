# SPDX-License-Identifier: Apache-2.0
"""How long a decision takes, asked of a real daemon over its socket.

    python -m bench.match [--records 2000,10000,100000] [--model site] [--seconds 60]

For each number of records: a database, the daemon on it (`start_s`: from its start to its first answer), and one job
after the other. Four in five jobs are of codes that have records, one in five is a stranger's with a code that nobody
tuned. Then 500 users who each submit once a second (`load_`, with 10,000 records; `load_lag_p99_ms` is the load
generator's own delay). `cpu_ms` is what a decision costs the daemon's processor, with all that it writes; of the load
too. Then linkage alone, with 10,000 records, and the same in recordlinkage; and how often it is right, as shares (0 to
1). The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.load import quantile
from bench.match_linkage import quality, speedup
from bench.match_site import CLUSTER_NODES, Site, distinct
from reprise.database import Database
from reprise.database.entities import Measurement, Record, Scope
from reprise.matcher.errors import MatcherError
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.sketch import sketch
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING, ask
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

USERS, LOADED_RECORDS = 500, 10_000
SUBMISSIONS = 10_000  # different ones, of those users together
QUESTIONS, WARM_UP = 5000, 50  # without a pause: more than the daemon may put off what it writes of them
STRANGERS = 0.2  # share of the questions
BATCH = 2000  # records written in one transaction
COMPONENTS = ("openmpi-collectives", "sro")


def record(rng: random.Random, job: JobMetadata, cluster: str = "test") -> Record:
    """A tuned job, as a campaign leaves it; each has settings of its own."""
    component = rng.choice(COMPONENTS)
    if component == "sro":
        context: dict[str, Any] = {"cluster": cluster, "nodes": job.nodes, "tasks_per_node": job.tasks_per_node}
        environment = {"SRO_BLOCK_SIZE": str(4096 * rng.randint(1, 999)), "SRO_WINDOW": str(rng.randint(1, 999))}
        conflicts = ["SRO_*"]
    else:
        context = {"cluster": cluster, "nodes": job.nodes, "tasks_per_node": job.tasks_per_node, "openmpi": ["4.1.4"]}
        rules = f"/var/lib/reprise/artifacts/{rng.getrandbits(256):064x}.conf"
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": rules,
        }
        conflicts = ["OMPI_MCA_coll_tuned_*"]
    gain = rng.uniform(0.02, 0.4)
    return Record(
        component=component,
        component_version="1",
        scope=Scope.APPLICATION,
        created_at=job.submit_time + 3600,
        context=context,
        metadata=dataclasses.replace(job, script=sketch(script_of(job))).to_json(),
        parametrization={"value": rng.randint(1, 999)},
        environment=environment,
        conflicts=conflicts,
        default=Measurement(10.0, 9.9, 10.1, 20),
        tuned=Measurement(10.0 * (1 - gain), 9.8 * (1 - gain), 10.2 * (1 - gain), 20),
        gain=gain,
        gain_low=gain - 0.01,
        gain_high=gain + 0.01,
    )


def fill(path: Path, site: Site, rng: random.Random, count: int, cluster: str = "test") -> dict[str, int]:
    """Write so many records; how many distinct values their fields have."""
    jobs: list[JobMetadata] = []
    with Database.open(path, create=True) as database:
        for first in range(0, count, BATCH):
            batch = list(site.jobs(min(BATCH, count - first)))
            database.add_records([record(rng, job, cluster) for job in batch])
            jobs += batch
    return distinct(jobs)


def script_of(job: JobMetadata) -> str:
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={job.job_name}",
        f"#SBATCH --nodes={job.nodes} --ntasks-per-node={job.tasks_per_node}",
        f"#SBATCH --partition={job.partition} --account={job.account}",
        "#SBATCH --time=04:00:00",
        f"module load {' '.join(job.modules)}",
        "export OMP_NUM_THREADS=1",
        f"cd {job.directory}",
        " ".join([job.launcher, job.path, *(f"--{key}={value}" for key, (value,) in job.options.items())]),
        "",
    ]
    return "\n".join(lines)


def question(site: Site, rng: random.Random) -> bytes:
    """A frame that asks for a decision, as the plugin sends it for `sbatch job.sh`."""
    job = site.job()
    if rng.random() < STRANGERS:
        job = Site(rng, 1).job()
    message = {
        "v": protocol.VERSION,
        "kind": "decide",
        "point": "submit",
        "mode": "on",
        "client": {"plugin": "0", "slurm": "22.05"},
        "submission": {
            "command": "sbatch",
            "argv": ["sbatch", "job.sh"],
            "cwd": job.directory,
            "env": {},
            "set": [],
            "script": {"path": f"{job.directory}/job.sh", "text": script_of(job), "truncated": False},
        },
    }
    return protocol.frame(message, protocol.REQUEST_LIMIT)


def start(daemon: Daemon) -> float:
    """Start the daemon; seconds until it answers."""
    begun = time.perf_counter()
    daemon.spawn()

    def answers() -> bool:
        try:
            return bool(ask(daemon.socket, PING, 60)["records"])
        except MatcherError:
            return False

    wait_for("an answer", lambda: daemon.running() and answers(), timeout_s=600)
    return time.perf_counter() - begun


def rss_mib(daemon: Daemon, what: str = "VmRSS") -> float:
    if daemon.process is None:
        raise ValueError("the daemon does not run")
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) / 1024


def cpu_s(daemon: Daemon) -> float:
    """What the daemon has used of the processor, its writing to the database included."""
    if daemon.process is None:
        raise ValueError("the daemon does not run")
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_after_another(
    daemon: Daemon, frames: Sequence[bytes], then: Callable[[Mapping[str, Any]], object] = lambda _: None
) -> list[float]:
    """Milliseconds for each decision, connection included, and without what this process does for itself. `then` is
    called with each answer."""
    took = []
    gc.disable()
    for frame in frames:
        begun = time.perf_counter()
        with daemon.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(frame)
            body = stream.read(int.from_bytes(stream.read(protocol.HEADER_BYTES), "big"))
        took.append((time.perf_counter() - begun) * 1e3)
        answer = json.loads(body)
        if answer["kind"] != "decision":
            raise ValueError(f"the daemon answered {body!r}")
        then(answer)
    gc.enable()
    return took


def crowd(daemon: Daemon, frames: Sequence[bytes], seconds: int) -> dict[str, Any]:
    """What USERS experience who submit once a second for so many seconds (see `bench.load`)."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(frames))
        file.flush()
        command = [sys.executable, "-m", "bench.load", str(daemon.socket), file.name, str(USERS), str(seconds)]
        used = cpu_s(daemon)
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10 * seconds + 60).stdout
        used = cpu_s(daemon) - used
    result = {f"load_{key}": value for key, value in json.loads(told).items()}
    return result | {"load_cpu_ms": round(used / USERS / seconds * 1e3, 2)}


def measure(directory: Path, count: int, model: str, seconds: int) -> dict[str, Any]:
    """All that is measured with so many records."""
    rng = random.Random(count)  # noqa: S311 - a simulation
    site = Site(rng, max(50, min(1000, count // 100)))
    daemon = Daemon(directory, f'model = "{model}"')
    daemon.config.write_text(daemon.config.read_text().replace("nodes = 8", f"nodes = {CLUSTER_NODES}"))
    values = fill(daemon.database, site, rng, count)
    click.echo(f"{count} records; distinct values: {json.dumps(values)}")
    frames = (question(site, rng) for _ in iter(int, 1))
    result: dict[str, Any] = {"start_s": round(start(daemon), 2)}
    try:
        questions = [next(frames) for _ in range(WARM_UP + QUESTIONS)]
        one_after_another(daemon, questions[:WARM_UP])
        used = cpu_s(daemon)
        took = one_after_another(daemon, questions[WARM_UP:])
        result |= {"cpu_ms": round((cpu_s(daemon) - used) / QUESTIONS * 1e3, 2)}
        result |= {"p50_ms": round(statistics.median(took), 2), "p99_ms": round(quantile(took, 0.99), 2)}
        result |= {
            "max_ms": round(max(took), 2),
            "rss_mib": round(rss_mib(daemon)),
            "peak_mib": round(rss_mib(daemon, "VmHWM")),
        }
        if seconds and count == LOADED_RECORDS:
            result |= crowd(daemon, [next(frames) for _ in range(SUBMISSIONS)], seconds)
    finally:
        daemon.stop()
    click.echo(json.dumps(result))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", default="2000,10000,100000,1000000", help="how many, separated by commas")
    parser.add_argument("--model", default="site")
    parser.add_argument("--seconds", type=int, default=60, help=f"of load by {USERS} users; 0: none")
    arguments = parser.parse_args()
    click.echo(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, model {arguments.model}")
    results = {}
    for count in map(int, arguments.records.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            results[str(count)] = measure(Path(directory), count, arguments.model, arguments.seconds)
    by_count = ("p50_ms", "p99_ms", "max_ms", "cpu_ms", "start_s", "rss_mib", "peak_mib")
    told: dict[str, Any] = {key: {count: result[key] for count, result in results.items()} for key in by_count}
    told |= {key: value for result in results.values() for key, value in result.items() if key.startswith("load_")}
    told |= speedup(arguments.model, LOADED_RECORDS) | quality(arguments.model)
    click.echo(json.dumps(told))


if __name__ == "__main__":
    main()
