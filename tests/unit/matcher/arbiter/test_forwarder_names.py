# SPDX-License-Identifier: Apache-2.0
"""Test that jobs get the right number of different forwarders, and that as few as possible change."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.arbiter.forwarder_names import Names, name
from reprise.matcher.arbiter.forwarding_job import Share
from tests.examples import examples

POOL = ["f1", "f2", "f3", "f4", "f5"]


def named(numbers: Mapping[str, int], before: Names, forwarders: Sequence[str] = POOL) -> Names:
    return name({job: Share(number) for job, number in numbers.items()}, forwarders, before)


def moved(after: Names, before: Names) -> int:
    return sum(one not in before.get(job, ()) for job, names in after.items() for one in names)


def fewest_moves(numbers: Mapping[str, int], before: Names, forwarders: Sequence[str]) -> int:
    """Return the smallest number of moves by trying all ways to give each forwarder to one job or none."""
    jobs = list(numbers)
    best = 10**9
    for owners in itertools.product([None, *jobs], repeat=len(forwarders)):
        if all(owners.count(job) == numbers[job] for job in jobs):
            best = min(
                best,
                sum(
                    owner is not None and one not in before.get(owner, ())
                    for one, owner in zip(forwarders, owners, strict=True)
                ),
            )
    return best


NAMES = st.lists(st.sampled_from([*POOL, "gone"]), max_size=3)


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3),
    st.dictionaries(st.sampled_from("abcd"), NAMES, max_size=4),
)
@settings(max_examples=examples(150))
def test_each_job_has_its_number_of_working_forwarders_and_the_fewest_change(
    numbers: dict[str, int], before: dict[str, list[str]]
) -> None:
    after = named(numbers, before)
    assert {job: len(set(names)) for job, names in after.items()} == numbers
    used = Counter(itertools.chain(*after.values()))
    assert set(used) <= set(POOL)
    if sum(numbers.values()) <= len(POOL):
        assert max(used.values(), default=0) <= 1
        assert moved(after, before) == fewest_moves(numbers, before, POOL)
    else:
        kept = {job: len(set(before.get(job, ())) & set(POOL)) for job in numbers}
        assert moved(after, before) == sum(max(0, number - kept[job]) for job, number in numbers.items())


def test_a_job_keeps_its_forwarders_in_their_order() -> None:
    before = {"a": ["f4", "f1", "f3"]}
    assert named({"a": 3}, before)["a"] == ["f4", "f1", "f3"]
    assert named({"a": 2}, before)["a"] == ["f4", "f1"]
    assert named({"a": 4}, before)["a"] == ["f4", "f1", "f3", "f2"]


def test_forwarders_that_served_nobody_are_taken_before_those_of_a_job_that_ended() -> None:
    assert named({"new": 3}, {"old": ["f1", "f2", "f3"]})["new"] == ["f4", "f5", "f1"]


def test_a_forwarder_that_fails_is_replaced_and_the_others_stay() -> None:
    before = {"a": ["f1", "f2"], "b": ["f3"]}
    assert named({"a": 2, "b": 1}, before, ["f1", "f3", "f4"]) == {"a": ["f1", "f4"], "b": ["f3"]}


def test_forwarders_that_served_two_jobs_are_divided_between_them_if_there_are_enough() -> None:
    """Job a could keep f1 or f2; only f1 leaves f2 to b."""
    before = {"a": ["f2", "f1"], "b": ["f2"]}
    assert named({"a": 1, "b": 1}, before) == {"a": ["f1"], "b": ["f2"]}


def test_jobs_beyond_the_pool_go_to_the_forwarders_with_the_fewest_jobs() -> None:
    after = named({"a": 1, "b": 1, "c": 1, "d": 2}, {"a": ["f1"], "b": ["f1"]}, ["f1", "f2", "f3"])
    assert after == {"a": ["f1"], "b": ["f1"], "c": ["f2"], "d": ["f3", "f2"]}


def test_a_job_gets_no_more_forwarders_than_there_are() -> None:
    assert named({"a": 4}, {}, ["f1", "f2"]) == {"a": ["f1", "f2"]}
    assert named({"a": 4}, {"a": ["f1"]}, []) == {"a": []}


def test_the_shared_forwarder_stays_and_serves_no_other_job() -> None:
    shares = {"a": Share(2), "b": Share(0, shared=True), "c": Share(0, shared=True), "d": Share(0)}
    after = name(shares, POOL, {"a": ["f1"], "b": ["f2"]}, "f2")
    assert after == {"a": ["f1", "f3"], "b": ["f2"], "c": ["f2"], "d": []}


def test_a_new_shared_forwarder_is_one_that_no_other_job_has() -> None:
    shares = {"a": Share(4), "b": Share(0, shared=True)}
    assert name(shares, POOL, {"a": ["f1", "f2", "f3", "f5"]}) == {"a": ["f1", "f2", "f3", "f5"], "b": ["f4"]}


def test_jobs_share_the_least_used_forwarder_if_none_is_free() -> None:
    shares = {"a": Share(2), "b": Share(1), "c": Share(0, shared=True)}
    assert name(shares, ["f1", "f2"], {})["c"] == ["f2"]
    assert name(shares, [], {})["c"] == []
