# SPDX-License-Identifier: Apache-2.0
"""A site with web pages for tests: a database with contents, and a `reprise web serve` process."""

from __future__ import annotations

import grp
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import yaml

from reprise.config import Config, load
from reprise.database import Database
from reprise.database.entities import Decision, ForwarderShare, ForwarderState, Outcome
from reprise.matcher.decision.configured import knowledge_of, model_of, policy_of
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.submission import Submission
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.wire import tokens
from tests.ordinary_user import AS_ORDINARY_USER
from tests.places import ROOT
from tests.unit.matcher_daemon import SCRIPT, job, record
from tests.waiting import wait_for

GROUP = grp.getgrgid(os.getgid()).gr_name
NOBODY = 65534
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">{{7*7}}"
FORWARDERS = ("10.0.1.1:5640", "[2001:db8::7]:5640", "/run/<b>&\"'{{7*7}}\\é.sock")  # the last one is odd, but valid
COMPONENT = """\
# SPDX-License-Identifier: Apache-2.0
name: sleep
version: "1"
description: How long a script sleeps
kind: application
parameters:
  SRO_SIZE: {default: 4, values: [0, 1, 2, 3, 4]}
"""
WORK = '#!/bin/bash\nsleep "0.%s${SRO_SIZE:-4}"\n'
DAY = 86_400.0
USERS = ("alice", "bob", "carol")


class WebSite:
    """A site whose files are all below one directory; `now` is the time of its newest jobs."""

    def __init__(self, directory: Path, *lines: str) -> None:
        self.directory = directory
        self.port = free_port()
        self.file = directory / "reprise.toml"
        for name in ("lib", "run", "components"):
            (directory / name).mkdir()
        (directory / "components/sleep.yaml").write_text(COMPONENT)
        self.file.write_text(
            f'[site]\ncluster = "test"\nnodes = 8\n[database]\npath = "{directory}/lib/reprise.db"\n'
            f'[artifacts]\ndirectory = "{directory}/artifacts"\n[openmpi]\nreleases = ["4.1.4"]\n'
            f'[tuner]\ncomponents = "{directory}/components"\nwork = "{directory}/work"\n'
            f'[matcher]\nsocket = "{directory}/run/matcher.sock"\nholdout = 0.5\n'
            f'[web]\nlisten = "127.0.0.1:{self.port}"\noperators = "{GROUP}"\n' + "".join(f"{one}\n" for one in lines)
        )
        self.now = time.time()
        self.process: subprocess.Popen[bytes] | None = None
        Database.open(self.config.database.path, create=True).close()

    @property
    def config(self) -> Config:
        return load(self.file)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def _command(self) -> list[str]:
        return [sys.executable, "-m", "reprise", "--config", str(self.file)]

    def token(self, uid: int | None = None) -> str:
        """Create an access token for a user, by default for the user that runs the tests."""
        return tokens.make(tokens.key_of(self.config), os.getuid() if uid is None else uid)

    def client(self, uid: int | None = None) -> httpx.Client:
        """Return a client that has signed in as a user."""
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {self.token(uid)}"}, timeout=30)

    def reprise(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [*AS_ORDINARY_USER, *self._command, *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)

    # -- content of the database

    def populate(self, jobs: int = 60, seed: int = 7) -> None:
        """Add records, and a month of several users' jobs with the matcher's decisions and the jobs' outcomes."""
        rng = random.Random(seed)  # noqa: S311 (jobs)
        with Database.open(self.config.database.path) as database:
            for user in USERS[:2]:
                database.add_record(record(metadata=job(user).to_json(), created_at=self.now - 40 * DAY))
            hostile = JobMetadata(HOSTILE, HOSTILE, HOSTILE, options={"": (HOSTILE,)}, directory=f"/{HOSTILE}", nodes=4)
            database.add_record(record(metadata=hostile.to_json(), created_at=self.now - 35 * DAY, environment={}))
            knowledge = knowledge_of(database.record_texts(), model_of(self.config), self.config)
            policy = policy_of(self.config)
            for number in range(jobs):
                at = self.now - 29 * DAY * rng.random()  # not 30, because the last of the pages' 30 days has just begun
                user = USERS[number % len(USERS)]
                text = SCRIPT if user != "carol" else SCRIPT.replace("lattice", "weather").replace("--steps", "--days")
                submission = Submission.for_script("/home/alice/job.sh", text, cwd=f"/home/{user}")
                question = Question(submission, user, 1000 + USERS.index(user), "submit", "on", at)
                made = decide(question, knowledge, policy, f"d-{number:04}")
                self.add(database, made, number, rng)
            self.add(database, self._hostile(policy.cluster), 9000, rng)
            database.report_start(Outcome("test", 9001, None, 1000, "unreachable", self.now - DAY))

    def add(self, database: Database, made: Decision, number: int, rng: random.Random) -> None:
        """Add a decision and the end of its job.

        A job that matches a record is held out if `number` is even.
        """
        slow = rng.gauss(1.0, 0.03)
        if made.verdict == "apply":
            held_out = number % 2 == 0
            place: dict[str, Any] = {
                "block": f"b{number // 6}",
                "block_size": 2,
                "compared_id": made.record_id,
                "held_out": held_out,
            }
            made = replace(made, verdict="holdout" if held_out else "apply", **place)
            slow *= 1.0 if held_out else 0.7
        job_id = 1000 + number
        database.add_decision(replace(made, job_id=job_id))
        applied = len(made.injected) if made.verdict == "apply" else 0
        began = Outcome("test", job_id, None, made.uid, made.verdict, made.at + 1, made.id, applied)
        database.report_start(began)
        failed = 256 if number % 19 == 0 else 0
        took = 600.0 * slow
        database.report_end(
            replace(began, ended_at=made.at + 1 + took, elapsed_s=took, exit_status=failed, confirmed=True)
        )

    def _hostile(self, cluster: str) -> Decision:
        """Return a decision in which every name is HOSTILE, as if a user tried to inject a script into the pages."""
        metadata = JobMetadata(HOSTILE, HOSTILE, HOSTILE, options={HOSTILE: (HOSTILE,)}, directory=HOSTILE, nodes=2)
        part = {"name": HOSTILE, "left": HOSTILE, "right": HOSTILE, "similarity": 0.5, "weight": 1.0}
        field = {**part, "contribution": 0.5, "parts": []}
        looked_at = {"record": 1, "component": HOSTILE, "scope": "application", "user": HOSTILE, "used": False}
        row = {**looked_at, "job": HOSTILE, "score": 0.5, "why": HOSTILE, "refusal": "", "explained": False}
        return Decision(
            "d-hostile", self.now - 60, "submit", cluster, 1666, HOSTILE, "on", "none", HOSTILE, "thesis/1", 0.8,
            masked(metadata).to_json(), 0.5, None, [field], [row],
        )  # fmt: skip

    def forward(self) -> None:
        """Configure a pool of forwarders, and add 30 hours of its history; the jobs are those of `populate`."""
        with self.file.open("a") as file:
            file.write(f'[forwarding]\nforwarders = {json.dumps(FORWARDERS)}\nmaps = "{self.directory}/maps"\n')
        one, two, odd = FORWARDERS
        history: list[tuple[float, dict[int, tuple[str, ...]], dict[str, str]]] = [
            (30.0, {1000: (one,)}, {}),
            (20.0, {1000: (one, two), 1001: ()}, {}),
            (10.0, {1000: (one,), 1003: (odd,)}, {two: "Connection refused"}),
            (5.0, {1003: (odd, two), 1004: (one,)}, {}),
            (1.0, {1003: (two,), 1004: (one,), 1006: (one,), 1007: ()}, {odd: HOSTILE}),
        ]
        with Database.open(self.config.database.path) as database:
            for hours_ago, shares, failed in history:
                database.set_forwarding(
                    "test",
                    [self._share(job, served, hours_ago) for job, served in shares.items()],
                    [
                        ForwarderState("test", name, name not in failed, 0.0, failed.get(name, ""))
                        for name in FORWARDERS
                    ],
                    self.now - hours_ago * 3600,
                )

    @staticmethod
    def _share(job: int, served: tuple[str, ...], hours_ago: float) -> ForwarderShare:
        shared, reason = job == 1006, HOSTILE if hours_ago == 1.0 else f"job {job} started"
        return ForwarderShare("test", job, 1000 + job % 10 % 3, 0.0, served, shared, 4, 64, "mckp", reason)

    def campaign(self, pause: str = "0", **changes: Any) -> dict[str, Any]:
        """Return the definition of a campaign whose runs sleep for `pause` tenths of a second plus some hundredths."""
        script = self.directory / f"work-{pause}.sh"
        script.write_text(WORK % pause)
        return {
            "name": "how long to sleep",
            "component": "sleep",
            "application": {"script": str(script), "user": "alice"},
            "search": {"method": "exhaustive"},
            "noise": {"policy": "none"},
            "repetitions": {"default_runs": 2, "final_pairs": 3},
            "executor": {"kind": "local"},
            **changes,
        }

    def run_campaign(self, **changes: Any) -> dict[str, Any]:
        """Run a campaign to its end with `reprise tune run`, and return the printed result."""
        path = self.directory / "campaign.yaml"
        path.write_text(yaml.safe_dump(self.campaign(**changes)))
        done = self.reprise("tune", "run", "--yes", "--json", str(path))
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told

    # -- the pages

    @property
    def log(self) -> Path:
        return self.directory / "web.log"

    def spawn(self, *before: str, passed: Sequence[int] = (), **variables: str) -> None:
        """Start `reprise web serve`, which inherits the descriptors `passed`, with `before` in front of the command.

        `variables` are added to the command's environment.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*AS_ORDINARY_USER, *before, *self._command, "web", "serve"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
                pass_fds=passed,
            )

    def start(self, *before: str, passed: Sequence[int] = (), **variables: str) -> None:
        """Start `reprise web serve` and wait until it answers."""
        self.spawn(*before, passed=passed, **variables)

        def answers() -> bool:
            assert self.process and self.process.poll() is None, self.log.read_text()
            try:
                return httpx.get(f"{self.url}/sign-in").status_code == 200
            except httpx.TransportError:
                return False

        wait_for("the pages", answers, 30)

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=20)
            self.process = None


def free_port() -> int:
    """Return the number of a TCP port that is not in use at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def served_as(answer: httpx.Response) -> str | int:
    """Return the user as whom a page was served, or the status if the request was refused."""
    found = re.search(r'<span class="note">(\w+)', answer.text)
    return found[1] if answer.status_code == 200 and found else answer.status_code
