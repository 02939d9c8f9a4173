# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests in which the daemon asks jobs about their programs when the plugin reports the jobs' start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for


def started(decision: str, **changes: Any) -> dict[str, Any]:
    """Return the report that the plugin sends when a job with this decision starts."""
    job = {"id": 7, "array_task": None, "uid": os.geteuid()}
    report = {"v": 1, "kind": "outcome", "state": "started", "decision": decision, "verdict": "none", "applied": 0}
    return {**report, "job": job, **changes}


def asked_about(daemon: Daemon, program: Path, submission: Mapping[str, Any]) -> str:
    """Submit jobs until the daemon asks one of them about this program, and return the id of that job's decision.

    While the daemon is still trying to read a program file of the same user itself, it asks no job of this user.
    """

    def asked() -> str:
        decision: str = daemon.ask(dict(submission))["id"]
        return decision if daemon.ask(started(decision)).get("identify") == str(program) else ""

    return wait_for("the question", asked)
