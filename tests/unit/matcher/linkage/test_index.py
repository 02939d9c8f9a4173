# SPDX-License-Identifier: Apache-2.0
"""Test that the engine's index agrees with a simple linkage while records are added, changed and removed."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.linkage import Engine, LinkableRecord, Linkage, Model, comparers, load
from reprise.matcher.linkage import columns as columns_module
from reprise.matcher.linkage import engine as engine_module
from reprise.matcher.linkage import snapshot as snapshot_module
from reprise.matcher.linkage.softtfidf import TokensOfLength
from reprise.matcher.submission.metadata import JobMetadata
from tests.examples import examples
from tests.unit.linkage_oracle import Oracle, Scored

NAMES = ["", "ant", "Angry_ant-2", "angryant2", "bee", "solver_3d", "solver_2d", "éa", "a b", "--"]
TOKENS = ["home", "alice", "bob", "ant", "simulation10", "simulation11", "simulation1", "simulations10", "bin", "x"]
WORDS = st.sampled_from(["n", "-n", "1", "2", "input.dat", "é", ""])
NUMBERS = st.none() | st.sampled_from([0, 1, 2, 3, 4, 8, 128, 2**60, 2**60 + 1])
JOBS = st.builds(
    JobMetadata,
    user=st.sampled_from(["alice", "bob", ""]),
    job_name=st.sampled_from(NAMES),
    program=st.sampled_from(NAMES) | st.text(max_size=5),
    path=st.lists(st.sampled_from(TOKENS), max_size=6).flatmap(
        lambda tokens: st.sampled_from("/_.").map(lambda separator: separator.join(tokens))
    ),
    options=st.dictionaries(WORDS, st.lists(WORDS, max_size=3).map(tuple), max_size=3),
    submit_time=st.sampled_from([0.0, 3600.0, 86399.0]) | st.integers(0, 2_000_000_000).map(float),
    nodes=NUMBERS,
    tasks=NUMBERS,
    directory=st.sampled_from(NAMES),
    account=st.sampled_from(["a", "b", ""]),
    script=st.sampled_from(["", 32 * "x", 16 * "y" + 16 * "x", 31 * "x" + "é", "xy", 33 * "x"]),
    build_id=st.sampled_from(["", 40 * "a", 39 * "a" + "b"]),
    functions=st.sampled_from(["", 32 * "f", 31 * "f" + "g", "f"]),
    imports=st.sampled_from(["", 32 * "i", 8 * "abcd"]),
    contents=st.sampled_from(["", 32 * "c", 16 * "cd"]),
)
TIES = st.tuples(st.integers(0, 1).map(float), st.sampled_from([0.1, 0.2]))

CURVES = {
    "rising": [[0, -3.0], [0.9, 0.5], [1, 4.0]],
    "falling": [[0, 2.0], [0.5, -2.0], [1, 1.0]],
    "steep": [[0, -8.0], [0.8999999, -8.0], [0.9, 9.0], [1, 9.5]],
}


def odds(curve: str, unknown: float | None, prefer: tuple[str, ...] = ()) -> Model:
    """Return a log-odds model that uses every comparer, with the same curve for all parts."""
    comparers_of: list[dict[str, Any]] = [
        {"feature": "user", "comparer": "exact"},
        {"feature": "job_name", "comparer": "levenshtein"},
        {"feature": "directory", "comparer": "levenshtein", "clean": False},
        {"feature": "script", "comparer": "hamming"},
        {"feature": "build_id", "comparer": "exact"},
        {"feature": "functions", "comparer": "hamming"},
        {"feature": "imports", "comparer": "hamming"},
        {"feature": "contents", "comparer": "hamming"},
        {"feature": "path", "comparer": "soft-tfidf", "inner_threshold": 0.8},
        {"feature": "options", "comparer": "options"},
        {"feature": "nodes", "comparer": "ratio"},
        {"feature": "tasks", "comparer": "absolute", "maximum": 64},
        {"feature": "nodes", "name": "same", "comparer": "exact"},
        {"feature": "hour", "comparer": "circular", "period": 24},
        {"feature": "hour", "name": "night", "comparer": "same-side", "start": 22, "end": 6},
    ]
    parts = [{**one, "curve": CURVES[curve], "unknown": unknown} for one in comparers_of]
    return Model.model_validate(
        {
            "name": "odds",
            "version": 1,
            "threshold": 0.5,
            "scoring": "log-odds",
            "prior": -6.0,
            "prefer": prefer,
            "evidence": {"text": "none"},
            "fields": [{"name": "all", "parts": parts}],
        }
    )


MODELS = [
    load("thesis"),
    odds("rising", None),
    odds("falling", 0.25),
    odds("steep", -1.0),
    odds("steep", 0.5, ("nodes", "user")),
]


def told(linkage: Linkage) -> list[Scored]:
    return [
        (
            match.record.id,
            match.score,
            tuple((part.similarity, part.contribution) for field in match.fields for part in field.parts),
        )
        for match in linkage.matches
    ]


@pytest.fixture(params=["few", "many"])
def as_if(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With "many", lower the engine's limits, so that it treats these few records like a large number of records.

    The engine then compares one part of the model after the other, and drops records after each part.
    """
    if request.param == "many":
        monkeypatch.setattr(snapshot_module, "EVERY_ROW_NS", 100.0)
        monkeypatch.setattr(snapshot_module, "BLOCKS", 2)
        monkeypatch.setattr(columns_module, "FEW_OTHERS", 1)
        monkeypatch.setattr(snapshot_module, "MERGED", 3)
        monkeypatch.setattr(engine_module, "GARBAGE", 2)
    return str(request.param)


CHANGES = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 9), JOBS, TIES), max_size=5), st.sets(st.integers(0, 9), max_size=3)),
    min_size=1,
    max_size=4,
)


@pytest.mark.hypothesis  # runs a Hypothesis test inside
@pytest.mark.parametrize("model", MODELS, ids=["thesis", "rising", "falling", "steep", "choosy"])
def test_after_any_changes_the_nearest_records_are_those_of_a_plain_linkage(as_if: str, model: Model) -> None:
    @settings(max_examples=examples(30))
    @given(CHANGES, JOBS, st.integers(1, 6), st.none() | st.sets(st.integers(0, 9)))
    def holds(changes: Any, job: JobMetadata, k: int, among: set[int] | None) -> None:
        engine = Engine(model, cluster_nodes=5, timezone="UTC")
        known: dict[int, LinkableRecord] = {}
        for added, removed in changes:
            records = {number: LinkableRecord(number, metadata, *ties) for number, metadata, ties in added}
            engine.change(add=records.values(), remove=removed)
            known = {number: one for number, one in (known | records).items() if number not in removed}
            oracle = Oracle(model, list(known.values()), cluster_nodes=5, timezone="UTC")
            found, expected = told(engine.link(job, k, among)), oracle.link(job, k, among)
            assert [(number, parts) for number, _, parts in found] == [(number, parts) for number, _, parts in expected]
            assert [score for _, score, _ in found] == pytest.approx([score for _, score, _ in expected], abs=1e-11)
            assert len(engine) == len(known)

    holds()


@given(
    st.lists(st.text("ab1", min_size=1, max_size=12), unique=True, max_size=12),
    st.text("ab1", min_size=1, max_size=12),
    st.sampled_from([0.3, 0.5, 0.75, 0.8, 0.9, 1.0]),
)
def test_no_sufficiently_similar_token_is_missed(known: list[str], token: str, threshold: float) -> None:
    found: dict[str, float] = {}
    for length in {len(other) for other in known}:
        same = TokensOfLength(length)
        numbers = [number for number, other in enumerate(known) if len(other) == length]
        same.extend(numbers, [known[number] for number in numbers])
        found |= {known[number]: likeness for number, likeness in same.similar(token, threshold, len(same))}
    likenesses = {one: comparers.levenshtein(token, one) for one in known if one != token}
    assert found == pytest.approx(
        {one: likeness for one, likeness in likenesses.items() if likeness >= threshold - 1e-9}
    )


@pytest.mark.slow
def test_a_linkage_during_changes_sees_the_records_of_one_point_in_time() -> None:
    """A linkage sees all records of a batch or none of them, and never a record that was removed before."""
    job = JobMetadata("alice", "ant", "ant", "/home/alice/ant_1/ant", {"n": ("1",)}, 0.0, nodes=2)
    engine = Engine(load("thesis"), cluster_nodes=5, timezone="UTC")
    done = threading.Event()
    seen: list[set[int]] = []

    def ask() -> None:
        while not done.is_set():
            seen.append({match.record.id for match in engine.link(job, k=20).matches})

    asking = threading.Thread(target=ask)
    asking.start()
    batches = [{10 * batch + number for number in range(4)} for batch in range(50)]
    for batch in batches:
        engine.change(
            add=[LinkableRecord(n, dataclasses.replace(job, path=f"/home/a/x_{n}/ant"), 0.0, 0.1) for n in batch],
            remove=[number for other in batches if other != batch for number in other],
        )
    done.set()
    asking.join()
    assert seen and all(ids in (set(), *batches) for ids in seen)


def test_a_linkage_does_not_wait_for_a_change() -> None:
    """In this test, the change cannot finish before a linkage has run."""
    engine = Engine(
        load("thesis"), [LinkableRecord(1, JobMetadata("alice"), 0.0, 0.1)], cluster_nodes=5, timezone="UTC"
    )
    with ThreadPoolExecutor(1) as others:

        def linked() -> list[int]:
            asked = others.submit(engine.link, JobMetadata("alice"))
            return [match.record.id for match in asked.result(timeout=60).matches]

        def coming() -> Iterator[LinkableRecord]:
            yield LinkableRecord(2, JobMetadata("alice"), 1.0, 0.1)
            meanwhile.append(linked())

        meanwhile: list[list[int]] = []
        engine.change(add=coming(), remove=[1])
        assert meanwhile == [[1]] and linked() == [2]


def test_a_job_similar_to_all_records_is_still_linked_in_order() -> None:
    """All 5,000 records have the same score, and the engine computes exact scores for only a part of the records."""
    job = JobMetadata("alice", nodes=2)
    records = [LinkableRecord(number, job, float(number % 7), 0.1) for number in range(5000)]
    engine = Engine(load("thesis"), records, cluster_nodes=5, timezone="UTC")
    assert [match.record.id for match in engine.link(job, k=3).matches] == [6, 13, 20]
