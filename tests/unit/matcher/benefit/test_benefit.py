# SPDX-License-Identifier: Apache-2.0
"""Test how a block is divided into jobs with settings and held-out jobs, and how the jobs show harm and gains."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from reprise.database.entities import Compared, Scope
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.harm_test import (
    DOUBT,
    FAILING,
    JOBS_FIRST,
    JOBS_FIRST_OFTEN_WRONG,
    LIMIT,
    PAIRS_FIRST,
    SLOWER,
    Evidence,
    Run,
)
from reprise.matcher.benefit.production_gain import Block, Gain, gain
from reprise.matcher.decision.holdout_blocks import OPEN_BLOCKS, Blocks, Place, pattern
from reprise.matcher.decision.like_jobs import like


def rng(seed: int = 1) -> random.Random:
    return random.Random(seed)  # noqa: S311 - not used for security


def takes(noise: random.Random, effect: float = 0.0) -> Run:
    return Run(100 * math.exp(noise.gauss(effect, 0.05)))


# -- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "in_doubt", "held", "size"),
    [(0.1, False, 1, 10), (0.1, True, 1, 2), (0.5, False, 1, 2), (0.9, False, 9, 10), (0.9, True, 9, 10)],
)  # fmt: skip
def test_a_block_has_one_job_of_the_rarer_kind(share: float, in_doubt: bool, held: int, size: int) -> None:
    one = pattern(share, in_doubt=in_doubt, rng=rng())
    assert (sum(one), len(one)) == (held, size)


@pytest.mark.parametrize("share", [0.05, 0.15, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.95])
def test_the_configured_share_of_jobs_is_held_out(share: float) -> None:
    source = rng()
    dealt = [held for _ in range(4000) for held in pattern(share, in_doubt=False, rng=source)]
    assert sum(dealt) / len(dealt) == pytest.approx(share, abs=0.01)


def test_the_oldest_open_blocks_are_abandoned_when_there_are_too_many() -> None:
    blocks = Blocks(rng())
    for number in range(OPEN_BLOCKS + 5):
        blocks.place(1001, number, str(number), 0.5, in_doubt=False)
    assert blocks.place(1001, 5, "new", 0.5, in_doubt=False).block == "5"
    assert blocks.place(1001, 0, "new", 0.5, in_doubt=False).block == "new"


def test_jobs_are_compared_on_equal_node_counts_or_else_with_equal_task_counts() -> None:
    def of(scope: Scope = Scope.APPLICATION, **changes: object) -> object:
        return like(scope, **{"nodes": 4, "tasks": 8, "application": "a", **changes})  # type: ignore[arg-type]

    assert of() == of(tasks=16, application="b") != of(nodes=2)
    assert of(nodes=None) != of(nodes=None, tasks=16) and of(nodes=None) != of()
    cluster = of(Scope.CLUSTER)
    assert cluster != of(Scope.CLUSTER, application="b")


def test_held_out_jobs_are_chosen_at_random() -> None:
    source = rng()
    places = Counter(pattern(0.25, in_doubt=False, rng=source).index(True) for _ in range(4000))
    assert set(places) == {0, 1, 2, 3} and all(900 < count < 1100 for count in places.values())


def test_jobs_of_a_key_fill_a_block_before_the_next_begins() -> None:
    blocks = Blocks(rng())
    places = [blocks.place(1001, "a" if number % 2 else "b", str(number), 0.25, in_doubt=False) for number in range(16)]
    for key in (0, 1):
        mine = places[key::2]
        assert [place.block for place in mine] == [str(key)] * 4 + [str(key + 8)] * 4
        assert [sum(place.held_out for place in mine[half : half + 4]) for half in (0, 4)] == [1, 1]
    assert len({place.block for place in places}) == 4
    assert blocks.place(1001, "a", "x", 0.25, in_doubt=True) in (
        Place("x", 2, held_out=False),
        Place("x", 2, held_out=True),
    )


# -- evidence --------------------------------------------------------------------------------------------------------


def pairs(evidence: Evidence, count: int, effect: float, seed: int = 1) -> int:
    """Return the number of blocks after which harm is proved, or 0 if `count` blocks do not prove harm.

    Each block has one job with the settings and one without. `effect` is the settings' mean effect on the logarithm of
    the run time.
    """
    noise = rng(seed)
    for number in range(1, count + 1):
        evidence.add([takes(noise, effect)], [takes(noise)])
        if evidence.verdict:
            return number
    return 0


def test_ten_percent_slower_is_proved_within_thirty_jobs() -> None:
    found = [pairs(Evidence(), 30, math.log(1.1), seed) for seed in range(100)]
    assert sum(map(bool, found)) >= 95


def test_ten_percent_slower_is_proved_where_one_job_in_ten_gets_the_settings() -> None:
    found = []
    for seed in range(100):
        evidence, noise = Evidence(), rng(seed)
        while not evidence.verdict and evidence.blocks < 30:
            evidence.add([takes(noise, math.log(1.1))], [takes(noise) for _ in range(9)])
        found.append(bool(evidence.verdict))
    assert sum(found) >= 95


def test_a_gain_is_never_judged_harmful_and_no_change_only_rarely() -> None:
    assert not any(pairs(Evidence(), 300, -0.1, seed) for seed in range(20))
    assert sum(bool(pairs(Evidence(), 100, 0.0, seed)) for seed in range(100)) <= 10, (
        f"harm is found by mistake; in the long run, in one case in {LIMIT:g}"
    )


def test_a_cluster_that_gets_slower_for_all_is_no_evidence() -> None:
    evidence, noise = Evidence(), rng()
    for number in range(500):
        slower = number / 100
        evidence.add([takes(noise, slower - 0.1)], [takes(noise, slower)])
    assert evidence.verdict == "" and not evidence.in_doubt(1000)


def test_harm_is_found_after_years_of_gain() -> None:
    evidence = Evidence()
    assert pairs(evidence, 2000, -0.2) == 0
    assert 0 < pairs(evidence, 40, 0.2, seed=2) <= 40 and evidence.verdict == SLOWER


def test_failures_only_with_the_settings_prove_harm() -> None:
    evidence = Evidence()
    while not evidence.verdict and evidence.blocks < 30:
        evidence.add([Run(1.0, failed=True)], [Run(100.0)])
    assert evidence.verdict == FAILING and evidence.blocks <= 8
    assert evidence.slower == 1.0, "a failed job's run time does not count"


def test_failures_with_and_without_the_settings_prove_nothing() -> None:
    evidence, noise = Evidence(), rng()
    for _ in range(1000):
        evidence.add([Run(1.0, failed=noise.random() < 0.3)], [Run(1.0, failed=noise.random() < 0.3)])
    assert evidence.verdict == ""


def test_a_large_block_counts_its_single_job_against_each_of_the_others() -> None:
    evidence = Evidence()
    for _ in range(30):
        evidence.add([Run(11.0)] * 9, [Run(10.0)])
    assert evidence.verdict == SLOWER


def test_a_record_is_in_doubt_until_enough_jobs_were_compared_and_when_it_looks_harmful() -> None:
    evidence = Evidence()
    assert evidence.in_doubt(JOBS_FIRST - 1)
    assert not evidence.in_doubt(JOBS_FIRST), "not in doubt, although no job's end was reported"
    assert evidence.in_doubt(JOBS_FIRST_OFTEN_WRONG - 1, often_wrong=True), (
        "records that are often wrong need more jobs"
    )
    assert not evidence.in_doubt(JOBS_FIRST_OFTEN_WRONG, often_wrong=True)
    pairs(evidence, PAIRS_FIRST, -0.3)
    assert not evidence.in_doubt(2 * PAIRS_FIRST) and not evidence.in_doubt(2 * PAIRS_FIRST, often_wrong=True)
    while evidence.slower < DOUBT:
        evidence.add([Run(13.0)], [Run(10.0)])
    assert evidence.in_doubt(1000) and not evidence.verdict


def test_half_a_block_is_no_evidence() -> None:
    evidence = Evidence()
    evidence.add([Run(1.0)], [])
    evidence.add([], [Run(1.0)])
    assert evidence.blocks == 0


def test_runs_of_zero_seconds_and_equal_runs_count() -> None:
    evidence = Evidence()
    for _ in range(50):
        evidence.add([Run(0.0)], [Run(0.0)])
    assert (evidence.blocks, evidence.verdict, evidence.slower) == (50, "", 1.0)


# -- gains -----------------------------------------------------------------------------------------------------------


def run_time(noise: random.Random, effect: float = 0.0) -> float:
    """Return a random run time in seconds; 5 % are outliers, which would dominate a mean."""
    return 100 * math.exp(noise.gauss(effect, 0.05) + (noise.expovariate(1) if noise.random() < 0.05 else 0.0))


def block(noise: random.Random, given: int, held_out: int, gained: float = 0.2, slower: float = 0.0) -> Block:
    """Return the run times of held-out jobs and of jobs with settings that save the fraction `gained` of the time.

    `slower` is added to the logarithms of all run times.
    """
    effect = math.log(1 - gained)
    return (
        [run_time(noise, effect + slower) for _ in range(given)],
        [run_time(noise, slower) for _ in range(held_out)],
    )


@pytest.mark.slow
def test_the_interval_contains_the_true_gain_nineteen_times_in_twenty() -> None:
    """The cluster gets slower during the test, and the share of held-out jobs falls from one half to one tenth."""
    covered = 0
    for seed in range(300):
        noise = rng(seed)
        pairs = [block(noise, 1, 1, slower=number / 100) for number in range(20)]
        found = gain([*pairs, *(block(noise, 9, 1, slower=0.2 + number / 100) for number in range(10))])
        assert found.low is not None and found.high is not None
        covered += found.low <= 0.2 <= found.high
    assert 0.92 <= covered / 300 <= 0.98


def test_a_cluster_that_gets_slower_while_fewer_jobs_are_held_out_shows_no_gain() -> None:
    """Jobs with settings mostly ran late, when all jobs were slow, so their mean time is longer (Simpson's paradox)."""
    noise = rng()
    pairs = [block(noise, 1, 1, gained=0.0) for _ in range(30)]
    found = gain([*pairs, *(block(noise, 9, 1, gained=0.0, slower=0.5) for _ in range(30))])
    assert found.gain == pytest.approx(0.0, abs=0.03)


def test_large_and_small_jobs_are_compared_among_themselves() -> None:
    noise = rng()
    small = [block(noise, 1, 5) for _ in range(20)]
    found = gain([*small, *(block(noise, 9, 1, slower=2.0) for _ in range(20))])
    assert found.gain == pytest.approx(0.2, abs=0.03)
    assert (found.given, found.held_out) == (200, 120)


def test_too_few_jobs_give_no_gain() -> None:
    assert gain([([1.0 + number], [2.0 + 2 * number]) for number in range(3)]) == Gain(None, None, None, 3, 3)
    assert gain([]) == Gain(None, None, None, 0, 0)
    assert gain([([1.0] * 9, []), ([], [1.0] * 9)]) == Gain(None, None, None, 0, 0)


def test_equal_run_times_gain_nothing() -> None:
    found = gain([([5.0] * 4, [5.0])] * 10)
    assert all(bound == pytest.approx(0, abs=1e-6) for bound in (found.gain, found.low, found.high))


def test_only_jobs_that_ended_without_failure_count_in_a_block() -> None:
    def one(number: int, held_out: bool, seconds: float | None, failed: bool | None = False) -> Compared:
        return Compared(1001, "b", 4, f"d{number}", float(number), 2, held_out, seconds, failed)

    runs = [one(1, False, 7.0), one(2, True, 10.0), one(3, False, None, None), one(4, False, 1.0, True)]
    found = record_benefit.production(runs, 5.0)
    assert (found["given"], found["held_out"]) == (1, 1) and found["by_nodes"][0]["nodes"] == 2
    assert (found["ended"], found["failed"]) == ({"given": 2, "held_out": 1}, {"given": 1, "held_out": 0})
    assert found["blocks"] == 0, "a job of the block may still be running"
    assert record_benefit.production(runs, 3.0 + record_benefit.WAIT_S)["blocks"] == 1
    assert record_benefit.production(runs[:2], 1.0 + record_benefit.FILL_S - 1)["blocks"] == 0, (
        "the block may still get more jobs"
    )
    assert record_benefit.production(runs[:2], 1.0 + record_benefit.FILL_S)["blocks"] == 1
