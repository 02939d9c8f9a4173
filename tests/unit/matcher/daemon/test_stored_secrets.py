# SPDX-License-Identifier: Apache-2.0
"""Test that secrets in submissions reach no database, log, reply, published copy or forwarded row of a daemon."""

from __future__ import annotations

import json
import os
from typing import Any

from reprise.database import Database
from reprise.database.errors import NotFoundError
from tests.unit.matcher_daemon import Daemon, record, request
from tests.waiting import wait_for

SECRET = "hunter2x"  # noqa: S105 (an example)
SCRIPT = f"""#!/bin/bash
#SBATCH --job-name=token={SECRET}
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
export API_TOKEN={SECRET}
mpirun /home/alice/bin/lattice --steps 200 --password {SECRET} https://alice:{SECRET}@h/x $API_TOKEN
"""


def started(**changes: Any) -> dict[str, Any]:
    """Return the `decide` request that the job's plugin sends when the job starts."""
    script = {"path": "slurm_script", "text": SCRIPT, "truncated": False}
    env = {"SLURM_SUBMIT_DIR": f"/work/password={SECRET}"}
    submission = {"command": "batch", "argv": [], "cwd": "/work", "env": env, "set": [], "script": script}
    job = {"id": 4711, "array_task": None, "cluster": "test", "nodes": 4, "tasks": 4, "restarts": 0}
    return request(None, point="start", submission=submission, job=job, **changes)


def everything(daemon: Daemon) -> str:
    """Return the text of all files that the daemon has written and published."""
    directory = daemon.config.parent
    return "".join(file.read_bytes().decode(errors="replace") for file in directory.rglob("*") if file.is_file())


def is_stored(daemon: Daemon, decision: str) -> bool:
    with Database.open(daemon.database, read_only=True) as database:
        try:
            return bool(database.decision(decision).metadata)
        except NotFoundError:
            return False


def test_no_secret_of_a_job_is_stored_logged_or_replied(daemon: Daemon) -> None:
    daemon.configure(f"publish = '{daemon.config.parent}/records.db'")
    daemon.add(record(metadata={"user": "bob", "program": "x", "options": {"password": [SECRET]}}))
    daemon.start()
    replies = [
        daemon.ask(request(SCRIPT)),
        daemon.ask(request(SCRIPT, mode="explain")),
        daemon.ask(started()),
    ]
    report = {"v": 1, "kind": "outcome", "state": "ended", "decision": replies[0]["id"], "verdict": "none"}
    report |= {"applied": 0, "elapsed_s": 1.5, "exit_status": 0}
    daemon.ask({**report, "job": {"id": 4711, "array_task": None, "uid": os.getuid(), "cluster": "test"}})
    for reply in replies:
        wait_for("the decision", lambda reply=reply: is_stored(daemon, reply["id"]))  # type: ignore[misc]
    assert SECRET not in json.dumps(replies)
    assert SECRET not in everything(daemon)
    with Database.open(daemon.database, read_only=True) as database:
        assert database.decision(replies[0]["id"]).metadata["options"]["password"] == ["***"]
    daemon.stop()
    assert SECRET not in everything(daemon)


def test_the_primary_masks_secrets_in_forwarded_rows(daemon: Daemon) -> None:
    daemon.configure(f"uid = {os.getuid()}")
    daemon.start()
    reply = daemon.ask(request(SCRIPT))
    wait_for("the decision", lambda: is_stored(daemon, reply["id"]))
    with Database.open(daemon.database, read_only=True) as database:
        (row,) = [dict(row) for row in database.raw_rows("decision")]
    row |= {"id": "another", "reason": f"app --token {SECRET}", "metadata": json.dumps({"job_name": f"pw={SECRET}"})}
    row |= {"fields": json.dumps([{"name": "options", "left": {"token": [SECRET]}, "right": {}}])}
    daemon.ask({"v": 1, "kind": "forward", "entries": [{"kind": "decision", "row": row}]})
    wait_for("the other decision", lambda: is_stored(daemon, "another"))
    assert SECRET not in everything(daemon)
