# SPDX-License-Identifier: Apache-2.0
"""Valid rows for tests of the database; each can be changed by keyword."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.database.entities import (
    Artifact,
    Campaign,
    Decision,
    ForwarderShare,
    Measurement,
    Outcome,
    Record,
    Scope,
    Trial,
    TrialRole,
)

ON_SQLITE = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
"""Mark for tests of `database` that concern SQLite alone."""
SHA = "0123456789abcdef" * 4


def campaign(**changes: Any) -> Campaign:
    given: dict[str, Any] = {"name": "night", "component": "openmpi", "component_version": "4.1.4", "created_at": 1.0}
    return Campaign(**{**given, "spec": {"seed": 7}, "context": {"nodes": 4}, **changes})


def trial(campaign_id: int, number: int = 0, **changes: Any) -> Trial:
    given: dict[str, Any] = {"campaign_id": campaign_id, "problem": "bcast/65536", "number": number}
    return Trial(**{**given, "role": TrialRole.SEARCH, "parametrization": {"algorithm": 6}, **changes})


def artifact(**changes: Any) -> Artifact:
    return Artifact(**{"sha256": SHA, "path": "/srv/a", "kind": "rules", "size": 3, "created_at": 2.0, **changes})


def record(**changes: Any) -> Record:
    given: dict[str, Any] = {
        "component": "openmpi",
        "component_version": "4.1.4",
        "scope": Scope.APPLICATION,
        "created_at": 3.0,
        "context": {"cluster": "c", "nodes": 4, "openmpi": ["4.1.4"]},
        "metadata": {"user": "alice", "job_name": "solve", "program": "solver"},
        "parametrization": {"bcast/65536": {"algorithm": 6}},
        "environment": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"},
        "conflicts": ("OMPI_MCA_coll_tuned_*",),
        "default": Measurement(2.4, 2.3, 2.5, 10, "ms"),
        "tuned": Measurement(0.5, 0.4, 0.6, 12, "ms"),
        "gain": 0.79,
        "gain_low": 0.75,
        "gain_high": 0.83,
    }
    return Record(**{**given, **changes})


def decision(name: str = "d1", **changes: Any) -> Decision:
    given: dict[str, Any] = {
        "id": name,
        "at": 100.0,
        "point": "submit",
        "cluster": "c",
        "uid": 1001,
        "user": "alice",
        "mode": "on",
        "verdict": "none",
        "reason": "nothing is like it",
        "model": "thesis 1",
        "threshold": 0.8,
        "metadata": {"user": "alice"},
    }
    return Decision(**{**given, **changes})


def outcome(started_at: float = 1000.0, **changes: Any) -> Outcome:
    given: dict[str, Any] = {"cluster": "c", "job_id": 5, "array_task": None, "uid": 1001, "verdict": "apply"}
    return Outcome(**{**given, "started_at": started_at, **changes})


def forwarder_share(job_id: int = 5, **changes: Any) -> ForwarderShare:
    given: dict[str, Any] = {"cluster": "c", "job_id": job_id, "uid": 1001, "at": 1000.0, "shared": False, "nodes": 8}
    given |= {"forwarders": ("10.0.1.1:5640",), "processes": 64, "policy": "mckp", "reason": "job 5 started"}
    return ForwarderShare(**{**given, **changes})
