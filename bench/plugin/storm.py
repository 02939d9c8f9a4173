# SPDX-License-Identifier: Apache-2.0
"""Submit thousands of jobs at once, with the plugin while the daemon is killed and restarted, and without the plugin.

Several users submit as fast as the machine can, some tens of jobs at a time, while the daemon gets SIGKILL every 2 s
and is restarted at once. Before the plugin is loaded, the same jobs are submitted to the same cluster. A submission
counts as changed if its exit status is not 0, if its standard output is anything but `Submitted batch job N`, or if its
standard error is not empty. Submissions without the plugin are checked in the same way. Then some jobs of every script
of both storms are run. With the plugin, the only additions that a job's environment may have are all settings of one
record. A job with any other difference from a job of the same script without the plugin counts as changed.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from bench.plugin.plugin_cluster import WAYS, Script, directory_of, load_plugin, submitter
from tests.cluster.machine import TERMINAL_STATES, ClusterError, VirtualCluster
from tests.cluster.product import Daemon
from tests.waiting import wait_for

PARALLEL = 12  # number of simultaneous submissions of each user
KILL_EVERY_S = 2.0
NICE = 15  # niceness of submissions, so that the daemon on the same CPU is up before it is killed again
SAMPLE = 2  # number of jobs to run for each script, among the jobs submitted with the plugin
SUBMITTED = re.compile(r"Submitted batch job (\d+)\n")
# Variables that differ between any two runs of a batch script.
OF_A_RUN = {
    "SLURM_JOBID",
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_ADDR",
    "SLURMD_NODENAME",
    "HOSTNAME",
}
CARRIED = "SLURM_SPANK_REPRISE"
MARK = "REPRISE_DECISION"
RECORDS = (  # settings from `bench.match.large_database.record`
    {"OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_coll_tuned_dynamic_rules_filename"},
    {"SRO_BLOCK_SIZE", "SRO_WINDOW"},
)


@dataclass(frozen=True)
class Submitted:
    """One submission: its script, the id of its job (0: none), its exit status, and any unexpected output."""

    script: Script
    job: int
    status: int
    wrote: str


def submit_all(
    cluster: VirtualCluster, scripts: Sequence[Script], count: int, meanwhile: Callable[[], None]
) -> list[Submitted]:
    """Submit `count` held jobs of random scripts, all users at once; meanwhile, call `meanwhile` repeatedly."""
    rng = random.Random(count)  # noqa: S311 - not used for security
    chosen = [rng.choice(scripts) for _ in range(count)]

    def of(user: str) -> list[Submitted]:
        own = [script for script in chosen if script.user == user]
        words = [["", "/usr/bin/sbatch", "--hold", script.name] for script in own]
        done = submitter(cluster, user, words, parallel=PARALLEL, nice=NICE)
        return [_told(script, *one[1:]) for script, one in zip(own, done, strict=True)]

    with ThreadPoolExecutor() as pool:
        running: list[Future[list[Submitted]]] = [pool.submit(of, user) for user in cluster.spec.users]
        while wait(running, timeout=0).not_done:
            meanwhile()
    return [one for future in running for one in future.result()]


def _told(script: Script, status: int, out: str, error: str) -> Submitted:
    found = SUBMITTED.fullmatch(out)
    return Submitted(script, int(found[1]) if found else 0, status, f"{'' if found else out}{error}")


def environments(cluster: VirtualCluster, sample: Collection[Submitted]) -> dict[int, Mapping[str, str]]:
    """Release these jobs, wait until they have ended, and return their environments by job id."""
    jobs = {one.job for one in sample}
    cluster.run(["scontrol", "release", ",".join(map(str, jobs))])

    def ended() -> bool:
        told = cluster.run(["squeue", "--noheader", "--states=all", "--format=%i %T"]).stdout
        return jobs <= {int(job) for job, state in map(str.split, told.splitlines()) if state in TERMINAL_STATES}

    wait_for("the end of the sample's jobs", ended, 180, every_s=0.5)
    found: dict[int, Mapping[str, str]] = {}
    for one in sample:
        output = cluster.path(f"{directory_of(one.script.user)}/slurm-{one.job}.out").read_bytes().decode()
        found[one.job] = dict(entry.split("=", 1) for entry in output.split("\0") if "=" in entry)
    return found


def is_default(environment: Mapping[str, str], default: Mapping[str, str]) -> bool:
    """Return whether an environment equals the default one, or differs only by the addition of a record's settings."""
    more = environment.keys() - default.keys() - {CARRIED}
    whole = {MARK}.union(*(names for names in RECORDS if names <= more))
    same = all(environment.get(name) == value for name, value in default.items() if name not in OF_A_RUN)
    return same and (not more or more == whole != {MARK})


def sample_of(submitted: Sequence[Submitted], each: int) -> list[Submitted]:
    """Return `each` submissions of every script, evenly spaced over the storm."""
    made = []
    for script in sorted({one.script for one in submitted}, key=str):
        own = sorted((one for one in submitted if one.script == script and one.job), key=lambda one: one.job)
        made += own[:: max(1, len(own) // each)][:each]
    return made


class Killer:
    """A callable that starts the daemon and kills it after KILL_EVERY_S seconds, whatever it is doing."""

    def __init__(self, daemon: Daemon) -> None:
        self.kills = 0
        self._daemon = daemon

    def __call__(self) -> None:
        """Start the daemon, and kill it KILL_EVERY_S seconds later."""
        self._daemon.spawn()
        time.sleep(KILL_EVERY_S)
        self._daemon.kill()
        self.kills += 1


def storm(cluster: VirtualCluster, scripts: Sequence[Script], count: int) -> dict[str, float]:
    """Run the storm without and with the plugin; return the keys `storm_*` of the final JSON object."""
    load_plugin(cluster, "")
    begun = time.monotonic()
    without = submit_all(cluster, scripts, count, lambda: time.sleep(0.1))
    without_s = time.monotonic() - begun
    if bad := [one for one in without if one.status or one.wrote]:
        raise ClusterError(f"without the plugin: {len(bad)} of {count} submissions failed: {bad[0]}")
    sample = sample_of(without, 1)
    ran = environments(cluster, sample)
    defaults = {one.script: ran[one.job] for one in sample}

    load_plugin(cluster, WAYS["up"])
    daemon = Daemon(cluster)
    before = len(daemon.log())
    killer = Killer(daemon)
    begun = time.monotonic()
    submitted = submit_all(cluster, scripts, count, killer)
    with_s = time.monotonic() - begun
    logged = daemon.log()[before:]
    with daemon:
        sample = [one for one in sample_of(submitted, SAMPLE) if one.script in defaults]
        ran = environments(cluster, sample)
    changed = [one for one in sample if not is_default(ran[one.job], defaults[one.script])]
    return {
        "storm_failed": sum(1 for one in submitted if one.status or not one.job),
        "storm_changed": sum(1 for one in submitted if one.status or one.wrote) + len(changed),
        "storm_submissions": len(submitted),
        "storm_kills": killer.kills,
        "storm_answered": len(re.findall("event=decision .*point=submit", logged)),
        "storm_s": round(with_s, 1),
        "storm_plain_s": round(without_s, 1),
        "storm_looked_into": len(sample),
        "storm_given": sum(1 for one in sample if MARK in ran[one.job]),
    }
