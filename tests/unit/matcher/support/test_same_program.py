# SPDX-License-Identifier: Apache-2.0
"""Test the phrases that state how similar a job's program is to a record's program."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import Model
from reprise.matcher.submission import Submission
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support.explanation import source_texts
from reprise.matcher.support.job_story import Story
from reprise.matcher.support.same_program import program_text
from tests.unit.matcher_daemon import knowing, record


def part(name: str, similarity: float, left: str = "a", right: str = "b") -> dict[str, Any]:
    return {"name": name, "left": left, "right": right, "similarity": similarity}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([part("build_id", 1.0), part("functions", 1.0)], "same build"),
        ([part("build_id", 0.0), part("functions", 31 / 32)], "rebuilt: 97 % of function names"),
        ([part("functions", 0.0, left=""), part("contents", 1.0)], "rebuilt: 100 % of words"),
        ([part("functions", 1 / 64), part("contents", 0.5)], "in common: 0 % of function names, 49 % of words"),
        ([part("imports", 1.0)], "in common: 100 % of uses of libraries and modules"),
        ([part("build_id", 1.0, left="", right="")], ""),
        ([part("script", 1.0)], ""),
    ],
)
def test_a_phrase_describes_the_similarity_of_two_programs(parts: list[dict[str, Any]], text: str) -> None:
    assert program_text([{"name": "identity", "parts": parts}]) == text


def test_an_explanation_states_whether_the_build_is_the_same() -> None:
    parts = [
        {"feature": "build_id", "comparer": "exact"},
        {"feature": "functions", "comparer": "hamming"},
    ]
    model = Model.model_validate(
        {
            "name": "files",
            "version": 1,
            "threshold": 0.5,
            "evidence": {"text": "none"},
            "fields": [{"name": "identity", "parts": parts}],
        }
    )
    job = JobMetadata("alice", build_id=40 * "a", functions=32 * "f")
    question = Question(Submission("sbatch"), "alice", 1000, "submit", "on", 1.7e9, metadata=job)
    for build, text in ((job.build_id, "same build"), (40 * "b", "rebuilt: 100 % of function names")):
        known = record(metadata=dataclasses.replace(job, build_id=build).to_json())
        made = decide(question, knowing(known, model=model), Policy("test"), "d1")
        assert f": {text}" in list(source_texts(Story(), made))[-1]
