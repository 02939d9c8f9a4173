# SPDX-License-Identifier: Apache-2.0
"""Blocks, evidence and gains: chance is fair, harm is found, and no harm is not."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from matcher.benefit.blocks import Blocks, pattern
from matcher.benefit.evidence import DOUBT, FAILING, LIMIT, PAIRS_FIRST, SLOWER, Evidence, Run
from matcher.benefit.gain import Gain, gain


def rng(seed: int = 1) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a simulation


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


def test_who_is_held_out_is_chance() -> None:
    source = rng()
    places = Counter(pattern(0.25, in_doubt=False, rng=source).index(True) for _ in range(4000))
    assert set(places) == {0, 1, 2, 3} and all(900 < count < 1100 for count in places.values())


def test_jobs_of_a_key_fill_a_block_before_the_next_begins() -> None:
    blocks = Blocks(rng())
    places = [blocks.place("a" if number % 2 else "b", str(number), 0.25, in_doubt=False) for number in range(16)]
    for key in (0, 1):
        mine = places[key::2]
        assert [place.block for place in mine] == [str(key)] * 4 + [str(key + 8)] * 4
        assert [sum(place.held_out for place in mine[half : half + 4]) for half in (0, 4)] == [1, 1]
    assert blocks.open() == []
    assert blocks.place("a", "x", 0.25, in_doubt=True).block == "x" and blocks.open() == ["x"]


# -- evidence --------------------------------------------------------------------------------------------------------


def pairs(evidence: Evidence, count: int, effect: float, seed: int = 1) -> int:
    """Blocks until something is proved; 0: nothing was."""
    noise = rng(seed)
    for number in range(1, count + 1):
        evidence.add([takes(noise, effect)], [takes(noise)])
        if evidence.verdict:
            return number
    return 0


def test_ten_percent_slower_is_proved_within_thirty_jobs() -> None:
    found = [pairs(Evidence(), 30, math.log(1.1), seed) for seed in range(100)]
    assert sum(map(bool, found)) >= 95


def test_so_it_is_where_a_site_begins_with_one_job_in_ten() -> None:
    found = []
    for seed in range(100):
        evidence, noise = Evidence(), rng(seed)
        while not evidence.verdict and evidence.blocks < 30:
            evidence.add([takes(noise, math.log(1.1))], [takes(noise) for _ in range(9)])
        found.append(bool(evidence.verdict))
    assert sum(found) >= 95


def test_what_gains_is_not_set_aside_and_what_changes_nothing_hardly_ever() -> None:
    assert not any(pairs(Evidence(), 300, -0.1, seed) for seed in range(20))
    assert sum(bool(pairs(Evidence(), 100, 0.0, seed)) for seed in range(100)) <= 10, f"one in {LIMIT:g} later on"


def test_a_cluster_that_gets_slower_for_all_is_no_evidence() -> None:
    evidence, noise = Evidence(), rng()
    for number in range(500):
        slower = number / 100
        evidence.add([takes(noise, slower - 0.1)], [takes(noise, slower)])
    assert evidence.verdict == "" and not evidence.in_doubt


def test_harm_is_found_after_years_of_gain() -> None:
    evidence = Evidence()
    assert pairs(evidence, 2000, -0.2) == 0
    assert 0 < pairs(evidence, 40, 0.2, seed=2) <= 40 and evidence.verdict == SLOWER


def test_jobs_that_fail_with_the_settings_only_are_proof() -> None:
    evidence = Evidence()
    while not evidence.verdict and evidence.blocks < 30:
        evidence.add([Run(1.0, failed=True)], [Run(100.0)])
    assert evidence.verdict == FAILING and evidence.blocks <= 8
    assert evidence.slower == 1.0, "how long a failed job took says nothing"


def test_jobs_that_fail_either_way_are_none() -> None:
    evidence, noise = Evidence(), rng()
    for _ in range(1000):
        evidence.add([Run(1.0, failed=noise.random() < 0.3)], [Run(1.0, failed=noise.random() < 0.3)])
    assert evidence.verdict == ""


def test_a_large_block_counts_its_single_job_against_each_of_the_others() -> None:
    evidence = Evidence()
    for _ in range(30):
        evidence.add([Run(11.0)] * 9, [Run(10.0)])
    assert evidence.verdict == SLOWER


def test_a_record_is_in_doubt_until_it_has_shown_itself_and_when_it_looks_harmful() -> None:
    evidence = Evidence()
    assert evidence.in_doubt
    pairs(evidence, PAIRS_FIRST, -0.3)
    assert not evidence.in_doubt
    while evidence.slower < DOUBT:
        evidence.add([Run(13.0)], [Run(10.0)])
    assert evidence.in_doubt and not evidence.verdict


def test_half_a_block_says_nothing() -> None:
    evidence = Evidence()
    evidence.add([Run(1.0)], [])
    evidence.add([], [Run(1.0)])
    assert evidence.blocks == 0


def test_runs_that_take_no_time_at_all_and_equal_ones_are_taken() -> None:
    evidence = Evidence()
    for _ in range(50):
        evidence.add([Run(0.0)], [Run(0.0)])
    assert (evidence.blocks, evidence.verdict, evidence.slower) == (50, "", 1.0)


# -- gains -----------------------------------------------------------------------------------------------------------


def times(noise: random.Random, count: int, effect: float, scale: float = 1.0) -> list[float]:
    """With 5 % of spikes, which the mean would follow."""
    return [
        scale * math.exp(noise.gauss(effect, 0.05) + (noise.expovariate(1) if noise.random() < 0.05 else 0.0))
        for _ in range(count)
    ]


def test_the_interval_holds_the_truth_nineteen_times_in_twenty() -> None:
    covered = 0
    for seed in range(300):
        noise = rng(seed)
        found = gain([(times(noise, 60, -0.2), times(noise, 20, 0.0))])
        assert found.low is not None and found.high is not None
        covered += found.low <= 1 - math.exp(-0.2) <= found.high
    assert 0.93 <= covered / 300 <= 0.98


def test_strata_are_compared_within_themselves() -> None:
    """Simpson: most jobs that were given settings are large ones."""
    noise = rng()
    small = times(noise, 20, -0.2), times(noise, 100, 0.0)
    large = times(noise, 200, -0.2, 10.0), times(noise, 20, 0.0, 10.0)
    found = gain([small, large])
    assert found.gain == pytest.approx(1 - math.exp(-0.2), abs=0.03)
    mixed = gain([([*small[0], *large[0]], [*small[1], *large[1]])])
    assert mixed.gain is not None and mixed.gain < -1


def test_too_few_jobs_say_nothing() -> None:
    assert gain([([1.0] * 100, [1.0] * 3)]) == Gain(None, None, None, 100, 3)
    assert gain([]) == Gain(None, None, None, 0, 0)
    assert gain([([1.0] * 9, []), ([], [1.0] * 9)]) == Gain(None, None, None, 0, 0)


def test_equal_run_times_gain_nothing() -> None:
    found = gain([([5.0] * 10, [5.0] * 10)])
    assert all(bound == pytest.approx(0, abs=1e-6) for bound in (found.gain, found.low, found.high))
