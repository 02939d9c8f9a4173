# SPDX-License-Identifier: Apache-2.0
"""`make demo`: runs the main job for real and shows each step; the last line is one JSON object.

Exits 1 if any step did not show what it should.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.cluster.machine import ClusterError, JobEnd, VirtualCluster
from tests.cluster.product import Daemon, install, seconds_of

FILES = Path(__file__).parent / "files"
APP = "/srv/apps/solver/bin/solver"
# Variables that differ between any two jobs, or say what was submitted rather than what the job is given.
PER_JOB = re.compile(r"(SLURM_JOB_?ID|SLURM_TASK_PID|SLURM_GTIDS|SLURM_SPANK_\w*|SLURM_JOB_START_TIME|_)=")
SUBMIT_AT_ONCE_S = 1.0  # a submission without a daemon takes less than this, or people notice

console = Console(highlight=False, width=110)


class StepError(Exception):
    """A step did not show what it should."""


def heading(number: int, text: str) -> None:
    console.print(f"\n[bold]{number}. {text}[/bold]")


def tell(text: str) -> None:
    console.print(f"   {text}", markup=False)


@dataclass
class Shown:
    """What the demonstration showed: the numbers of the last line, and the steps that failed."""

    numbers: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str) -> bool:
        """Note, and say, whether a step showed what it should."""
        console.print(f"   [green]ok[/green]     {what}" if holds else f"   [red]FAILED[/red] {what}")
        if not holds:
            self.failures.append(what)
        return holds


class Demo:
    """The steps, in order, on one cluster."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.shown = Shown()
        self.daemon = Daemon(cluster)
        self.jobs: dict[str, int] = {}

    def run(self) -> None:
        self.prepare()
        self.campaign()
        self.daemon.start()
        self.alice()
        self.bob_and_carol()
        self.without_daemon()
        self.explain()

    # -- the steps -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        nodes = self.cluster.run(["sinfo", "-h", "-N", "-p", "main", "-o", "%N %t"]).stdout.split("\n")
        tell(f"nodes: {', '.join(line for line in nodes if line)}")
        links = self.cluster.run(["tc", "qdisc", "show", "dev", "eth0"], node="node0").stdout
        tell(f"links: {self.cluster.spec.rate} each way; users: {', '.join(self.cluster.spec.users)}")
        self.shown.expect(
            "tbf" in links and len(nodes) == self.cluster.spec.nodes + 1, "four nodes, shaped links, munge"
        )
        install(self.cluster)
        self.cluster.run(["install", "-D", "/opt/reprise/source/demo/solver", APP])
        self.put("alice-solve.sh", "/home/alice/solver/solve.sh", "alice")
        self.put("bob-mesh.sh", "/home/bob/projects/mesh/run.sh", "bob")
        self.put("carol-words.sh", "/home/carol/words.sh", "carol")
        self.put("campaign.yaml", "/home/reprise/campaign.yaml", "reprise")
        self.cluster.run(["install", "-d", "-o", "bob", "-g", "bob", "/home/bob/results"])

    def campaign(self) -> None:
        heading(2, "An admin tunes the broadcast of Open MPI for alice's application, through Slurm")
        report = self.tune("/home/reprise/campaign.yaml")
        self.shown.numbers["trials"] = report["trials"]
        if not self.shown.expect(bool(report["record"]), "a record was written, its gain beyond noise"):
            raise StepError("the campaign found nothing better than the default")
        proof = report["parametrization"]["proof"]
        self.shown.numbers["rules_in_effect"] = proof["launches"] > 0 and len(proof["calls"]) > 0
        tell(f"proof: {proof['launches']} launches looked at {', '.join(proof['calls'])}")
        self.shown.expect(self.shown.numbers["rules_in_effect"], "a real launch proved every rule to be in effect")
        tell(f"rules file: {report['artifact']}")
        for line in self.cluster.path(report["artifact"]).read_text().splitlines():
            tell(f"  | {line}")

    def alice(self) -> None:
        heading(3, "alice submits her solver with sbatch: once with --reprise=off, once as usual")
        plain = self.job("alice, off", "alice", "solver", "solve.sh", "--reprise=off")
        usual = self.job("alice", "alice", "solver", "solve.sh")
        decision = self.decision("alice")
        default_s, tuned_s = solve_time(plain), solve_time(usual)
        self.shown.numbers |= {
            "default_s": default_s,
            "tuned_s": tuned_s,
            "gain": round(1 - tuned_s / default_s, 4),
            "alice_decision": decision["verdict"],
            "alice_score": decision["score"],
        }
        tell(f"solve time: {default_s:.2f} s with defaults, {tuned_s:.2f} s as usual; score {decision['score']:.3f}")
        for name, value in decision["injected"].items():
            tell(f"  injected {name}={value}")
        self.shown.expect(decision["verdict"] == "apply", "alice's job was recognised")
        self.shown.expect(tuned_s < default_s, "alice's job was faster")

    def bob_and_carol(self) -> None:
        heading(4, "bob submits the same application in his own way; carol something else")
        self.job("bob", "bob", "projects/mesh", "run.sh")
        bob = self.decision("bob")
        self.shown.numbers |= {"bob_decision": bob["verdict"], "bob_score": bob["score"]}
        tell(f"bob: {bob['reason']} (score {bob['score']:.3f})")
        self.shown.expect(bob["verdict"] == "apply", "bob's job was recognised")
        plain = self.job("carol, off", "carol", "", "words.sh", "--reprise=off")
        usual = self.job("carol", "carol", "", "words.sh")
        carol = self.decision("carol")
        self.shown.numbers["carol_decision"] = carol["verdict"]
        tell(f"carol: {carol['reason']} (score {carol['score']:.3f})")
        self.shown.expect(carol["verdict"] == "none", "carol's job was not recognised")
        self.shown.expect(environment(plain) == environment(usual), "carol's environment was untouched")

    def without_daemon(self) -> None:
        heading(5, "the daemon is stopped; alice submits again")
        self.daemon.stop()
        took_s, printed = seconds_of(
            ["sbatch", "--parsable", "solve.sh"], self.cluster, "alice", cwd="/home/alice/solver"
        )
        self.jobs["alice, daemon down"] = int(printed.strip())
        end = self.cluster.wait_job(int(printed.strip()))
        tell(f"sbatch took {took_s * 1000:.0f} ms; {end.output.strip()}")
        at_once = self.shown.expect(took_s < SUBMIT_AT_ONCE_S, "sbatch returned at once")
        ran = self.shown.expect(end.state == "COMPLETED", "the job ran, with defaults")
        self.shown.numbers["daemon_down_ok"] = at_once and ran
        self.daemon.start()

    def explain(self) -> None:
        heading(6, "support asks why, for each job")
        for title, job_id in self.jobs.items():
            done = self.cluster.run(["reprise", "match", "explain", str(job_id)], user="reprise", check=False)
            console.print(f"\n   [bold]$ reprise match explain {job_id}[/bold]   ({title})")
            for line in (done.stdout + done.stderr).splitlines():
                tell(f"  {line}")
            self.shown.expect(done.returncode in (0, 3) and bool(done.stdout.strip()), f"job {job_id} is explained")

    # -- what the steps use --------------------------------------------------------------------------------------------

    def put(self, name: str, target: str, user: str) -> None:
        self.cluster.write(target, (FILES / name).read_text(), user=user)

    def tune(self, campaign: str) -> dict[str, Any]:
        """Run a campaign as the service account; its progress goes to this terminal. Returns its JSON report."""
        argv = self.cluster.command(["reprise", "tune", "run", campaign, "--json"], user="reprise", env=terminal())
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
        if done.returncode:
            raise StepError(f"reprise tune run ended with status {done.returncode}")
        report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return report

    def job(self, title: str, user: str, directory: str, script: str, *options: str) -> JobEnd:
        """Submit as an ordinary user and wait for the end."""
        tell(f"{user}@login:~/{directory}$ sbatch {' '.join((*options, script))}")
        job_id = self.cluster.submit(script, *options, user=user, cwd=f"/home/{user}/{directory}")
        self.jobs[title] = job_id
        end = self.cluster.wait_job(job_id)
        if end.state != "COMPLETED":
            raise StepError(f"job {job_id} ({title}) ended as {end.state}: {end.output.strip()[-500:]}")
        tell(f"job {job_id}: {end.output.strip().splitlines()[0]}")
        return end

    def decision(self, title: str) -> dict[str, Any]:
        """The newest decision logged for a job, as support sees it."""
        done = self.cluster.run(["reprise", "match", "explain", str(self.jobs[title]), "--json"], user="reprise")
        decision: dict[str, Any] = json.loads(done.stdout)["decisions"][0]
        return decision


def terminal() -> dict[str, str]:
    """What a program needs to know to draw on this terminal."""
    size = console.size
    return {"TERM": "xterm-256color", "COLUMNS": str(size.width)} if sys.stderr.isatty() else {}


def solve_time(end: JobEnd) -> float:
    found = re.search(r"time ([\d.]+) s", end.output)
    if not found:
        raise StepError(f"job {end.job_id} printed no time: {end.output.strip()[-500:]}")
    return float(found[1])


def environment(end: JobEnd) -> list[str]:
    """The environment that a job printed, without what differs between any two jobs."""
    return [line for line in end.output.split("-- environment\n")[1].splitlines() if not PER_JOB.match(line)]


def summary(numbers: dict[str, Any], jobs: dict[str, int]) -> Table:
    table = Table(title="What was shown", title_justify="left")
    table.add_column("")
    table.add_column("")
    for name, value in numbers.items():
        table.add_row(name, f"{value:.3f}" if isinstance(value, float) else str(value))
    table.add_row("jobs", ", ".join(f"{job_id} ({title})" for title, job_id in jobs.items()))
    return table


def main() -> int:
    started = time.monotonic()
    heading(1, "A Slurm cluster of four nodes starts")
    try:
        with VirtualCluster() as cluster:
            demo = Demo(cluster)
            try:
                demo.run()
            except (ClusterError, StepError) as error:
                demo.shown.expect(False, str(error))
                console.print(cluster.logs(), markup=False)
            finally:
                demo.daemon.stop()
    except ClusterError as error:
        print(f"make demo: {error}", file=sys.stderr)
        return 1
    shown = demo.shown
    shown.numbers["seconds"] = round(time.monotonic() - started, 1)
    console.print()
    console.print(summary(shown.numbers, demo.jobs))
    for failure in shown.failures:
        console.print(f"[red]not shown:[/red] {failure}")
    print(json.dumps(shown.numbers))
    return 1 if shown.failures else 0


if __name__ == "__main__":
    sys.exit(main())
