# SPDX-License-Identifier: Apache-2.0
"""Test that the emulated prefetcher behaves as Robert 2021 expects for his workloads (sections 2.2 and 4.2)."""

import numpy as np
import pytest

from bench.emulators.interference import BEST_S, DEFAULT_RUN_S, PROFILES
from bench.emulators.prefetch import KIB, LUSTRE, MIB, NFS, BackEnd, Outcome, Pattern, Prefetcher, crowds, run
from bench.emulators.sro import PATTERNS, SPACE, WORKLOADS


def outcome(pattern: Pattern, setting: Prefetcher, back_end: BackEnd = LUSTRE) -> Outcome:
    offsets = pattern.offsets(seed=3)
    return run(offsets, crowds(offsets, setting.binsize, setting.sequence_length), setting, back_end)


def fastest(pattern: Pattern, settings: dict[int, Prefetcher], back_end: BackEnd) -> int:
    return min(settings, key=lambda name: outcome(pattern, settings[name], back_end).elapsed_s)


def test_the_grid_is_the_sources() -> None:
    assert len(SPACE.points) == 1920


def test_a_threshold_beyond_the_sequence_prefetches_nothing() -> None:
    one_spot = Pattern(1000, leads=1, scatter=64 * KIB)
    assert outcome(one_spot, Prefetcher(MIB, 102, MIB, 50)).loads == 0
    assert outcome(one_spot, Prefetcher(MIB, 102, MIB, 150)).loads == 1


def test_the_window_forgets_the_oldest_read() -> None:
    assert crowds([0, 0, 5, 0, 0], binsize=4, sequence_length=3) == [1, 2, 1, 2, 2]


def test_a_low_threshold_on_scattered_reads_wastes_the_back_end() -> None:
    scattered = Pattern(3000, leads=10, scatter=500 * MIB, repeat=300)
    low, high = Prefetcher(MIB, 2, 10 * MIB, 150), Prefetcher(MIB, 22, 10 * MIB, 150)
    wasteful, careful = outcome(scattered, low, NFS), outcome(scattered, high, NFS)
    assert wasteful.loads > 10 * careful.loads and wasteful.elapsed_s > 1.2 * careful.elapsed_s


def test_for_few_large_hotspots_a_prefetch_as_wide_as_they_scatter_is_best() -> None:
    hotspots = Pattern(4000, leads=4, scatter=5 * MIB, repeat=50, advance=50 * MIB)
    sizes = {size: Prefetcher(MIB, 2, size * MIB, 100) for size in range(1, 11)}
    assert fastest(hotspots, sizes, LUSTRE) in (4, 5, 6)


@pytest.mark.slow
def test_many_hotspots_need_a_sequence_that_sees_their_repeats() -> None:
    many, _ = PATTERNS["sro.2"]
    short, long = (outcome(many, Prefetcher(MIB, 2, 3 * MIB, length)) for length in (150, 750))
    assert short.hits == 0 and long.hits > len(many.offsets(1)) / 5


@pytest.mark.slow
def test_a_slower_back_end_shifts_the_optimum() -> None:
    trade_off, _ = PATTERNS["sro.3"]
    sizes = {size: Prefetcher(MIB, 2, size * MIB, 50) for size in range(1, 11)}
    assert fastest(trade_off, sizes, NFS) < fastest(trade_off, sizes, LUSTRE)


def test_a_read_is_served_from_memory_only_after_its_load_ended() -> None:
    slow = BackEnd(read_s=1.0, load_s=2.5, bandwidth=1e12, contention=0.0, memory_s=0.0)
    done = run([0] * 6, crowds([0] * 6, MIB, 50), Prefetcher(MIB, 1, MIB, 50), slow)
    assert (done.hits, done.loads, done.elapsed_s) == (3, 1, 3.0)


def test_the_oldest_load_is_dropped_when_the_memory_is_full() -> None:
    small = BackEnd(read_s=1.0, load_s=0.0, bandwidth=1e12, contention=0.0, memory=MIB)
    reads = [0, 0, 10 * MIB, 10 * MIB, 0]
    assert run(reads, [1] * 5, Prefetcher(MIB, 1, MIB, 50), small).hits == 2


def test_a_pattern_makes_the_reads_that_its_figures_say() -> None:
    offsets = Pattern(8, leads=2, scatter=MIB, repeat=2, advance=10 * MIB, file_size=100 * MIB).offsets(1)
    assert [offset // MIB for offset in offsets] == [0, 0, 50, 50, 10, 10, 60, 60]
    assert len(set(offsets)) == 8


def test_the_seed_decides_where_the_reads_are() -> None:
    point = [SPACE.points[0]]
    times = [WORKLOADS["sro.1.nfs"].run_times(point, seed) for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "seconds"), [("shift", 2.04), ("unstable", 5.65), ("impulses", 4.56)])
def test_interference_costs_a_default_run_the_published_time_on_average(profile: str, seconds: float) -> None:
    rng, clock, costs = np.random.default_rng(1), 0.0, []
    for _ in range(20_000):
        costs.append(PROFILES[profile].cost(clock, DEFAULT_RUN_S, BEST_S, rng))
        clock += DEFAULT_RUN_S
    assert np.mean(costs) == pytest.approx(seconds, rel=0.1)
    usually = np.median(costs)
    if profile == "shift":
        assert np.std(costs) < 0.2 * usually
    elif profile == "unstable":
        assert min(costs) > 0 and np.std(costs) > 0.5 * usually
    else:
        assert usually == 0 and max(costs) > 10 * seconds
