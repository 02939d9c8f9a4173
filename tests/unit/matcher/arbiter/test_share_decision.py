# SPDX-License-Identifier: Apache-2.0
"""Test decisions over time: when the policy is invoked, and which running jobs change forwarders."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.arbiter.forwarder_options import respects_floor
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Job, Pool, Share, fits
from reprise.matcher.arbiter.remap_cost import RemapCost
from reprise.matcher.arbiter.share_decision import Decision, State, decide, must_decide
from tests.examples import examples
from tests.unit.matcher.arbiter.arbiter_values import job, numbers

POOL = Pool(8, 64)
NAMES = [f"f{number}" for number in range(1, 9)]
STEEP = {0: 10.0, 1: 20.0, 2: 40.0, 4: 80.0, 8: 160.0}
FLATTER = {0: 10.0, 4: 100.0, 8: 150.0}
EMPTY = State()
COST = RemapCost(pause_seconds=10, settle_seconds=100)


def decided(
    running: Sequence[Job],
    before: State = EMPTY,
    policy: Policy = Policy.MCKP,
    now: float = 0.0,
    pool: Pool = POOL,
    names: Sequence[str] = NAMES,
    cost: RemapCost = COST,
) -> Decision:
    return decide(policy, running, pool, names, before, now, cost)


def counts(decision: Decision) -> dict[str, int]:
    found = {name: len(names) for name, names in decision.state.names.items()}
    assert found == numbers(decision.state.shares)
    return found


# --- when to decide


def test_the_policy_is_invoked_if_a_job_ends_and_the_next_one_does_not_fit() -> None:
    running = [job("a", STEEP), job("b", STEEP)]
    state = decided(running).state
    assert not must_decide(state, running, NAMES)
    assert must_decide(state, running[:1], NAMES)
    assert counts(decided(running[:1], state)) == {"a": 8}


def test_the_policy_is_invoked_if_a_job_starts_or_the_forwarders_change() -> None:
    state = decided([job("a", STEEP)]).state
    assert must_decide(state, [job("a", STEEP), job("b", STEEP)], NAMES)
    assert must_decide(state, [job("a", STEEP)], NAMES[1:])
    assert must_decide(State(), [], NAMES)


# --- STATIC and the other formulas


def test_static_never_changes_running_jobs() -> None:
    a, b = job("a", STEEP, nodes=32), job("b", STEEP, nodes=16)
    first = decided([a, b], policy=Policy.STATIC)
    assert counts(first) == {"a": 4, "b": 2}
    second = decided([b, job("c", STEEP, nodes=8)], first.state, Policy.STATIC)
    assert counts(second) == {"b": 2, "c": 1}
    assert second.state.names["b"] == first.state.names["b"]
    assert not second.changed
    third = decided([b], second.state, Policy.STATIC, pool=Pool(8, 16))  # a smaller system: STATIC would now give 8
    assert counts(third) == {"b": 2}
    assert not third.changed


def test_static_replaces_a_forwarder_that_fails() -> None:
    a = job("a", STEEP, nodes=32)
    first = decided([a], policy=Policy.STATIC)
    second = decided([a], first.state, Policy.STATIC, names=NAMES[1:])
    assert second.state.names["a"] == ["f2", "f3", "f4", "f5"]
    assert second.changed == ["a"]


def test_size_changes_running_jobs_as_its_formula_says() -> None:
    first = decided([job("a", STEEP)], policy=Policy.SIZE)
    second = decided([job("a", STEEP), job("b", STEEP)], first.state, Policy.SIZE)
    assert (counts(first), counts(second), second.changed) == ({"a": 8}, {"a": 4, "b": 4}, ["a"])


# --- a change must pay for itself


def flat_then_steep(seconds_left: float) -> Decision:
    """Give a all forwarders, then start b, which would gain 8 MB/s more than a loses if a gave up 4 forwarders."""
    a = job("a", {0: 10.0, 4: 96.0, 8: 100.0}, seconds_left=seconds_left)
    first = decided([a])
    assert counts(first) == {"a": 8}
    return decided([a, job("b", {0: 10.0, 4: 22.0})], first.state)


def test_a_running_job_is_changed_if_the_gain_exceeds_the_cost() -> None:
    """At 121 s a change costs a 96 x 10 / 121 = 7.93 MB/s, and at 119 s 8.07 MB/s; b gains 8 MB/s more than a loses."""
    assert counts(flat_then_steep(121)) == {"a": 4, "b": 4}
    kept = flat_then_steep(119)
    assert counts(kept) == {"a": 8, "b": 0}
    assert not kept.changed


def test_a_job_at_its_end_is_not_changed() -> None:
    for left in (0.1, 5.0, 10.0):
        assert counts(flat_then_steep(left)) == {"a": 8, "b": 0}


def test_the_remaining_run_time_is_assumed_if_it_is_unknown() -> None:
    a = job("a", {0: 10.0, 4: 96.0, 8: 100.0})
    assert counts(decided([a, job("b", {0: 10.0, 4: 22.0})], decided([a]).state)) == {"a": 4, "b": 4}


def test_a_job_that_runs_for_longer_than_expected_can_still_be_changed() -> None:
    for left in (0.0, -5000.0):
        assert counts(flat_then_steep(left)) == {"a": 4, "b": 4}


def test_a_job_keeps_forwarders_that_nobody_needs_even_if_fewer_are_as_fast() -> None:
    a = job("a", {0: 10.0, 2: 50.0, 4: 50.0})
    held = State({"a": Share(4)}, {"a": NAMES[:4]}, forwarders=tuple(NAMES))
    assert counts(decided([a], held)) == {"a": 4}
    assert counts(decided([a, job("b", {0: 1.0, 2: 20.0, 4: 40.0, 8: 80.0})], held)) == {"a": 4, "b": 4}
    full = decided([a, job("b", {0: 1.0, 4: 40.0}), job("c", {0: 1.0, 2: 30.0})], held)
    assert counts(full) == {"a": 2, "b": 4, "c": 2}


def test_a_job_whose_forwarders_prove_slower_than_direct_access_loses_them() -> None:
    """The floor holds whatever the change costs, for instance after new measurements."""
    held = State({"a": Share(2)}, {"a": NAMES[:2]}, forwarders=tuple(NAMES))
    assert counts(decided([job("a", {0: 50.0, 2: 49.0}, seconds_left=5)], held)) == {"a": 0}


def test_short_jobs_that_come_and_go_change_a_long_job_at_most_once_in_the_settling_time() -> None:
    state, changes = State(), []
    long = job("long", STEEP, seconds_left=100_000)
    for second in range(400):
        short = job(f"short {second}", {0: 1.0, 8: 5000.0}, seconds_left=1)
        running = [long, short] if second % 2 else [long]
        decision = decided(running, state, now=float(second))
        state = decision.state
        changes += [second] if "long" in decision.changed else []
    assert 2 <= len(changes) <= 5
    assert all(after - before >= 100 for before, after in itertools.pairwise(changes))


def test_a_decision_says_when_a_job_that_was_kept_may_change_again() -> None:
    a, b = job("a", FLATTER, seconds_left=10_000), job("b", FLATTER, seconds_left=10_000)
    second = decided([a, b], decided([a]).state, now=50)
    assert second.changed == ["a"]
    third = decided([a], second.state, now=60)
    assert (counts(third), third.again_at) == ({"a": 4}, 150)
    fourth = decided([a], third.state, now=150)
    assert (counts(fourth), fourth.again_at) == ({"a": 8}, None)


def test_changes_in_the_future_of_a_clock_that_was_set_back_are_ignored() -> None:
    a, b = job("a", FLATTER, seconds_left=10_000), job("b", FLATTER, seconds_left=10_000)
    second = decided([a, b], decided([a]).state, now=5000)
    third = decided([a], second.state, now=60)
    assert (counts(third), third.again_at) == ({"a": 8}, None)


def test_a_job_that_was_just_changed_changes_again_if_otherwise_nothing_fits() -> None:
    pool = Pool(8, 64, direct=False)
    a = job("a", STEEP, seconds_left=10_000)
    held = State({"a": Share(8)}, {"a": NAMES}, changed_at={"a": 0.0}, forwarders=tuple(NAMES))
    found = decided([a, job("b", {4: 10.0})], held, now=1.0, pool=pool)
    assert (counts(found), found.infeasible) == ({"a": 4, "b": 4}, "")


# --- jobs that cannot change, and sets that do not fit


@pytest.mark.parametrize("policy", list(Policy))
def test_a_job_without_a_client_never_gets_forwarders(policy: Policy) -> None:
    one = job("a", STEEP, has_client=False)
    first = decided([one], policy=policy)
    second = decided([one, job("b", STEEP)], first.state, policy)
    assert counts(first) == {"a": 0}
    assert counts(second)["a"] == 0
    assert not second.changed


def test_a_job_without_a_client_takes_nothing_from_others() -> None:
    """With three jobs and two forwarders, one would be reserved for sharing."""
    jobs = [job("a", STEEP), job("b", STEEP, has_client=False), job("c", STEEP)]
    found = decided(jobs, pool=Pool(2, 64, direct=False), names=NAMES[:2])
    assert counts(found) == {"a": 1, "b": 0, "c": 1}
    assert counts(decided(jobs, policy=Policy.SIZE)) == {"a": 4, "b": 0, "c": 4}


def test_if_nothing_fits_the_jobs_that_started_last_get_direct_access() -> None:
    a, b, c = job("a", {8: 100.0}), job("b", {8: 300.0}), job("c", {0: 5.0, 1: 7.0})
    first = decided([a])
    second = decided([a, b, c], first.state)
    assert "need 16 forwarders" in second.infeasible
    assert second.left_out == ["b"]
    assert counts(second) == {"a": 8, "b": 0, "c": 0}
    assert not second.changed


def test_if_nothing_fits_the_rest_of_the_pool_is_still_shared_out() -> None:
    jobs = [job("a", {4: 100.0}), job("b", {0: 10.0, 4: 60.0}), job("c", {8: 300.0})]
    found = decided(jobs)
    assert found.infeasible
    assert (counts(found), found.left_out) == ({"a": 4, "b": 4, "c": 0}, ["c"])


def test_if_nothing_fits_no_job_stays_below_its_floor() -> None:
    held = State({"a": Share(2)}, {"a": NAMES[:2]}, forwarders=tuple(NAMES))
    found = decided([job("a", {0: 50.0, 2: 40.0}), job("b", {8: 1.0}), job("c", {8: 1.0})], held)
    assert found.infeasible
    assert counts(found) == {"a": 0, "b": 8, "c": 0}


def test_if_no_forwarder_is_left_jobs_get_direct_access() -> None:
    a = job("a", STEEP)
    found = decided([a], decided([a]).state, names=[])
    assert (counts(found), found.changed, found.infeasible) == ({"a": 0}, ["a"], "")


def test_if_no_forwarder_is_left_and_there_is_no_direct_access_the_reason_is_reported() -> None:
    pool = Pool(8, 64, direct=False)
    a = job("a", STEEP)
    found = decided([a, job("b", STEEP)], decided([a], pool=pool).state, pool=pool, names=[])
    assert "no forwarder" in found.infeasible
    assert found.state.names == {"a": [], "b": []}
    back = decided([a, job("b", STEEP)], found.state, pool=pool)
    assert (counts(back), back.infeasible) == ({"a": 4, "b": 4}, "")


def test_jobs_return_from_sharing_when_forwarders_become_free() -> None:
    pool = Pool(2, 64, direct=False)
    names = NAMES[:2]
    jobs = [job(name, {1: 10.0 * number}, seconds_left=1000) for number, name in enumerate("abc", 1)]
    first = decided(jobs, pool=pool, names=names)
    assert [share.shared for share in first.state.shares.values()] == [True, True, False]
    assert first.state.shared == first.state.names["a"][0] != first.state.names["c"][0]
    second = decided(jobs[:2], first.state, pool=pool, names=names)
    assert not any(share.shared for share in second.state.shares.values())
    assert sorted(names for held in second.state.names.values() for names in held) == names


def test_the_state_after_a_restart_is_kept() -> None:
    """A new arbiter that gets the state of the last one changes nothing."""
    running = [job("a", STEEP), job("b", STEEP), job("c", {0: 30.0, 1: 20.0})]
    first = decided(running)
    again = decided(running, first.state)
    assert again.state == first.state
    assert not again.changed


# --- any sequence of events

CURVES = st.none() | st.dictionaries(st.sampled_from([0, 1, 2, 3, 4, 8]), st.floats(1, 1000), min_size=1, max_size=5)
STARTS = st.tuples(CURVES, st.sampled_from([1, 4, 8, 12]), st.none() | st.floats(0, 1000), st.booleans())
EVENTS = st.lists(st.one_of(STARTS, st.integers(0, 5)), max_size=12)


@given(EVENTS, st.booleans(), st.integers(0, 8), st.data())
@settings(max_examples=examples(150))
def test_after_any_events_every_job_has_a_possible_share(
    events: list[tuple[dict[int, float] | None, int, float | None, bool] | int],
    direct: bool,
    forwarders: int,
    data: st.DataObject,
) -> None:
    state, running = State(), list[Job]()
    pool = Pool(8, 64, direct=direct)
    for second, event in enumerate(events):
        if isinstance(event, int):
            del running[event : event + 1]
        else:
            curve, nodes, left, has_client = event
            running.append(job(f"job {second}", curve, nodes, left, has_client or not direct))
        names = NAMES[: data.draw(st.sampled_from([forwarders, 8]))]
        found = decided(running, state, now=20.0 * second, pool=pool, names=names)
        check_shares(running, found, replace(pool, forwarders=len(names)), names)
        assert decided(running, found.state, now=20.0 * second, pool=pool, names=names).changed == []
        state = found.state


def check_shares(running: Sequence[Job], found: Decision, pool: Pool, names: Sequence[str]) -> None:
    state = found.state
    assert list(state.shares) == list(state.names) == [one.id for one in running]
    used = Counter(one for held in state.names.values() for one in held)
    assert set(used) <= set(names)
    assert bool(found.infeasible) <= (bool(found.left_out) or not names)
    if found.infeasible and not pool.direct:  # no forwarder works
        return
    shared = {state.shared} if state.shared else set()
    assert all(count == 1 for one, count in used.items() if one not in shared)
    for one in running:
        share, held = state.shares[one.id], state.names[one.id]
        assert len(held) == ((share.shared and bool(names)) or share.forwarders)
        assert one.has_client or not held
        if share.forwarders:
            assert fits(share.forwarders, one, pool)
            assert respects_floor(one, pool, share.forwarders)
        elif not share.shared and one.has_client:
            assert pool.direct
        if share.shared and names:
            assert held == [state.shared]
