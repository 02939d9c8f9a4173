# SPDX-License-Identifier: Apache-2.0
"""The shipped threshold does what is claimed for it, and the documents say the same as the model file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.thesis_threshold import CLUSTERS, NEGATIVE, POSITIVE, measure
from matcher.linkage import load

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/linkage.md").read_text()
THESIS = load("thesis")


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_most_colleagues_are_recognised_and_few_strangers(cluster: int) -> None:
    results = measure(cluster, seeds=2)

    def matched(kind: str) -> float:
        hits = [score >= THESIS.threshold and (right or kind in NEGATIVE) for score, right in results[kind]]
        return sum(hits) / len(hits)

    assert matched("again") > 0.99
    assert matched("colleague") > 2 / 3
    assert matched("stranger") < 0.05


def test_the_document_states_the_models_threshold() -> None:
    assert f"The threshold is **{THESIS.threshold}**" in DOCUMENT


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_models_evidence_is_the_documents_row(cluster: int) -> None:
    tables = re.findall(rf"^\| \*\*{THESIS.threshold}\*\* \|(.*)\|$", DOCUMENT, re.MULTILINE)
    row = [float(number) for number in re.findall(r"\*\*([\d.]+) ±", tables[list(CLUSTERS).index(cluster)])]
    evidence = THESIS.evidence[f"nodes_{cluster}"]
    assert row == [evidence[kind.replace(" ", "_")] for kind in (*POSITIVE, *NEGATIVE)]
