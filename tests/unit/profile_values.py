# SPDX-License-Identifier: Apache-2.0
"""Made-up reports of processes, and profiles, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.tuner.profile.process_report import ProcessReport
from reprise.tuner.profile.profile_values import Profile

S = 1_000_000_000
START = 1_700_000_000 * S


def report(**changes: Any) -> ProcessReport:
    """Return the report of a process that ran for 10 s and used 8 s of processor time."""
    said = {
        "version": 1,
        "host": "node1",
        "pid": 1,
        "parent": 0,
        "program": "/opt/app/solve",
        "start": START,
        "wall": 10 * S,
        "cpu": 8 * S,
        "system": 0,
        "main_cpu": 8 * S,
        "minor_faults": 0,
        "major_faults": 0,
        "fault": 500,
        "voluntary": 0,
        "involuntary": 0,
        "threads": 1,
        "processors": 2,
        "online": 2,
        "peak_rss": 1 << 20,
        "rchar": 0,
        "wchar": 0,
        "read_bytes": 0,
        "write_bytes": 0,
        "affinity": "0-1",
        "libraries": [],
        "environment": {},
        "files": [],
        "meta": {},
    }
    return ProcessReport.model_validate({**said, **changes})


def calls(*sampled: Sequence[Any], stride: int = 1) -> dict[str, Any]:
    return {"stride": stride, "calls": [list(one) for one in sampled]}


def mpi(rank: int, ranks: int = 2, **changes: Any) -> dict[str, Any]:
    """Return the MPI part of a process's report, without any calls."""
    return {
        "rank": rank,
        "ranks": ranks,
        "threads": False,
        "begun": START,
        "ended": START + 10 * S,
        "init": 0,
        "lost": 0,
        "unnumbered": 0,
        "kinds": {},
        "shapes": [{"shape": 1, "id": "a", "size": ranks, "world": True}],
        "collectives": [],
        "messages": [],
        "mpi_files": [],
        "collective_samples": calls(),
        "message_samples": calls(),
        **changes,
    }


def collective(kind: str, seconds: float, size_class: int = 11, count: int = 1, shape: int = 1) -> dict[str, Any]:
    size = (1 << size_class) - 1
    ns = int(seconds * S)
    return {
        "kind": kind,
        "shape": shape,
        "class": size_class,
        "calls": count,
        "bytes": size * count,
        "largest": size,
        "ns": ns,
    }


def profile(shares: Mapping[str, float], waiting: float = 0.0) -> Profile:
    """Return the profile of a job that ran for 100 s; `shares` are shares of this run time."""
    return Profile.model_validate(
        {
            "elapsed_s": 100.0,
            "processes": 4,
            "ranks": 4,
            "nodes": 2,
            "programs": ["solve"],
            "slowest": {"rank": 0, "host": "node1", "program": "/opt/app/solve", "wall_s": 99.0, "waiting_s": 1.0},
            "shares": shares,
            "waiting": waiting,
            "waiting_calls": {},
            "collectives": [],
            "messages": [],
            "files": [],
            "mpi_files": [],
            "meta": {},
            "threads": {
                "most": 1,
                "busy": 1.0,
                "processors": 2,
                "online": 2,
                "affinity": "0-1",
                "environment": {},
                "libraries": [],
            },
            "memory": {
                "minor_faults": 0,
                "major_faults": 0,
                "fault_us": 0.5,
                "peak_bytes": 1,
                "involuntary_switches": 0,
            },
            "remarks": [],
        }
    )
