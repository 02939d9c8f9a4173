# SPDX-License-Identifier: Apache-2.0
"""Soak test: users, campaigns and faults at the same time (`make soak`, needs root).

    python -m tests.soak [--minutes 60] [--fault-every 60]

On a virtual cluster, three users submit jobs all the time, and campaigns run one after the other. About once a minute,
something is broken and repaired: the matcher is killed, suspended, restarted or made to reload its configuration, its
database is locked or replaced with a backup, its socket is moved, or a campaign is killed and resumed. Every job must
run to its end. A job must have its settings if the matcher has been healthy since before the submission, unless the
job's environment shows that it was held out. Some jobs must be held out. At the end, the database must be sound, and
the matcher must not have grown. The last line of output is a JSON object. The exit status is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.cluster.test_transport import TUNE
from tests.unit.matcher_daemon import RULES
from tests.waiting import wait_for

USERS = ("alice", "bob", "carol")
OUTSTANDING = 6
PAUSE_S = 0.5
HOLDOUT = 0.1
"""The share of jobs that are held out after a record's first jobs; half of the first jobs are held out."""
ENOUGH = 20  # number of jobs with settings after which at least one job must have been held out
SETTLED_S = 3.0
"""Seconds after a repair during which submitted jobs may still get no settings."""
GROWTH = 1.2
MORE = 2  # allowed growth of the numbers of descriptors and of threads, for requests in progress
LOCK = """
import sqlite3, time
with sqlite3.connect("/var/lib/reprise/reprise.db", isolation_level=None) as database:
    database.execute("BEGIN IMMEDIATE")
    time.sleep(3)
    database.execute("ROLLBACK")
"""
SCRIPT = """#!/bin/bash
#SBATCH --job-name=lattice
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=lattice-%j.out
[ "$1" ] && mpirun /home/alice/bin/lattice --steps 200 --size 64
/usr/bin/env | /bin/sed -n -e /^OMPI_MCA_coll/p -e /^SLURM_SPANK_REPRISE=/p
"""
CARRIED = "SLURM_SPANK_REPRISE"
CAMPAIGN_LOG = "/var/log/reprise/campaigns.log"
EAGER = {"default": 65536, "min": 4096, "max": 262144, "step": 2, "step_type": "multiplicative"}
COMPONENT = {
    "name": "soak",
    "version": "1",
    "description": "for endurance",
    "kind": "application",
    "parameters": {"OMPI_MCA_btl_tcp_eager_limit": EAGER},
    "objective": {"pattern": "^took ([0-9.]+)"},
}
CAMPAIGN = {
    "name": "soak",
    "component": "soak",
    "application": {"script": "/home/reprise/soak.sh", "user": "reprise"},
    "search": {"method": "random", "budget": 5},
    "repetitions": {"default_runs": 2, "final_pairs": 2},
    "executor": {"kind": "slurm", "max_trial_s": 60},
}
TRIAL = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1\nsleep 0.2\necho took 0.$((RANDOM % 900 + 100))\n"


@dataclass
class Soak:
    """The state of a soak test. `well_since` is the time of the matcher's last repair, or None while it is broken."""

    cluster: VirtualCluster
    daemon: Daemon
    rng: random.Random
    well_since: float | None = 0.0
    jobs: dict[int, tuple[str, bool]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    campaign: Any = None

    def submit(self) -> None:
        """Submit a job as a random user, unless `OUTSTANDING` jobs are still pending or running."""
        if len(self.jobs) >= OUTSTANDING:
            return
        user = self.rng.choice(USERS)
        well = self.well_since is not None and time.monotonic() - self.well_since > SETTLED_S
        try:
            number = self.cluster.submit("job.sh", user=user, cwd=f"/home/{user}")
        except ClusterError as error:
            self.problems.append(f"a submission failed: {error}")
            return
        self.jobs[number] = user, well
        self.counts["jobs"] += 1

    def collect(self) -> None:
        """Check the jobs that have ended, and record problems."""
        for number, (user, well) in list(self.jobs.items()):
            state = self.cluster.job(number).get("JobState", "")
            if state in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
                continue
            del self.jobs[number]
            output = self.cluster.path(f"/home/{user}/lattice-{number}.out")
            got = dict(line.split("=", 1) for line in output.read_text().splitlines()) if output.exists() else None
            held_out = got is not None and json.loads(got.pop(CARRIED, "{}")).get("verdict") == "holdout"
            if state != "COMPLETED" or got is None or (got and got != RULES):
                self.problems.append(f"job {number} is {state} and had {got}")
            elif held_out and got:
                self.problems.append(f"job {number} was held out, and had {got}")
            elif well and user == "alice" and not got and not held_out:
                self.problems.append(f"job {number} was submitted while the matcher was healthy, and got no settings")
            self.counts["given"] += got == RULES
            self.counts["held out"] += held_out

    def is_over(self) -> bool:
        """Check the jobs that have ended; return whether all jobs have ended."""
        self.collect()
        return not self.jobs

    def tune(self) -> None:
        """Start a new campaign if the last one has ended. Record a problem if the last one failed."""
        if self.campaign is not None:
            status = self.campaign.poll()
            if status is None:
                return
            if status != 0:
                said = self.cluster.path(CAMPAIGN_LOG).read_text().splitlines()[-1:]
                self.problems.append(f"a campaign ended with {status}: {said}")
            self.counts["campaigns"] += 1
        argv = ["reprise", "tune", "run", "/home/reprise/soak.yaml", "--yes", "--json"]
        self.campaign = self.cluster.popen(argv, user="reprise", log=CAMPAIGN_LOG)

    def rest(self, seconds: float) -> None:
        """Let users submit jobs, and let campaigns run, for `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.submit()
            self.collect()
            self.tune()
            time.sleep(PAUSE_S)

    def broken(self, fault: Callable[[Soak], None]) -> None:
        """Run `fault`, a function that breaks something and repairs it."""
        self.counts[fault.__name__] += 1
        self.well_since = None
        try:
            fault(self)
        except Exception as error:  # a failed repair counts as a problem too
            self.problems.append(f"{fault.__name__}: {error}")
        self.well_since = time.monotonic()


def killed(soak: Soak) -> None:
    soak.daemon.kill()
    soak.rest(2)
    soak.daemon.start()


def restarted(soak: Soak) -> None:
    soak.daemon.stop()
    soak.daemon.start()


def stopped(soak: Soak) -> None:
    soak.daemon.signal("STOP")
    soak.rest(3)
    soak.daemon.signal("CONT")


def reloaded(soak: Soak) -> None:
    soak.daemon.signal("HUP")


def locked(soak: Soak) -> None:
    other = soak.cluster.popen([*PYTHON, "-c", LOCK], user="reprise")
    soak.rest(4)
    other.wait(timeout=20)


def unreachable(soak: Soak) -> None:
    socket = soak.cluster.path(soak.daemon.socket)
    aside = socket.with_suffix(".aside")
    socket.rename(aside)
    soak.rest(2)
    aside.rename(socket)


def restored(soak: Soak) -> None:
    """Replace the database with a backup, between two campaigns, because a running campaign would lose its rows."""
    if soak.campaign is not None:
        soak.campaign.wait(timeout=120)
    backup = f"/home/reprise/backup-{soak.counts['restored']}.db"
    soak.cluster.run(["reprise", "db", "backup", backup], user="reprise")
    soak.daemon.stop()
    soak.cluster.run(["reprise", "db", "restore", backup], user="reprise")
    soak.daemon.start()


def without_coordinator(soak: Soak) -> None:
    """Kill the campaign's coordinator, then resume the campaign."""
    if soak.campaign is None or soak.campaign.poll() is not None:
        return
    soak.cluster.run(["pkill", "-KILL", "-f", "reprise tune (run|resume)"], check=False)
    soak.campaign.wait(timeout=20)
    listed = soak.cluster.run(["reprise", "tune", "list"], user="reprise").stdout
    newest = next(row.split() for row in listed.splitlines() if row.split()[0].isdecimal())
    if "complete" in newest:  # the campaign had completed before it could be killed
        soak.campaign = None
        return
    argv = ["reprise", "tune", "resume", newest[0]]
    soak.campaign = soak.cluster.popen(argv, user="reprise", log=CAMPAIGN_LOG)


FAULTS: tuple[Callable[[Soak], None], ...] = (
    killed,
    restarted,
    stopped,
    reloaded,
    locked,
    unreachable,
    restored,
    without_coordinator,
)


@dataclass(frozen=True)
class Size:
    """The matcher's memory, and its numbers of descriptors and threads."""

    memory_kib: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, soak: Soak) -> Size:
        """Return the current size of the matcher."""
        pid = soak.cluster.path("/run/reprise/matcher.pid").read_text().strip()
        lines = soak.cluster.run(["cat", f"/proc/{pid}/status"]).stdout.splitlines()
        told = dict(line.split(":", 1) for line in lines)
        descriptors = soak.cluster.run(["ls", f"/proc/{pid}/fd"]).stdout.split()
        return cls(int(told["VmRSS"].split()[0]), len(descriptors), int(told["Threads"]))

    def grown(self, before: Size) -> bool:
        """Return whether the matcher has grown since `before` by more than is allowed (`GROWTH`, `MORE`)."""
        return (
            self.memory_kib > GROWTH * before.memory_kib
            or self.descriptors > before.descriptors + MORE
            or self.threads > before.threads + MORE
        )


def prepare(cluster: VirtualCluster) -> None:
    install(cluster)
    config = cluster.path("/etc/reprise/reprise.toml")
    text = config.read_text().replace("releases = []", 'releases = ["4.1.4"]')
    config.write_text(text.replace("holdout = 0.0", f"holdout = {HOLDOUT}"))
    cluster.run([*PYTHON, "-c", TUNE], user="reprise", cwd=SOURCE)
    cluster.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
    for user in USERS:
        cluster.write(f"/home/{user}/job.sh", SCRIPT, user=user)
    cluster.write("/home/reprise/soak.sh", TRIAL, user="reprise", mode=0o755)
    cluster.write("/etc/reprise/components/soak.yaml", yaml.safe_dump(COMPONENT))
    cluster.write("/home/reprise/soak.yaml", yaml.safe_dump(CAMPAIGN), user="reprise")


def run(minutes: float, fault_every_s: float) -> Mapping[str, Any]:
    with VirtualCluster(nodes=4) as cluster:
        prepare(cluster)
        with Daemon(cluster) as daemon:
            soak = Soak(cluster, daemon, random.Random())  # noqa: S311 - not used for security
            soak.rest(10)
            before = Size.of(soak)
            end = time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                soak.broken(soak.rng.choice(FAULTS))
                soak.rest(min(fault_every_s, max(1.0, end - time.monotonic())))
                sys.stderr.write(f"{dict(soak.counts)} {soak.problems[-1:]}\n")
            if soak.campaign is not None:
                soak.campaign.wait(timeout=300)
            wait_for("the last jobs", soak.is_over, 120)
            after = Size.of(soak)
        checked = cluster.run(["reprise", "db", "check"], user="reprise", check=False)
        soak.problems += [] if checked.returncode == 0 else [checked.stdout]
        if soak.counts["given"] > ENOUGH and not soak.counts["held out"]:
            soak.problems.append("no job was held out")
        if after.grown(before):
            soak.problems.append(f"the matcher has grown from {before} to {after}")
    return {**soak.counts, "size": [asdict(before), asdict(after)], "problems": soak.problems}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--fault-every", type=float, default=60, help="seconds")
    given = parser.parse_args()
    try:
        told = run(given.minutes, given.fault_every)
    except ClusterError as error:
        sys.exit(f"soak: {error}")
    sys.stdout.write(json.dumps(told) + "\n")
    sys.exit(1 if told["problems"] else 0)


if __name__ == "__main__":
    main()
