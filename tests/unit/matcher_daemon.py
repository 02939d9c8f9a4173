# SPDX-License-Identifier: Apache-2.0
"""A real matcher daemon in a directory of its own, with records and requests for tests."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.database import Database
from reprise.database.entities import Measurement, Record, RecordText, Scope
from reprise.database.gain_subject import GAIN_OF
from reprise.database.gain_subject import RULES as BENCHMARKED
from reprise.database.masked_columns import masked_cell
from reprise.matcher.decision.decide import Knowledge
from reprise.matcher.decision.known_records import readable
from reprise.matcher.errors import MatcherError
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING, ask
from tests.places import ROOT
from tests.unit.forked import Forked
from tests.waiting import wait_for

ME = pwd.getpwuid(os.getuid()).pw_name
SCRIPT = """#!/bin/bash
#SBATCH --job-name=lattice
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
mpirun /home/alice/bin/lattice --steps 200 --size 64
"""
RULES = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/var/lib/reprise/artifacts/rules.conf",
}


def job(user: str = "root", script: str = SCRIPT, at: float = 1.7e9) -> JobMetadata:
    """Return the metadata of the job that `request()` submits."""
    submission = Submission.for_script("/home/alice/job.sh", script, cwd="/home/alice")
    return parse(submission, user=user, submit_time=at)


def record(**changes: Any) -> Record:
    """Return a record that matches the job of `request()`."""
    values: dict[str, Any] = {
        "component": "openmpi-collectives",
        "component_version": "1",
        "scope": Scope.APPLICATION,
        "created_at": 1.7e9,
        "context": {"cluster": "test", "nodes": 4, "tasks_per_node": 1, "openmpi": ["4.1.4"]},
        "metadata": job().to_json(),
        "parametrization": {"bcast/65536": {"algorithm": 6}},
        "environment": RULES,
        "conflicts": ["OMPI_MCA_coll_tuned_*"],
        "default": Measurement(10.0, 9.9, 10.1, 20),
        "tuned": Measurement(7.0, 6.9, 7.1, 20),
        "gain": 0.3,
        "gain_low": 0.28,
        "gain_high": 0.32,
    }
    return Record(**(values | changes))


def mine(**changes: Any) -> Record:
    """Return a record of the user who runs the tests; the daemon authenticates the test's requests as this user's."""
    return record(metadata=job(ME).to_json(), **changes)


def text_of(known: Record) -> RecordText:
    """Return a record as the row that a daemon reads from the database, with JSON texts."""
    columns = (getattr(known, name, "[]") for name in RecordText._fields)
    row = RecordText._make(json.dumps(value) if isinstance(value, dict | list | tuple) else value for value in columns)
    subject = [known.parametrization.get(name) for name in (GAIN_OF, BENCHMARKED)]
    return row._replace(metadata=masked_cell(row.metadata), subject=json.dumps(subject))


def knowing(*records: Record, model: Model, cluster_nodes: int = 8) -> Knowledge:
    """Return the knowledge that a daemon reads from a database with these records."""
    return Knowledge(readable(map(text_of, records)), model, cluster_nodes=cluster_nodes)


def request(script: str | None = SCRIPT, **changes: Any) -> dict[str, Any]:
    """Return the `decide` request that the plugin sends when a job is submitted."""
    submission = {
        "command": "sbatch",
        "argv": ["sbatch", "job.sh"],
        "cwd": "/home/alice",
        "env": {},
        "set": [],
        "script": {"path": "/home/alice/job.sh", "text": script, "truncated": False} if script is not None else None,
    }
    message = {"v": 1, "kind": "decide", "point": "submit", "mode": "on", "client": {"plugin": "0", "slurm": "22.05"}}
    return {**message, "submission": submission, **changes}


class Daemon:
    """A `reprise serve` process; `settings` are lines for the table [matcher] of its configuration."""

    def __init__(self, directory: Path, *settings: str) -> None:
        self.socket = directory / "run" / "matcher.sock"
        self.database = directory / "lib" / "reprise.db"
        self.config = directory / "reprise.toml"
        self.log = directory / "daemon.log"
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.socket.parent.mkdir(exist_ok=True)
        self.configure(*settings)
        Database.open(self.database, create=True).close()

    def configure(self, *settings: str) -> None:
        is_set = any(line.startswith("holdout") for line in settings)
        nobody = () if is_set else ("holdout = 0.0",)  # holds out no job, so that decisions do not depend on chance
        lines = (f'socket = "{self.socket}"', *nobody, *settings)
        self.config.write_text(
            f'[site]\ncluster = "test"\nnodes = 8\n[database]\npath = "{self.database}"\n'
            '[openmpi]\nreleases = ["4.1.4"]\n[matcher]\n' + "\n".join(lines) + "\n"
        )

    def add(self, *records: Record) -> list[int]:
        with Database.open(self.database) as database:
            return [database.add_record(one) for one in records]

    def spawn(self, *wrapper: str, env: Mapping[str, str] | None = None, pass_fds: tuple[int, ...] = ()) -> None:
        """Start the daemon without waiting until it answers. Without arguments, it is forked, which is faster."""
        arguments = ["--config", str(self.config), "serve"]
        command = [*wrapper, sys.executable, "-m", "reprise", *arguments]
        with self.log.open("ab") as log:
            if not (wrapper or env or pass_fds):
                self.process = Forked(arguments, {**os.environ, "PYTHONPATH": str(ROOT)}, ROOT, log.fileno())
                return
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
                pass_fds=pass_fds,
            )

    def start(self, **how: Any) -> Daemon:
        """Start the daemon and wait until it answers.

        If it does not answer, kill it, because the caller gets an exception and could not stop it.
        """
        self.spawn(**how)
        try:
            self.wait_until_up()
        except BaseException:
            self.kill()
            raise
        return self

    def wait_until_up(self) -> None:
        wait_for("an answer to a ping", lambda: self.running() and self.pings())

    def running(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"the daemon ended:\n{self.text()}"
        return True

    def pings(self) -> bool:
        try:
            return bool(ask(self.socket, PING)["kind"] == "ok")
        except MatcherError:
            return False

    def ask(self, message: Mapping[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
        return ask(self.socket, message, timeout_s)

    def send(self, data: bytes, *, close: bool = False) -> bytes:
        """Send raw bytes, and return the body of the reply, which is empty if the daemon sends none."""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            except BrokenPipeError:
                pass  # the daemon may refuse a request before it has read the whole request
            with connection.makefile("rb") as stream:
                header = stream.read(protocol.HEADER_BYTES)
                return stream.read(int.from_bytes(header, "big")) if header else b""

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(10)
        connection.connect(str(self.socket))
        return connection

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_contains(self, pattern: str) -> bool:
        return re.search(pattern, self.text()) is not None

    def wait_log(self, pattern: str, timeout_s: float = 60.0) -> None:
        wait_for(f"{pattern!r} in the log", lambda: self.log_contains(pattern), timeout_s)

    def signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)

    def stop(self) -> int:
        """Stop the daemon with SIGTERM, and return its exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(timeout=30)
        self.process = None
        return status

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()
        self.process = None
