# SPDX-License-Identifier: Apache-2.0
"""Run the main use case on a virtual cluster and show each step (`make demo`).

The last line of output is a JSON object. The exit status is 1 if any step failed.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from demo.show import Job, Shown, console, heading, injected, table, tell
from tests.cluster.machine import ClusterError, VirtualCluster
from tests.cluster.product import SOURCE, Daemon, install, seconds_of
from tests.waiting import NotSeenError

FILES = Path(__file__).parent / "files"
APP = "/srv/apps/solver/bin/solver"
NODES = 4
# Latency of the network in microseconds. The latency is high, so that the gain comes from fewer communication steps,
# and not from the time that this machine takes to wake up processes.
LATENCY_US = 500
# Environment variables that differ between any two jobs, or that describe the submission and not the job's settings.
PER_JOB = re.compile(r"(SLURM_JOB_?ID|SLURM_TASK_PID|SLURM_GTIDS|SLURM_SPANK_\w*|SLURM_JOB_START_TIME|_)=")
SUBMIT_AT_ONCE_S = 1.0  # maximum duration of a submission without a daemon, in seconds; people notice longer delays
NOTHING_KNOWN_STATUS = 3  # exit status of `reprise match explain` for a job without a decision


class StepError(Exception):
    """Raised if a step fails and the following steps cannot be shown."""


class Demo:
    """The steps of the demonstration, in order, on one virtual cluster."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.shown = Shown()
        self.daemon = Daemon(cluster)

    def run(self) -> None:
        """Run all steps."""
        self.prepare()
        self.campaign()
        self.alice()
        self.bob_and_carol()
        self.without_daemon()
        self.explain()

    # -- the steps -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Check the nodes, and install Reprise and the users' files."""
        nodes = self.cluster.run(["sinfo", "-h", "-N", "-p", "main", "-o", "%N %t"]).stdout.splitlines()
        tell(f"nodes: {', '.join(nodes)}")
        tell(f"network: {self.cluster.describe()}")
        tell(f"users: {', '.join(self.cluster.spec.users)}; {self.cluster.run(['sbatch', '--version']).stdout.strip()}")
        fine = nodes == [f"node{index} idle" for index in range(NODES)]
        self.shown.expect(fine, f"{NODES} nodes are idle")
        install(self.cluster)
        self.cluster.run(["install", "-D", f"{SOURCE}/demo/solver", APP])
        self.put("alice-solve.sh", "/home/alice/solver/solve.sh", "alice")
        self.put("bob-mesh.sh", "/home/bob/projects/mesh/run.sh", "bob")
        self.put("carol-words.sh", "/home/carol/words.sh", "carol")
        self.put("campaign.yaml", "/home/reprise/campaign.yaml", "reprise")
        self.cluster.run(["install", "-d", "-o", "bob", "-g", "bob", "/home/bob/results"])

    def campaign(self) -> None:
        """Tune Open MPI's broadcast in a campaign, and show the rules file and the proof that it takes effect."""
        heading(2, "An admin tunes Open MPI's broadcast for alice's application, through Slurm")
        report = self.tune("/home/reprise/campaign.yaml")
        self.shown.numbers["trials"] = report["trials"]
        if not self.shown.expect(bool(report["record"]), "a record is written, because the gain exceeds the noise"):
            raise StepError("the campaign found nothing better than the default")
        tell(f"the rules file {report['artifact']}:")
        for line in self.cluster.path(report["artifact"]).read_text().splitlines():
            tell(f"  | {line}")
        proof = report["parametrization"]["proof"]
        in_effect = proof["launches"] > 0 and len(proof["calls"]) > 0
        self.shown.numbers["rules_in_effect"] = in_effect
        tell(f"proved by {proof['launches']} launches of mpirun, which checked {', '.join(proof['calls'])}")
        self.shown.expect(in_effect, "a real mpirun proved the rules file to be in effect")

    def alice(self) -> None:
        """Submit the tuned job with and without Reprise."""
        heading(3, "The daemon runs. alice submits her solver: once with --reprise=off, once normally")
        self.daemon.start()
        plain = self.submit("alice, off", "alice", "solver", "--reprise=off", "solve.sh")
        usual = self.submit("alice", "alice", "solver", "solve.sh")
        decision, default_s, tuned_s = decision_of(usual), run_s_of(plain), run_s_of(usual)
        self.shown.numbers |= {
            "default_s": default_s,
            "tuned_s": tuned_s,
            "gain": round(1 - tuned_s / default_s, 4),
            "alice_decision": decision["verdict"],
            "alice_score": decision["score"],
        }
        tell(f"score {decision['score']:.3f}, threshold {decision['threshold']:.2f}; injected:")
        for name, value in injected(decision).items():
            tell(f"  {name}={value}")
        self.shown.expect(plain.decision is None, "no decision was made about the job with --reprise=off")
        self.shown.expect(decision["verdict"] == "apply", "the normal job was matched and got the rules file")
        self.shown.expect(tuned_s < default_s, f"it was faster: {tuned_s:.2f} s instead of {default_s:.2f} s")

    def bob_and_carol(self) -> None:
        """Submit a job that is similar to the tuned one, and a job that is not."""
        heading(4, "bob submits the same application with his own script, and carol submits a different program")
        bob = decision_of(self.submit("bob", "bob", "projects/mesh", "run.sh"))
        self.shown.numbers |= {"bob_decision": bob["verdict"], "bob_score": bob["score"]}
        tell(f"bob's score: {bob['score']:.3f}: {bob['reason']}")
        self.shown.expect(bob["verdict"] == "apply", "bob's job was matched")
        plain = self.submit("carol, off", "carol", "", "--reprise=off", "words.sh")
        usual = self.submit("carol", "carol", "", "words.sh")
        carol = decision_of(usual)
        self.shown.numbers |= {"carol_decision": carol["verdict"], "carol_score": carol["score"]}
        tell(f"carol's score: {carol['score']:.3f}: {carol['reason']}")
        self.shown.expect(carol["verdict"] == "none", "carol's job was not matched")
        self.shown.expect(environment(plain) == environment(usual), "carol's environment is unchanged")

    def without_daemon(self) -> None:
        """Submit a job while no daemon runs."""
        heading(5, "The daemon is stopped, and alice submits again")
        self.daemon.stop()
        job = self.submit("alice, no daemon", "alice", "solver", "solve.sh")
        at_once = self.shown.expect(job.submit_s < SUBMIT_AT_ONCE_S, f"sbatch took {job.submit_s * 1000:.0f} ms")
        ran = self.shown.expect(job.run_s is not None and job.decision is None, "the job ran with the defaults")
        self.shown.numbers["daemon_down_ok"] = at_once and ran

    def explain(self) -> None:
        """Explain the decision about each job."""
        heading(6, "Support staff look up the reason for each decision")
        self.daemon.start()
        for job in self.shown.jobs:
            done = self.cluster.run(["reprise", "match", "explain", str(job.job_id)], user="reprise", check=False)
            console.print(f"\n   [bold]$ reprise match explain {job.job_id}[/bold]   ({job.title})")
            for line in (done.stdout + done.stderr).splitlines():
                tell(f"  {line}")
            known = done.returncode == 0 and bool(done.stdout)
            unknown = done.returncode == NOTHING_KNOWN_STATUS and "was not running" in done.stderr
            self.shown.expect(known or (unknown and job.title == "alice, no daemon"), f"job {job.job_id} is explained")

    # -- helpers of the steps ------------------------------------------------------------------------------------------

    def put(self, name: str, target: str, user: str) -> None:
        """Copy a file of the demonstration to the cluster, owned by a user."""
        self.cluster.write(target, (FILES / name).read_text(), user=user)

    def tune(self, campaign: str) -> dict[str, Any]:
        """Run a campaign as the service account, show its progress on this terminal, and return its JSON report."""
        words = ["reprise", "tune", "run", campaign, "--yes", "--json"]
        tell(f"reprise@login:~$ {' '.join(words)}")
        argv = self.cluster.command(words, user="reprise", env=terminal())
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
        if done.returncode:
            raise StepError(f"reprise tune run ended with status {done.returncode}")
        report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return report

    def submit(self, title: str, user: str, directory: str, *words: str) -> Job:
        """Submit a job as a user, wait until it ends, and look up its decision. Raise StepError if it fails."""
        command = f"sbatch {' '.join(words)}"
        tell(f"{user}@login:{Path('~') / directory}$ {command}")
        home = f"/home/{user}"
        submit_s, printed = seconds_of(
            ["sbatch", "--parsable", *words], self.cluster, user, cwd=str(Path(home) / directory)
        )
        end = self.cluster.wait_job(int(printed.strip()))
        if end.state != "COMPLETED":
            raise StepError(f"job {end.job_id} ({title}) ended as {end.state}: {end.output.strip()[-500:]}")
        tell(f"  job {end.job_id}: {end.output.strip().splitlines()[0].strip()}")
        time_line = re.search(r"^solver: .* time ([\d.]+) s$", end.output, re.MULTILINE)
        run_s = float(time_line[1]) if time_line else None
        decision = self.decided(end.job_id)
        job = Job(title, end.job_id, user, directory, command, submit_s, end.output, run_s, decision)
        self.shown.jobs.append(job)
        return job

    def decided(self, job_id: int) -> dict[str, Any] | None:
        """Return the newest decision about a job that `reprise match explain` reports, or None."""
        argv = ["reprise", "match", "explain", str(job_id), "--json"]
        done = self.cluster.run(argv, user="reprise", check=False)
        if done.returncode:
            return None
        decisions: list[dict[str, Any]] = json.loads(done.stdout)["decisions"]
        return decisions[0] if decisions else None


def decision_of(job: Job) -> dict[str, Any]:
    """Return the decision about a job. Raise StepError if there is none."""
    if job.decision is None:
        raise StepError(f"no decision is logged for job {job.job_id} ({job.title})")
    return job.decision


def run_s_of(job: Job) -> float:
    """Return the run time that a job printed, in seconds. Raise StepError if it printed none."""
    if job.run_s is None:
        raise StepError(f"job {job.job_id} ({job.title}) printed no time: {job.output.strip()[-500:]}")
    return job.run_s


def environment(job: Job) -> list[str]:
    """Return the environment that a job printed, without the variables that PER_JOB matches."""
    return [line for line in job.output.split("-- environment\n")[1].splitlines() if not PER_JOB.match(line)]


def terminal() -> dict[str, str]:
    """Return the variables that a program needs to draw on this terminal."""
    return {"TERM": "xterm-256color", "COLUMNS": str(console.width)} if sys.stderr.isatty() else {}


def ended(number: int, _: object) -> None:
    """Exit on SIGTERM or SIGHUP, so that the cluster is stopped cleanly, as it is for Ctrl-C."""
    sys.exit(128 + number)


def main() -> int:
    """Run the demonstration and return the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    started = time.monotonic()
    heading(1, f"A Slurm cluster of {NODES} nodes starts")
    try:
        with VirtualCluster(nodes=NODES, latency_us=LATENCY_US) as cluster:
            demo = Demo(cluster)
            try:
                demo.run()
            except (ClusterError, NotSeenError, StepError) as error:
                demo.shown.expect(False, str(error))
                console.print(cluster.logs(), markup=False)
            finally:
                demo.daemon.stop()
    except ClusterError as error:
        print(f"make demo: {error}", file=sys.stderr)
        return 1
    shown = demo.shown
    shown.numbers["seconds"] = round(time.monotonic() - started, 1)
    console.print(table(shown))
    for failure in shown.failures:
        console.print(f"[red]not shown:[/red] {failure}")
    print(json.dumps(shown.numbers))
    return 1 if shown.failures else 0


if __name__ == "__main__":
    sys.exit(main())
