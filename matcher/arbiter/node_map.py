# SPDX-License-Identifier: Apache-2.0
"""Forwarder of each compute node of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence


def map_nodes(nodes: Sequence[str], forwarders: Sequence[str], before: Mapping[str, str]) -> dict[str, str]:
    """Return the forwarder of each compute node, given the names of the job's nodes and forwarders.

    Each forwarder serves equally many nodes; if the number of nodes is not divisible, the numbers differ by one. As
    many nodes as possible keep the forwarder that they have `before`. The others are divided in blocks, so that
    neighboring nodes use the same forwarder. Without forwarders, no node has one.
    """
    if not forwarders:
        return {}
    held = Counter(before.get(node) for node in nodes)
    least, more = divmod(len(nodes), len(forwarders))
    crowded = sorted(forwarders, key=lambda one: -held[one])[:more]  # these serve one node more than the others
    places = {one: least + (one in crowded) for one in forwarders}
    kept = {}
    for node in nodes:
        one = before.get(node)
        if one is not None and places.get(one, 0) > 0:
            kept[node] = one
            places[one] -= 1
    free = [one for one in forwarders for _ in range(places[one])]
    rest = dict(zip((node for node in nodes if node not in kept), free, strict=True))
    return {node: kept.get(node) or rest[node] for node in nodes}
