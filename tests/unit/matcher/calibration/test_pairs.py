# SPDX-License-Identifier: Apache-2.0
"""Test that the similarity levels of pairs of jobs are the rounded similarities that the reference engine computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from reprise.matcher.calibration import calibrate, made_up_pairs, site_template
from reprise.matcher.calibration.calibrate import site_of
from reprise.matcher.calibration.logistic_weights import Weights
from reprise.matcher.calibration.pairs import LEVELS, UNKNOWN, Against, Pairs, counted, together
from reprise.matcher.errors import MatcherError
from reprise.matcher.linkage import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata
from tests.examples import examples
from tests.unit.matcher.linkage.test_reference_engine import large_site, sites

PARTS = len(site_template.KNOTS)
WHERE_KNOWN = site_template.model(
    Weights(0.0, site_template.KNOTS, tuple(np.zeros(len(knots)) for knots in site_template.KNOTS), (1.0,) * PARTS),
    threshold=0.5,
    evidence={"text": "none"},
)
"""Model that gives one bit to each known part, and nothing to unknown parts."""


def assert_levels_are_the_references(records: list[LinkableRecord], job: JobMetadata) -> None:
    found = Against(site_template.unweighted(), records, cluster_nodes=8, timezone="UTC").levels(job)
    from reprise.matcher.linkage.reference_engine import Reference  # imports recordlinkage, which takes 2 s

    reference = Reference(WHERE_KNOWN, records, cluster_nodes=8, timezone="UTC")
    rows = {record.id: row for row, record in enumerate(records)}
    for match in reference.link(job, k=len(records)).matches:
        parts = [part for field in match.fields[1 : -len(site_template.GIVEN)] for part in field.parts]
        for part, level in zip(parts, found[rows[match.record.id]].tolist(), strict=True):
            if not part.contribution:
                assert level == UNKNOWN, part
                continue
            assert level != UNKNOWN, part
            nearest = np.abs(LEVELS[:-1] - part.similarity).min()
            is_equal = part.similarity > 1 - 1e-6
            assert (level == len(LEVELS) - 1) == is_equal, part
            assert is_equal or abs(LEVELS[level] - part.similarity) == pytest.approx(nearest, abs=2e-6), part


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(sites())
def test_levels_equal_the_references_rounded_similarities(site: tuple[list[LinkableRecord], JobMetadata]) -> None:
    records, job = site
    if records:
        assert_levels_are_the_references(records, job)


@pytest.mark.slow
def test_levels_equal_the_references_among_many_records() -> None:
    records, jobs = large_site(seed=3, size=300)
    for job in jobs:
        assert_levels_are_the_references(records, job)


@pytest.mark.slow
def test_a_token_similar_to_two_others_is_paired_with_only_one() -> None:
    """The job's token is similar to two tokens of the record. A sum over all similar tokens would count both pairs."""
    job = JobMetadata("ann", directory="/simulationabc/x")
    record = LinkableRecord(1, JobMetadata("ann", directory="/simulationabd/simulationabe/q"), 0.0, 0.0)
    assert_levels_are_the_references([record], job)


def numbered(count: int) -> list[JobMetadata]:
    return [JobMetadata("ann", job_name="job" + "x" * number, nodes=number + 1) for number in range(count)]


def test_no_job_of_a_site_is_compared_with_itself() -> None:
    site = site_of(numbered(25), cluster_nodes=8)
    assert {len(rows) for rows in site.levels_of} == {24} and len(site.levels_of) == 25
    names = site_template.FEATURES.index("job_name")
    assert site.pairs.patterns[:, names].max() < len(LEVELS) - 1
    assert site.pairs.counts.sum() == 25 * 24


def test_the_same_sample_of_many_jobs_is_compared_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "ASKING", 30)
    monkeypatch.setattr(calibrate, "KNOWN", 100)
    jobs = [dataclasses.replace(job, user=f"u{number}") for number, job in enumerate(numbered(40) * 5)]
    one, other = (site_of(jobs, cluster_nodes=8) for _ in range(2))
    assert one.jobs == 200 and one.pairs.counts.sum() == 30 * 99
    assert np.array_equal(one.pairs.patterns, other.pairs.patterns)
    assert np.array_equal(one.pairs.counts, other.pairs.counts)


def test_too_few_jobs_are_refused() -> None:
    with pytest.raises(MatcherError, match=r"^19 jobs are too few to learn from: give 20 or more"):
        site_of(numbered(19), cluster_nodes=8)


def test_equal_patterns_are_merged_and_their_pairs_counted() -> None:
    levels = np.array([[1, 2], [0, UNKNOWN], [1, 2], [1, 2]], np.int8)
    pairs = counted(levels, np.array([True, False, False, True]))
    assert pairs.patterns.tolist() == [[0, UNKNOWN], [1, 2]]
    assert (pairs.matched.tolist(), pairs.others.tolist()) == ([0, 2], [1, 1])
    both = together([pairs, pairs])
    assert (both.matched.tolist(), both.others.tolist(), both.share) == ([0, 4], [2, 2], 0.5)
    assert pairs.unknown().tolist() == [0, 0.25]


def test_removed_parts_become_unknown_and_no_pair_is_lost() -> None:
    pairs = Pairs(np.array([[0, 1], [0, 2], [1, 1]], np.int8), np.array([1.0, 2, 0]), np.array([0.0, 1, 5]))
    without = pairs.without([1])
    assert without.patterns.tolist() == [[0, UNKNOWN], [1, UNKNOWN]]
    assert (without.matched.tolist(), without.others.tolist()) == ([3, 0], [1, 5])
    assert pairs.patterns[0, 1] == 1


@pytest.mark.slow
def test_made_up_sites_have_labeled_pairs_and_a_few_unknown_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(made_up_pairs, "FITTED", range(1000, 1001))
    monkeypatch.setattr(made_up_pairs, "USED", ("thesis",))
    pairs = made_up_pairs.pairs()
    assert 0.01 < pairs.share < 0.05
    unknown = dict(zip(site_template.FEATURES, pairs.unknown().tolist(), strict=True))
    assert all(0 < unknown[name] < 0.05 for name in ("program", "script", "account", "directory"))
    assert unknown["user"] == 0


def test_seeds_for_fitting_holding_out_and_evaluation_are_distinct() -> None:
    evaluated = range(100)
    assert not {*made_up_pairs.FITTED} & {*made_up_pairs.HELD_OUT}
    assert not {*evaluated} & {*made_up_pairs.FITTED, *made_up_pairs.HELD_OUT}
