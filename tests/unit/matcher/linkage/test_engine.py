# SPDX-License-Identifier: Apache-2.0
"""Test the engine with the model `thesis`: published values, ties, order, unknown values, and explanations."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.linkage import Engine, FieldScore, LinkableRecord, Model, comparers, load
from reprise.matcher.submission.metadata import JobMetadata

THESIS = load("thesis")
NOON = 1_700_000_000.0 - 1_700_000_000 % 86400 + 12 * 3600
JOB = JobMetadata("alice", "angry_ant_2", "ant", "/home/alice/ant_123/ant", {}, NOON, nodes=2)


def record(metadata: JobMetadata, number: int = 1, *, created_at: float = 0.0, gain: float = 0.1) -> LinkableRecord:
    return LinkableRecord(number, metadata, created_at, gain)


def engine(*records: LinkableRecord, cluster_nodes: int = 5, timezone: str = "UTC") -> Engine:
    return Engine(THESIS, records, cluster_nodes=cluster_nodes, timezone=timezone)


def score(job: JobMetadata, other: JobMetadata) -> float:
    best = engine(record(other)).link(job).best
    assert best
    return best.score


def fields(job: JobMetadata, other: JobMetadata) -> dict[str, FieldScore]:
    best = engine(record(other)).link(job).best
    assert best
    return {field.name: field for field in best.fields}


def test_identical_jobs_score_exactly_one() -> None:
    assert score(JOB, JOB) == 1.0


def test_weights_are_six_equal_fields_that_sum_to_one() -> None:
    by_name = fields(JOB, JOB)
    assert [round(field.weight, 12) for field in by_name.values()] == [round(1 / 6, 12)] * 6
    assert sum(part.weight for field in by_name.values() for part in field.parts) == pytest.approx(1)
    assert [part.weight for part in by_name["command line"].parts] == pytest.approx([1 / 12] * 2)
    assert [part.weight for part in by_name["submit time"].parts] == pytest.approx([1 / 36] * 6)


def test_different_options_alone_leave_a_score_of_eleven_twelfths() -> None:
    assert score(dataclasses.replace(JOB, options={"n": ("1",)}), JOB) == pytest.approx(11 / 12)


def test_another_node_count_costs_its_share_of_the_cluster() -> None:
    other = dataclasses.replace(JOB, nodes=4)
    assert fields(JOB, other)["nodes"].similarity == pytest.approx(0.6)
    assert score(JOB, other) == pytest.approx(5 / 6 + 0.6 / 6)


def test_another_user_costs_one_sixth() -> None:
    assert score(JOB, dataclasses.replace(JOB, user="bob")) == pytest.approx(5 / 6)


def test_job_and_program_names_are_compared_cleaned() -> None:
    assert fields(JOB, dataclasses.replace(JOB, job_name="Angry-ANT 2"))["job name"].similarity == 1
    job, other = (dataclasses.replace(JOB, job_name=name) for name in ("ant_fast", "ant"))
    assert fields(job, other)["job name"].similarity == pytest.approx(1 - 4 / 7)


def test_two_minutes_around_midnight_are_close() -> None:
    midnight = NOON + 12 * 3600
    before, after = (dataclasses.replace(JOB, submit_time=midnight + offset) for offset in (-60, 60))
    assert fields(before, after)["submit time"].similarity > 0.85


def test_hours_are_read_in_the_sites_zone() -> None:
    late, early = (
        dataclasses.replace(JOB, submit_time=NOON + hours * 3600) for hours in (9.5, 8.5)
    )  # 21:30 and 20:30 UTC

    def night(timezone: str) -> float:
        best = engine(record(early), timezone=timezone).link(late).best
        assert best
        return next(part.similarity for field in best.fields for part in field.parts if part.name == "night")

    assert (night("UTC"), night("Europe/Berlin"), night("Europe/Athens")) == (1.0, 0.0, 1.0)


def test_an_unknown_node_count_is_similar_to_none() -> None:
    unknown = dataclasses.replace(JOB, nodes=None)
    assert score(JOB, unknown) == score(unknown, JOB) == score(unknown, unknown) == pytest.approx(5 / 6)


def test_texts_unknown_on_both_sides_are_equal_and_on_one_side_are_not() -> None:
    unknown = dataclasses.replace(JOB, program="", path="")
    assert score(unknown, unknown) == 1
    assert score(JOB, unknown) == pytest.approx(1 - 1 / 6 - 1 / 12)


def test_ties_go_to_the_newest_then_the_largest_gain_then_the_lowest_id() -> None:
    records = [
        record(JOB, 9, created_at=1, gain=0.9),
        record(JOB, 8, created_at=2, gain=0.1),
        record(JOB, 7, created_at=2, gain=0.2),
        record(JOB, 3, created_at=2, gain=0.2),
        record(dataclasses.replace(JOB, user="bob"), 1, created_at=9, gain=0.9),
    ]
    assert [match.record.id for match in engine(*records).link(JOB).matches] == [3, 7, 8, 9, 1]


def test_over_the_threshold_records_with_the_same_node_count_come_first() -> None:
    choosy = Model.model_validate(THESIS.model_dump() | {"prefer": ("nodes",), "threshold": 0.75})
    same = record(dataclasses.replace(JOB, program="xyz"), 1)  # 0.83
    nearer = record(dataclasses.replace(JOB, nodes=1), 2)  # 0.97
    far = record(dataclasses.replace(JOB, program="xyz", user="bob"), 3)  # 0.67
    linked = Engine(choosy, [nearer, far, same], cluster_nodes=5, timezone="UTC").link(JOB)
    assert [match.record.id for match in linked.matches] == [1, 2, 3]
    unknown = Engine(choosy, [nearer, far, same], cluster_nodes=5).link(dataclasses.replace(JOB, nodes=None))
    assert [match.score for match in unknown.matches] == sorted((m.score for m in unknown.matches), reverse=True)


def test_without_records_there_is_no_match() -> None:
    assert engine().link(JOB).best is None


def test_only_the_records_asked_for_are_linked_but_all_count_in_the_frequencies() -> None:
    near, far = record(JOB, 1), record(dataclasses.replace(JOB, user="bob", path="/home/alice/bee_9/bee"), 2)
    both = engine(near, far)
    chosen = both.link(JOB, among={2}).best
    assert chosen and chosen.record.id == 2
    assert chosen.score == both.link(JOB).matches[1].score


def test_k_bounds_the_matches() -> None:
    many = engine(*(record(JOB, number) for number in range(9)))
    assert len(many.link(JOB).matches) == 5
    assert len(many.link(JOB, k=2).matches) == 2


def test_an_explanation_adds_up_and_is_json() -> None:
    other = JobMetadata("bob", "x", "ant", "/opt/ant", {"n": ("1", "2")}, NOON + 5e6, nodes=3)
    best = engine(record(other)).link(dataclasses.replace(JOB, options={"n": ("1",)})).best
    assert best
    assert math.fsum(field.contribution for field in best.fields) == pytest.approx(best.score)
    for field in best.fields:
        assert math.fsum(part.contribution for part in field.parts) == pytest.approx(field.contribution)
        assert field.weight * field.similarity == pytest.approx(field.contribution)
    data = json.loads(json.dumps([field.to_json() for field in best.fields]))
    assert data[0]["left"] == "alice" and data[0]["right"] == "bob"
    assert data[3]["parts"][1]["right"] == {"n": ["1", "2"]}


def test_a_later_explanation_equals_an_immediate_one() -> None:
    many = engine(*(record(dataclasses.replace(JOB, job_name=f"ant_{number}"), number) for number in range(200)))
    asked = many.ask(dataclasses.replace(JOB, job_name="bee", path="/home/alice/bee"))
    best = asked.nearest(1).best
    assert best
    waterfall = asked.waterfall(best)
    at_once = asked.explained(best)
    many.change(add=[record(JOB, 1000)], remove=[best.record.id])
    assert waterfall.explained() == at_once
    comparison = weakref.ref(asked._comparison)
    del asked
    assert comparison() is None, "a pending explanation must not keep the comparison, whose size grows with the records"


NAMES = st.sampled_from(["", "ant", "angry_ant_2", "bee", "solver"])
JOBS = st.builds(
    JobMetadata,
    user=st.sampled_from(["alice", "bob"]),
    job_name=NAMES,
    program=NAMES,
    path=st.sampled_from(["", "/home/alice/ant_1/ant", "/home/bob/ant_2/ant", "./simulation10", "./simulation11"]),
    options=st.dictionaries(NAMES, st.lists(NAMES, max_size=2).map(tuple), max_size=2),
    submit_time=st.integers(0, 2_000_000_000).map(float),
    nodes=st.none() | st.integers(1, 8),
)


@given(JOBS, st.lists(st.tuples(JOBS, st.integers(0, 2), st.sampled_from([0.1, 0.2])), max_size=8), st.randoms())
def test_the_order_of_the_records_changes_nothing(
    job: JobMetadata, known: list[tuple[JobMetadata, int, float]], shuffle: random.Random
) -> None:
    records = [record(other, number, created_at=at, gain=gain) for number, (other, at, gain) in enumerate(known)]
    expected = engine(*records).link(job, k=8)
    shuffle.shuffle(records)
    assert engine(*records).link(job, k=8) == expected
    assert all(0 <= match.score <= 1 for match in expected.matches)
    assert [match.score for match in expected.matches] == sorted((m.score for m in expected.matches), reverse=True)


@given(JOBS, JOBS)
def test_a_score_is_symmetric_against_a_single_record(left: JobMetadata, right: JobMetadata) -> None:
    assert score(left, right) == pytest.approx(score(right, left), abs=1e-9)


@given(JOBS)
def test_a_job_is_its_own_best_match(job: JobMetadata) -> None:
    """A job's score with itself is 1, unless its node count is unknown."""
    assert score(job, job) == pytest.approx(1.0 if job.nodes else 5 / 6)


ODDS = Model.model_validate(
    {
        "name": "odds",
        "version": 1,
        "threshold": 0.5,
        "scoring": "log-odds",
        "prior": -3,
        "evidence": {"text": "none"},
        "fields": [
            {
                "name": "user",
                "parts": [{"feature": "user", "comparer": "exact", "curve": [[0, -1], [1, 2]], "unknown": 0.5}],
            },
            {
                "name": "size",
                "parts": [
                    {"feature": "nodes", "comparer": "ratio", "curve": [[0, -4], [0.5, 0], [1, 3]]},
                    {"feature": "account", "comparer": "exact", "curve": [[0, -1], [1, 1]]},
                ],
            },
        ],
    }
)


@pytest.mark.parametrize(
    ("changes", "bits"),
    [
        ({}, -3 + 2 + 3 + 0),
        ({"account": "a"}, -3 + 2 + 3 + 1),
        ({"account": "b"}, -3 + 2 + 3 - 1),
        ({"user": "bob"}, -3 - 1 + 3),
        ({"user": ""}, -3 + 0.5 + 3),
        ({"nodes": 1}, -3 + 2 + 0),
        ({"nodes": None}, -3 + 2 + 0),
        ({"nodes": 8}, -3 + 2 - 2),
    ],
)
def test_log_odds_add_up_to_a_probability(changes: dict[str, Any], bits: float) -> None:
    job = JobMetadata("alice", nodes=2, account="a" if changes.get("account") else "")
    best = Engine(ODDS, [record(dataclasses.replace(job, **changes))], cluster_nodes=5).link(job).best
    assert best and best.score == pytest.approx(1 / (1 + 2**-bits))
    assert best.fields[0].name == "any two jobs"
    assert sum(field.contribution for field in best.fields) == pytest.approx(bits)


def test_a_field_with_a_constant_contribution_still_has_its_similarity() -> None:
    data = ODDS.model_dump()
    for part in data["fields"][0]["parts"]:
        part |= {"curve": ((0.0, -1.0), (1.0, -1.0)), "unknown": -1.0}
    idle = Model.model_validate(data)
    best = Engine(idle, [record(JOB)], cluster_nodes=5).link(JOB).best
    assert best and (best.fields[1].similarity, best.fields[1].contribution) == (1.0, -1.0)


def test_matches_whose_probabilities_round_to_1_are_still_ordered() -> None:
    sure = ODDS.model_copy(update={"prior": 60.0})
    near, same = (record(dataclasses.replace(JOB, nodes=nodes), number) for number, nodes in ((1, 3), (2, 2)))
    linked = Engine(sure, [near, same], cluster_nodes=5).link(JOB)
    assert [match.score for match in linked.matches] == [1.0, 1.0]
    assert linked.best and linked.best.record.id == 2


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(2, 4, 0.5), (4, 2, 0.5), (3, 3, 1), (0, 0, 1), (0, 3, 0), (-1, 3, 0)]
)
def test_a_ratio_is_the_smaller_over_the_larger(left: float, right: float, expected: float) -> None:
    assert comparers.ratio(left, right) == expected
