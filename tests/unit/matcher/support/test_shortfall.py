# SPDX-License-Identifier: Apache-2.0
"""Test the changes that a match would need: the reported changes suffice, and smaller changes do not."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.database.entities import Decision
from reprise.matcher.linkage import Engine, LinkableRecord, Model, load
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import explanation
from reprise.matcher.support.job_story import Explained, Story
from reprise.matcher.support.shortfall import Change, Shortfall, shortfall

JOB = JobMetadata("alice", "lattice", "lattice", "/home/alice/bin/lattice", {"steps": ("200",)}, 1.7e9, nodes=4)
BITS = Model.model_validate(
    {
        "name": "bits",
        "version": 1,
        "threshold": 0.9,
        "scoring": "log-odds",
        "prior": -4,
        "evidence": {"source": "made up"},
        "fields": [
            {
                "name": name,
                "parts": [{"feature": feature, "comparer": comparer, "curve": curve, "unknown": 0}],
            }
            for name, feature, comparer, curve in (
                ("user", "user", "exact", [[0, -1], [1, 3]]),
                ("job name", "job_name", "levenshtein", [[0, -2], [0.5, 0], [1, 4]]),
                ("program", "program", "levenshtein", [[0, -3], [1, 5]]),
                ("nodes", "nodes", "absolute", [[0, -1], [1, 1]]),
            )
        ],
    }
)


def decided(job: JobMetadata, record: JobMetadata, model: Model, refusal: str = "") -> Decision:
    """Return a decision about a job, with one record that the engine has scored."""
    best = Engine(model, [LinkableRecord(1, record, 0.0, 0.3)], cluster_nodes=8, timezone="UTC").link(job).best
    assert best
    alternative = {"record": 1, "score": best.score, "explained": True, "refusal": refusal}
    return Decision(
        *("d-1", 1.7e9, "submit", "test", 1000, job.user, "on", "none", "", model.label, model.threshold),
        job.to_json(),
        score=best.score,
        fields=[field.to_json() for field in best.fields],
        alternatives=[alternative],
    )


def thesis(threshold: float) -> Model:
    return load("thesis", threshold)


def of(decision: Decision, model: Model | None = None) -> Shortfall:
    found = shortfall(decision, model)
    assert found
    return found


def test_a_match_lacks_nothing() -> None:
    assert shortfall(decided(JOB, JOB, thesis(0.9))) is None


def test_without_a_record_there_is_no_shortfall() -> None:
    decision = dataclasses.replace(decided(JOB, JOB, thesis(0.9)), score=None, fields=(), alternatives=())
    assert shortfall(decision) is None


def test_fields_that_suffice_alone_are_listed_by_the_size_of_the_change() -> None:
    job = dataclasses.replace(JOB, user="bob", job_name="lattuce", nodes=3)
    lacked = of(decided(job, JOB, thesis(0.83)))
    # The score is 1 - 1/6 (user) - 1/42 (one letter of 7) - 1/48 (one node of 8) = 0.789, so 0.0413 is missing.
    assert lacked.missing == pytest.approx(0.83 - (1 - 1 / 6 - 1 / 42 - 1 / 48))
    assert lacked.alone == (Change("user", 0.0, 1.0),) and lacked.together == ()
    small = of(decided(job, JOB, thesis(0.80)))
    assert [change.field for change in small.alone] == ["job name", "nodes", "user"]
    assert small.alone[0].needed == pytest.approx(6 / 7 + small.missing * 6)


def test_if_no_field_suffices_alone_the_smallest_sufficient_set_is_given() -> None:
    job = dataclasses.replace(JOB, user="bob", job_name="xyz", program="other", nodes=3)
    lacked = of(decided(job, JOB, thesis(0.8)))
    assert lacked.alone == () and len(lacked.together) == 2
    assert [(change.field, change.needed) for change in lacked.together[:1]] == [("job name", 1.0)]
    assert lacked.together[1].field == "program" and lacked.together[1].needed < 1.0


def test_another_user_is_not_suggested_if_as_few_other_changes_suffice() -> None:
    job = dataclasses.replace(JOB, user="bob", job_name="xyz", program="other")
    assert "user" not in [change.field for change in of(decided(job, JOB, thesis(0.8))).together]
    assert "user" in [change.field for change in of(decided(job, JOB, thesis(1.0))).together]


def test_a_value_unknown_in_the_record_cannot_be_matched() -> None:
    record = dataclasses.replace(JOB, nodes=None)
    lacked = of(decided(JOB, record, thesis(0.9)))
    assert (lacked.alone, lacked.together) == ((), ())
    assert any(
        "even equal values" in text for text in explanation.shortfall_text(decided(JOB, record, thesis(0.9)), lacked)
    )


def test_needed_similarities_follow_the_curves_of_the_model() -> None:
    job = dataclasses.replace(JOB, user="bob", job_name="xattuxy")
    decision = decided(job, JOB, BITS)
    total = sum(field["contribution"] for field in decision.fields)
    lacked = of(decision, BITS)
    assert lacked.missing == pytest.approx(-math.log2(1 / 0.9 - 1) - total)
    by_name = {change.field: change for change in lacked.alone}
    assert by_name.keys() == {"user", "job name"} and by_name["user"].needed == 1.0
    assert 0.5 < by_name["job name"].needed < 1.0
    without = {change.field: change.needed for change in of(decision).alone}
    assert without == {"user": 1.0, "job name": 1.0}, "without the model, equality is the only change known to suffice"


def test_another_models_curves_are_not_used() -> None:
    decision = decided(dataclasses.replace(JOB, user="bob", job_name="xattuxy"), JOB, BITS)
    other = BITS.model_copy(update={"version": 2})
    assert of(decision, other) == of(decision)


@pytest.mark.parametrize("unknown", [{"program": ""}, {"nodes": None}])
def test_log_odds_do_not_suggest_values_unknown_in_the_record(unknown: dict[str, Any]) -> None:
    model = BITS.model_copy(update={"threshold": 0.995})
    decision = decided(dataclasses.replace(JOB, user="bob"), dataclasses.replace(JOB, **unknown), model)
    lacked = of(decision, model)
    assert {change.field for change in (*lacked.alone, *lacked.together)}.isdisjoint(unknown)


def test_the_shortfall_from_an_unreachable_threshold_has_no_number() -> None:
    model = BITS.model_copy(update={"threshold": 1.0})
    decision = decided(dataclasses.replace(JOB, user="bob"), JOB, model)
    lacked = of(decision, model)
    assert (lacked.alone, lacked.together) == ((), ())
    told = Story([Explained(decision, lacked)]).to_json()
    assert json.loads(json.dumps(told, allow_nan=False))["decisions"][0]["shortfall"]["missing"] is None
    assert Story.from_json(json.loads(json.dumps(told))).decisions[0].shortfall == lacked
    assert all("inf" not in text for text in explanation.shortfall_text(decision, lacked))


NAMES = st.sampled_from(["lattice", "lattice-hot", "latt", "mesh", "words", ""])
JOBS = st.builds(
    JobMetadata,
    user=st.sampled_from(["alice", "bob"]),
    job_name=NAMES,
    program=NAMES,
    path=st.sampled_from(["/home/alice/bin/lattice", "/home/bob/lattice", "./mesh"]),
    submit_time=st.sampled_from([1.7e9, 1.7e9 + 40_000]),
    nodes=st.sampled_from([1, 4, 8, None]),
)
SOURCES = {"user": ["user"], "job name": ["job_name"], "program": ["program"], "nodes": ["nodes"]}
SOURCES |= {"command line": ["path", "options"], "submit time": ["submit_time"]}


@given(JOBS, JOBS, st.sampled_from([0.3, 0.6, 0.8, 0.95]), st.booleans())
def test_a_job_with_the_suggested_values_matches(
    job: JobMetadata, record: JobMetadata, threshold: float, bits: bool
) -> None:
    model = BITS.model_copy(update={"threshold": threshold}) if bits else thesis(threshold)
    lacked = shortfall(decided(job, record, model), model)
    if lacked is None:
        return

    def score(fields: list[str]) -> float:
        taken: dict[str, Any] = {name: getattr(record, name) for field in fields for name in SOURCES[field]}
        found = decided(dataclasses.replace(job, **taken), record, model).score
        assert found is not None
        return found

    for change in lacked.alone:
        assert score([change.field]) >= threshold - 1e-9
        assert change.similarity < change.needed <= 1.0 or bits
    if lacked.together:
        assert score([change.field for change in lacked.together]) >= threshold - 1e-9
        assert all(score([field]) < threshold for field in SOURCES)
    if not lacked.alone and not lacked.together:
        assert score(list(SOURCES)) < threshold + 1e-9


def test_the_shortfall_is_stated_in_sentences() -> None:
    job = dataclasses.replace(JOB, user="bob", job_name="lattuce", nodes=3)
    decision = decided(job, JOB, thesis(0.80), refusal="was tuned for 8 nodes, and the job has 3")
    told = list(explanation.shortfall_text(decision, of(decision)))
    assert told == [
        "It lacks 0.0114 to match record 1; this would have been enough: a similarity of 0.9250 in job name "
        "(is 0.8571); or a similarity of 0.9429 in nodes (is 0.8750); or the same user",
        "A threshold of 0.7886 or less would also have been enough",
        "Even then that record would not have been used: it was tuned for 8 nodes, and the job has 3",
    ]
