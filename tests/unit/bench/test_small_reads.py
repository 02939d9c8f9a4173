# SPDX-License-Identifier: Apache-2.0
"""Test, with invented run times, how measurements of small reads are scheduled, and how landscapes are stored."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from bench import small_reads
from bench.emulators.sro import DEFAULT
from bench.small_reads import PATTERNS, Run, SmallReadsError, cold_run, make_cold
from bench.sro import disk_landscapes
from bench.sro import patterns as sro_patterns
from bench.sro.disk_landscapes import DEFAULT_RUN, EXTRA, FULL, NONE, REDUCED, assemble, measure, schedule, told
from bench.sro.patterns import WAYS
from reprise.tuner.model.landscape import load
from reprise.tuner.model.space import Parametrization

POINTS = len(REDUCED.points)


def rng() -> Random:
    return Random(1)  # noqa: S311 - not used for security


def seconds(_: str, setting: Parametrization | None) -> float:
    if setting is None:
        return 2.0
    return 1.5 if setting == DEFAULT else 1 + REDUCED.points.index(setting) / POINTS


def test_the_full_grid_is_that_of_the_thesis_and_the_reduced_grid_is_a_part_of_it() -> None:
    assert len(FULL.points) == 1920 and POINTS == 54
    wide = {one.name: set(one.values) for one in FULL.parameters}
    assert all(set(one.values) <= wide[one.name] for one in REDUCED.parameters)


def test_a_repetition_has_every_point_of_every_pattern_once_mixed() -> None:
    tasks = schedule(PATTERNS, POINTS, rng())
    counts = Counter(tasks)
    assert all(counts[pattern, index] == 1 for pattern in PATTERNS for index in range(POINTS))
    assert all(counts[pattern, index] == EXTRA for pattern in PATTERNS for index in (NONE, DEFAULT_RUN))
    assert tasks != sorted(tasks) and len({pattern for pattern, _ in tasks[:20]}) == len(PATTERNS)


def test_measurements_read_back_from_the_file(tmp_path: Path) -> None:
    found = measure(["a"], REDUCED, 2, seconds, seed=1)["a"]
    assemble("a", REDUCED, found, "a machine", full=False).save(tmp_path / "a.json.gz")
    landscape = load(tmp_path / "a.json.gz")
    assert landscape.mean(DEFAULT) == 1.5 and landscape.optimum == (REDUCED.points[0], 1.0)
    assert {len(samples) for samples in landscape.samples} == {2} and len(landscape.default_samples) == 2 * EXTRA
    assert landscape.source == "measured: fakeapp --pattern a, cold, a machine; without the accelerator 2 s"
    assert told(landscape, found.none)["over_none"] == 0.5


def test_patterns_are_compared_in_pairs() -> None:
    ways: dict[str, dict[str, Parametrization | None]] = {
        pattern: {"none": None, "default": DEFAULT, "tuned": REDUCED.points[0]} for pattern in ("a", "d")
    }

    def one(pattern: str, setting: Parametrization | None) -> Run:
        return Run(seconds(pattern, setting) * (2 if pattern == "d" and setting == REDUCED.points[0] else 1), "1")

    times = sro_patterns.measure(ways, 3, one)
    assert all(len(times[pattern][way]) == 3 for pattern in ways for way in WAYS)
    found = sro_patterns.told(times, ways)
    assert found["patterns"]["a"]["over_none"] == [0.5, 0.5, 0.5] and found["patterns"]["d"]["over_none"][0] == 0
    assert found["faster"] == 1 and found["rounds"] == 3


def test_reading_other_bytes_is_an_error() -> None:
    ways = {"a": dict.fromkeys(WAYS)}
    sums = iter("112")
    with pytest.raises(SmallReadsError, match="different bytes were read"):
        sro_patterns.measure(ways, 1, lambda *_: Run(1.0, next(sums)))


def test_without_the_library_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(small_reads, "LIBRARY", tmp_path / "no.so")
    with pytest.raises(SmallReadsError, match=r"no\.so: there is no such library: build it"):
        cold_run((), DEFAULT, path=tmp_path / "data")


def test_a_file_that_stays_in_memory_is_not_accepted_as_cold() -> None:
    directory = Path("/dev/shm")
    if not directory.is_dir():
        pytest.skip("this machine has no tmpfs")
    path = directory / "reprise-test-warm"
    path.write_bytes(bytes(1 << 20))
    try:
        with pytest.raises(SmallReadsError, match="1048576 bytes stay in memory"):
            make_cold(path)
    finally:
        path.unlink()


def test_settings_of_the_shell_do_not_get_into_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "reads checksum 0$SRO_PREFETCH_SIZE, time 1.0 s"\n')
    program.chmod(0o755)
    monkeypatch.setattr(small_reads, "PROGRAM", program)
    monkeypatch.setenv("SRO_PREFETCH_SIZE", "4")
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))
    assert cold_run((), None, path=path) == Run(1.0, "0" * 16)


def test_stored_landscapes_are_on_the_grid_they_name() -> None:
    for path in disk_landscapes.STORED.glob("*.json.gz"):
        landscape = load(path)
        space = FULL if path.name.endswith(".full.json.gz") else REDUCED
        assert landscape.space.parameters == space.parameters and landscape.default == DEFAULT
