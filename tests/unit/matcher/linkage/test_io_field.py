# SPDX-License-Identifier: Apache-2.0
"""Test the field of the model `site` for access patterns: its limits, and that other jobs' scores do not change."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings

from reprise.matcher.calibration.site_template import IO_PATTERN
from reprise.matcher.evaluation.hard_scenario import generate
from reprise.matcher.linkage import Engine, LinkableRecord, Linkage, Model, load
from reprise.matcher.linkage.engine import Asked
from reprise.matcher.linkage.features import FEATURES, OF_IO
from reprise.matcher.linkage.linkage_model import ModelField
from reprise.matcher.submission.metadata import JobMetadata
from tests.examples import examples
from tests.unit.matcher.linkage.test_reference_engine import sites

SITE = load("site")
BEFORE = SITE.model_copy(update={"fields": tuple(field for field in SITE.fields if field.name != IO_PATTERN["name"])})
STRIDED, REGIONS, OWN = "write/shared/strided", "write/shared/contiguous", "write/per-process/contiguous"
READS = "read/shared/strided"
LIMIT = 1.0
"""Largest number of bits that the whole field adds or subtracts."""


def engine(model: Model, records: list[LinkableRecord]) -> Engine:
    return Engine(model, records, cluster_nodes=64, timezone="UTC")


def asked(model: Model, records: list[LinkableRecord], job: JobMetadata) -> Asked:
    return engine(model, records).ask(job)


def bits(linkage: Linkage) -> list[tuple[int, str]]:
    """Return the records and their scores, as texts that are equal only if all bits of the scores are."""
    return [(match.record.id, match.score.hex()) for match in linkage.matches]


def assert_equal(records: list[LinkableRecord], job: JobMetadata) -> None:
    """Check that a linkage is the same, bit for bit, with the field and without it."""
    with_field, without = asked(SITE, records, job), asked(BEFORE, records, job)
    one, other = with_field._comparison, without._comparison
    assert one._base.tobytes() == other._base.tobytes() and one.margin == other.margin
    rows = np.arange(len(records))
    assert one.totals(rows).tobytes() == other.totals(rows).tobytes()
    for k in (1, 3, len(records)):
        assert bits(with_field.nearest(k)) == bits(without.nearest(k))
    (first, labels), (second, other_labels) = with_field.nearest_and_similar(5), without.nearest_and_similar(5)
    assert bits(first) == bits(second) and labels == other_labels
    assert [with_field.coarse(match) for match in first.matches] == [without.coarse(match) for match in second.matches]


def unknown(job: JobMetadata) -> JobMetadata:
    return dataclasses.replace(job, io_patterns=())


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(sites())
def test_jobs_without_patterns_have_the_scores_of_a_model_without_the_field(
    drawn: tuple[list[LinkableRecord], JobMetadata],
) -> None:
    records, job = drawn
    assert_equal(records, unknown(job))
    assert_equal([dataclasses.replace(one, metadata=unknown(one.metadata)) for one in records], job)


@pytest.mark.parametrize("size", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_site_has_the_scores_of_a_model_without_the_field(size: int) -> None:
    rng = random.Random(7)  # noqa: S311 - not used for security
    jobs = [record.metadata for record in generate(5).records]
    patterns = [(), (), (STRIDED,), (REGIONS, READS)]
    records = [
        LinkableRecord(
            number, dataclasses.replace(rng.choice(jobs), io_patterns=rng.choice(patterns)), float(number), 0.1
        )
        for number in range(size)
    ]
    for job in rng.sample(jobs, 1 + size // 1000):
        assert_equal(records, job)


def total(job: tuple[str, ...], record: tuple[str, ...]) -> float:
    """Return the bits that the field adds."""
    one = LinkableRecord(1, JobMetadata("ann", program="solve", io_patterns=record), 0.0, 0.1)
    new = JobMetadata("ann", program="solve", io_patterns=job)
    (match,) = engine(SITE, [one]).link(new).matches
    return next(field.contribution for field in match.fields if field.name == IO_PATTERN["name"])


@pytest.mark.parametrize(
    ("job", "record", "added"),
    [
        ((STRIDED,), (STRIDED,), 0.5),
        ((STRIDED,), (REGIONS,), -0.5),
        ((STRIDED, READS), (STRIDED, READS), LIMIT),
        ((OWN, "read/per-process/contiguous"), (STRIDED, READS), -LIMIT),
        ((STRIDED,), (READS, REGIONS), -0.5),
        ((STRIDED,), (READS,), 0.0),
        ((STRIDED,), (), 0.0),
        ((), (STRIDED,), 0.0),
        ((), (), 0.0),
        ((STRIDED, OWN), (STRIDED,), 0.0),
        ((STRIDED,), (STRIDED, OWN), 0.0),
    ],
)
def test_reads_and_writes_add_or_subtract_half_a_bit_each_if_both_jobs_have_one_kind(
    job: tuple[str, ...], record: tuple[str, ...], added: float
) -> None:
    assert total(job, record) == added


def test_a_pattern_alone_makes_no_match_and_ends_only_a_narrow_one() -> None:
    (field,) = [one for one in SITE.fields if one.name == IO_PATTERN["name"]]
    ends = [part.curve for part in field.parts]
    assert [part.feature for part in field.parts] == list(OF_IO) and ends == [((0.0, -0.5), (1.0, 0.5))] * 2
    threshold = SITE.total(SITE.threshold)
    assert SITE.offset + LIMIT < threshold - 10
    assert SITE.score(threshold - LIMIT) == pytest.approx(2 / 3)
    assert SITE.score(threshold + LIMIT) == pytest.approx(8 / 9)


def test_the_template_of_calibration_has_the_field_of_the_shipped_model() -> None:
    assert SITE.fields[-1] == ModelField.model_validate(IO_PATTERN)


def test_a_job_with_several_kinds_of_writes_has_no_pattern_of_writes() -> None:
    job = JobMetadata("ann", io_patterns=(READS, OWN, STRIDED))
    assert [FEATURES[name].of(job, None) for name in OF_IO] == ["shared/strided", ""]
