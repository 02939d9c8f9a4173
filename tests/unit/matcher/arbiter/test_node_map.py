# SPDX-License-Identifier: Apache-2.0
"""Test that forwarders serve equally many nodes, and that as few nodes as possible change."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.arbiter.node_map import map_nodes
from tests.examples import examples

NODES = [f"n{number}" for number in range(1, 9)]


def test_neighboring_nodes_of_a_new_job_use_the_same_forwarder() -> None:
    assert list(map_nodes(NODES, ["f1", "f2"], {}).values()) == ["f1"] * 4 + ["f2"] * 4


def test_half_of_the_nodes_change_if_the_number_of_forwarders_doubles() -> None:
    before = map_nodes(NODES, ["f1", "f2"], {})
    after = map_nodes(NODES, ["f1", "f2", "f3", "f4"], before)
    assert sum(before[node] != after[node] for node in NODES) == 4
    assert set(Counter(after.values()).values()) == {2}


def test_only_nodes_of_a_forwarder_that_fails_change() -> None:
    before = map_nodes(NODES, ["f1", "f2"], {})
    after = map_nodes(NODES, ["f1", "f3"], before)
    assert [node for node in NODES if before[node] != after[node]] == NODES[4:]


def test_without_forwarders_no_node_has_one() -> None:
    assert map_nodes(NODES, [], {"n1": "f1"}) == {}


@given(
    st.integers(0, 5),
    st.lists(st.sampled_from(["f1", "f2", "f3"]), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(NODES), st.sampled_from(["f1", "f2", "f3", "gone"])),
)
@settings(max_examples=examples(100))
def test_a_map_is_balanced_and_keeps_as_much_as_any_balanced_map(
    count: int, forwarders: list[str], before: dict[str, str]
) -> None:
    nodes = NODES[:count]
    after = map_nodes(nodes, forwarders, before)
    assert list(after) == nodes

    def is_balanced(names: tuple[str, ...]) -> bool:
        used = [names.count(one) for one in forwarders]
        return max(used) - min(used) <= 1

    assert is_balanced(tuple(after.values()))
    kept = sum(before.get(node) == one for node, one in after.items())
    assert kept == max(
        sum(before.get(node) == one for node, one in zip(nodes, names, strict=True))
        for names in itertools.product(forwarders, repeat=count)
        if is_balanced(names)
    )
