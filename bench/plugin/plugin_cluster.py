# SPDX-License-Identifier: Apache-2.0
"""The virtual cluster of `bench.plugin`, with thousands of records, and with users who submit similar jobs."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.match.large_database import fill, script_of
from bench.match.large_site import CLUSTER_NODES, Site
from reprise.database.facade import Database
from reprise.matcher.submission.metadata import JobMetadata
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOCKET, SOURCE, install
from tests.cluster.spec import HEAD_ADDRESS, SERVICE_UID

PEOPLE, USERS, NODES = 100, 3, 2
SCRIPTS = 8  # number of different batch scripts of each user
DATABASE, CONFIG, HUNG = "/var/lib/reprise/reprise.db", "/etc/reprise/reprise.toml", "/etc/reprise/hung.toml"
DEADLINE_MS = 100
PORT = 7817
PLAIN = "plain"
WAYS = {
    PLAIN: "",
    "again": "",  # no plugin, as in `plain`, to show how much two equal setups differ
    "up": f"endpoint=unix:{SOCKET}",
    "absent": "endpoint=unix:/run/reprise/absent.sock",
    "hung": "endpoint=unix:/run/reprise/hung.sock",
    "tcp_up": f"endpoint=tcp:{HEAD_ADDRESS}:{PORT} matcher_uid={SERVICE_UID}",
}
"""Arguments of the plugin in each setup; "": no plugin."""


def conf_of(way: str) -> str:
    """Return the path of the slurm.conf of a setup."""
    return f"/etc/slurm/ways/{way}/slurm.conf"


@dataclass(frozen=True)
class Script:
    """A batch script of a user; its file `name` is in `directory_of(user)`."""

    user: str
    name: str


def directory_of(user: str) -> str:
    """Return the directory of a user's scripts."""
    return f"/work/{user}"


def line_of(arguments: str) -> str:
    """Return the plugin's line for plugstack.conf."""
    return f"optional spank_reprise.so deadline_ms={DEADLINE_MS} {arguments}\n"


def text_of(job: JobMetadata) -> str:
    """Return a batch script for the job; the script prints its environment and ends before the job's commands."""
    head, cd, launch = script_of(job).replace("04:00:00", "00:10:00").partition("\ncd ")
    show = "printf '\\0'; printenv --null"  # separates the environment from earlier output of the shell
    return f'{head}\n{show}\n[ "$DRY" ] || exit 0{cd}{launch}'


def _small(job: JobMetadata) -> bool:
    """Return whether the job fits on the virtual cluster."""
    return job.nodes is not None and job.nodes <= NODES and job.tasks_per_node == 1


def _jobs(site: Site) -> dict[str, list[JobMetadata]]:
    """Return `SCRIPTS` small jobs for each of `USERS` users, by user."""
    jobs: dict[str, list[JobMetadata]] = {}
    while sum(len(found) == SCRIPTS for found in jobs.values()) < USERS:
        job = site.job()
        if _small(job) and len(found := jobs.setdefault(job.user, [])) < SCRIPTS:
            found.append(job)
    return {user: found for user, found in jobs.items() if len(found) == SCRIPTS}


def _write_scripts(cluster: VirtualCluster, jobs: dict[str, list[JobMetadata]]) -> list[Script]:
    scripts = []
    for user, own in jobs.items():
        for number, job in enumerate(own):
            script = Script(user, f"job{number}.sh")
            here = dataclasses.replace(job, partition="main", directory=directory_of(user))
            cluster.write(f"{here.directory}/{script.name}", text_of(here), user=user)
            scripts.append(script)
    return scripts


def _write_confs(cluster: VirtualCluster) -> None:
    """Write a slurm.conf for each setup; the files differ only in the plugin."""
    text = cluster.path("/etc/slurm/slurm.conf").read_text()
    for way, arguments in WAYS.items():
        directory = str(Path(conf_of(way)).parent)
        cluster.write(conf_of(way), text.replace("/etc/slurm/plugstack.conf", f"{directory}/plugstack.conf"))
        cluster.write(f"{directory}/plugstack.conf", f"include {directory}/plugstack.conf.d/*.conf\n")
        cluster.run(["mkdir", f"{directory}/plugstack.conf.d"])
        if arguments:
            cluster.write(f"{directory}/plugstack.conf.d/reprise.conf", line_of(arguments))


def _write_database(cluster: VirtualCluster, site: Site, rng: random.Random, records: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / "reprise.db"
        fill(made, site, rng, records, cluster.spec.name)
        shutil.copy(made, cluster.path(DATABASE))
        with Database.open(made, read_only=True) as database:
            files = [value for record in database.records() for value in record.environment.values() if value[0] == "/"]
    cluster.path(files[0]).parent.mkdir(exist_ok=True)
    for file in files:  # create the rules files, because settings that name unreadable files are not applied
        cluster.path(file).touch(mode=0o644)
    os.chown(cluster.path(DATABASE), SERVICE_UID, SERVICE_UID)


def _configure(cluster: VirtualCluster) -> None:
    text = cluster.path(CONFIG).read_text()
    for old, new in {
        f"nodes = {cluster.spec.nodes}\n": f"nodes = {CLUSTER_NODES}\n",
        "releases = []": 'releases = ["4.1.4"]',
    }.items():
        if old not in text:
            raise ValueError(f"{CONFIG} has no {old!r}")
        text = text.replace(old, new)
    cluster.write(HUNG, text.replace(SOCKET, "/run/reprise/hung.sock").replace(DATABASE, "/var/lib/reprise/hung.db"))
    cluster.write(CONFIG, text.replace('listen = ""', f'listen = "{HEAD_ADDRESS}:{PORT}"'))
    cluster.run(["reprise", "--config", HUNG, "db", "init"], user="reprise")


@contextmanager
def running(records: int) -> Iterator[tuple[VirtualCluster, Sequence[Script]]]:
    """Run the cluster and yield it with its users' scripts. The caller starts the daemon."""
    rng = random.Random(records)  # noqa: S311 - not used for security
    site = Site(rng, PEOPLE)
    jobs = _jobs(site)
    with VirtualCluster(nodes=NODES, users=sorted(jobs)) as cluster:
        install(cluster)
        _write_database(cluster, site, rng, records)
        _configure(cluster)
        _write_confs(cluster)
        yield cluster, _write_scripts(cluster, jobs)


def load_plugin(cluster: VirtualCluster, arguments: str) -> None:
    """Enable the plugin with these arguments on the whole cluster, or disable it if `arguments` is ""."""
    cluster.path(PLUGSTACK).unlink(missing_ok=True)
    if arguments:
        cluster.write(PLUGSTACK, line_of(arguments))


def submitter(
    cluster: VirtualCluster,
    user: str,
    submissions: Sequence[Sequence[str]],
    *,
    parallel: int = 1,
    pause_s: float = 0.0,
    nice: int = 0,
) -> list[tuple[float, int, str, str]]:
    """Run `bench.plugin.submitter` as a user; return the time, exit status and output of each submission."""
    plan = {"submissions": submissions, "parallel": parallel, "pause_s": pause_s}
    argv = ["nice", f"--adjustment={nice}", "/usr/bin/python3", f"{SOURCE}/bench/plugin/submitter.py"]
    done = cluster.run(argv, user=user, cwd=directory_of(user), stdin=json.dumps(plan), timeout_s=600)
    return [(took, status, out, error) for took, status, out, error in json.loads(done.stdout)]
