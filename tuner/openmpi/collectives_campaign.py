# SPDX-License-Identifier: Apache-2.0
"""Campaigns for Open MPI's collectives, which `reprise tune collectives` creates from a few options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.tuner.errors import TunerError

COMPONENT = "openmpi-collectives"
COLLECTIVES = ("allreduce", "bcast", "reduce", "allgather", "alltoall")
SIZES = "4:1M"

# "per-size" is the published campaign (Sartori 2024, sections 3.2 and 3.3; docs/explanation/openmpi.md). In "shared",
# the search for each size also learns from the other sizes.
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "shared": {
        "settings": {"together": True},
        "search": {"method": "gp-shared", "initial": 3, "budget": 14, "window": 0},
        "noise": {"policy": "none"},
        "pruning": {"policy": "default"},
        "repetitions": {"default_runs": 2, "final_pairs": 6, "more_pairs": 6, "confirm_pairs": 6},
    },
    "per-size": {
        "settings": {"together": False},
        "search": {"method": "gp-ei", "initial": 10, "budget": 150, "window": 15, "improvement": 0.01},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 3, "final_pairs": 6, "more_pairs": 6, "confirm_pairs": 6},
    },
}

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"([0-9]{1,10})([kmg]?)", re.IGNORECASE)


def read_sizes(text: str) -> list[int]:
    """Return the sizes in bytes from text such as `4:1M` (4, 8, 16 and so on, up to 1M) or `8,64K,1M`.

    Raise TunerError if the text is invalid.
    """
    first, colon, last = text.partition(":")
    if not colon:
        return [_size(word, text) for word in text.split(",")]
    size, end = _size(first, text), _size(last, text)
    if not 0 < size <= end:
        raise TunerError(f"sizes: {text!r}: a range extends from a positive size to a larger one, as in 4:1M")
    found = []
    while size <= end:
        found.append(size)
        size *= 2
    return found


def _size(word: str, text: str) -> int:
    found = _SIZE.fullmatch(word.strip())
    if not found:
        raise TunerError(f"sizes: {text!r}: {word.strip()!r} is not a size: use bytes, as in 4:1M or 8,64K,1M")
    return int(found[1]) * _UNITS[found[2].lower()]


def read_counts(text: str, what: str) -> list[int]:
    """Return the numbers of nodes or tasks from text such as `2,4,8`; `what` is the option's name.

    Raise TunerError if the text is invalid.
    """
    words = [word.strip() for word in text.split(",")]
    if odd := [word for word in words if not re.fullmatch("[1-9][0-9]{0,6}", word)]:
        raise TunerError(f"{what}: {text!r}: {odd[0]!r} is not a positive number: use one or more, as in 2,4,8")
    return [int(word) for word in words]


def campaign(
    *,
    collectives: Sequence[str],
    sizes: str,
    nodes: Sequence[int],
    tasks_per_node: Sequence[int],
    strategy: str,
    placement: str = "core",
    name: str = "",
    node_hours: float | None = None,
    executor: Mapping[str, Any] | None = None,
    benchmark: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of the campaign file; values of `executor` and `benchmark` that are None are omitted.

    Raise TunerError if an option is invalid.
    """
    if strategy not in STRATEGIES:
        raise TunerError(f"strategy: {strategy!r} does not exist: choose one of {', '.join(STRATEGIES)}")
    chosen = STRATEGIES[strategy]
    tasks = " x ".join("+".join(map(str, counts)) for counts in (nodes, tasks_per_node))
    found: dict[str, Any] = {
        "name": name or f"collectives on {tasks} tasks",
        "component": COMPONENT,
        "scope": "cluster",
        "settings": {
            "collectives": list(collectives),
            "sizes": read_sizes(sizes),
            "nodes": list(nodes),
            "tasks_per_node": list(tasks_per_node),
            "placement": placement,
            **_given(benchmark),
            **chosen["settings"],
        },
        **{key: dict(value) for key, value in chosen.items() if key != "settings"},
    }
    if node_hours is not None:
        found["budget"] = {"node_hours": node_hours}
    if given := _given(executor):
        found["executor"] = given
    return found


def _given(options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (options or {}).items() if value is not None}
