# SPDX-License-Identifier: Apache-2.0
"""Readers of the number of nodes, tasks and processors, and of the memory size, in Slurm's options and variables."""

from __future__ import annotations

import re

_NODES = re.compile(r"\s*\+?([0-9]{1,9}[km]?)(?:-([0-9]{1,9}[km]?))?", re.IGNORECASE)


def positive(text: str) -> int | None:
    """Return a positive whole number of at most nine digits; None for any other text."""
    found = re.fullmatch(r"\s*\+?([0-9]{1,9})", text)
    return (int(found.group(1)) or None) if found else None


def equal_on_nodes(text: str) -> int | None:
    """Return the number per node if all nodes have the same, such as 8 for `8(x4)`; None for `8(x3),4` and other texts.

    The text is the value of SLURM_JOB_CPUS_PER_NODE or a similar variable.
    """
    found = re.fullmatch(r"([0-9]{1,9})(?:\(x[0-9]+\))?", text)
    return (int(found.group(1)) or None) if found else None


def memory_on_each(per_node: str, per_processor: str, per_gpu: str, processors: str) -> int | None:
    """Return the memory that a running job may use on each node, in MiB; 0 means all of it.

    None means that the memory is unknown or differs between nodes.

    The arguments are SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU and SLURM_JOB_CPUS_PER_NODE. If Slurm
    limits the memory, it sets one of the first three variables. The other two may have been inherited from an outer
    job; if both of the first two are set, the smaller limit therefore counts. If there is a limit per GPU, the memory
    is unknown.
    """
    if not processors or per_gpu:
        return None
    each = equal_on_nodes(processors)
    limits = [positive(per_node)]
    if share := positive(per_processor):
        if not each:
            return None
        limits.append(share * each)
    return min((limit for limit in limits if limit), default=0)


def node_count(text: str) -> int | None:
    """Return the number of nodes that `--nodes` requests (`4`, `4-4`, `1k`); None if it is a range or invalid."""
    found = _NODES.fullmatch(text)
    if not found:
        return None
    least, most = (_scaled(group) for group in (found.group(1), found.group(2) or found.group(1)))
    return least if least == most and least else None


def _scaled(number: str) -> int:
    factor = {"k": 1024, "m": 1024 * 1024}.get(number[-1].lower(), 1)
    return int(number.rstrip("kKmM")) * factor
