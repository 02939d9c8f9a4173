# SPDX-License-Identifier: Apache-2.0
"""Synthetic traces in the witness's format for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprise.tuner.proxy import witness_trace as format_

KINDS: list[str] = []  # a kind's index in this list is its number in the trace


def event(kind: str, at: int, took: int = 10, *values: int, **fields: Any) -> dict[str, Any]:
    """Return a call that begins at `at` and takes `took` (both in us); `fields` are named as in the trace format."""
    if kind not in KINDS:
        KINDS.append(kind)
    nothing = {
        "send_bytes": 0,
        "recv_bytes": 0,
        "comm": format_.WORLD,
        "peer": -1,
        "tag": -1,
        "source": -1,
        "recv_tag": -1,
    }
    nothing |= {"request": 0, "send_counts": 0, "thread": 0, "type_size": 0}
    return {**nothing, "kind": kind, "enter": 1000 * at, "leave": 1000 * (at + took), "values": values, **fields}


def write(directory: Path, *ranks: list[dict[str, Any]], cut: int = 0) -> Path:
    """Write one trace file per rank, each without its last `cut` bytes."""
    for rank, events in enumerate(ranks):
        header = (format_.MAGIC, format_.TRACE_VERSION, format_.HEADER.size, len(KINDS), rank, len(ranks), 1, b"host")
        data = format_.HEADER.pack(*header) + b"".join(kind.encode().ljust(format_.NAME_BYTES, b"\0") for kind in KINDS)
        for one in events:
            data += format_.EVENT.pack(
                one["enter"],
                one["leave"],
                one["send_bytes"],
                one["recv_bytes"],
                one["comm"],
                one["peer"],
                one["tag"],
                one["source"],
                one["recv_tag"],
                one["request"],
                len(one["values"]),
                one["send_counts"],
                KINDS.index(one["kind"]),
                one["thread"],
                one["type_size"],
            ) + b"".join(value.to_bytes(8, "little", signed=True) for value in one["values"])
        (directory / f"{rank}.host.1.trace").write_bytes(data[: len(data) - cut])
    return directory
