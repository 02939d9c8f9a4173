# SPDX-License-Identifier: Apache-2.0
"""Test the report on whether published rules for MPI collectives still hold when they are measured again later."""

from __future__ import annotations

from typing import Any

from bench.collectives.__main__ import DEFAULT, SHARED, Points
from bench.collectives.rules_hold import summary

CALM, HALF, SLOW = [1.0] * 8, [0.5, 0.52] * 4, [1.5, 1.6] * 4


def point(algorithm: int) -> dict[str, int]:
    return {"algorithm": algorithm, "segment": 0, "fanout": 0}


def rule(problem: str, applied: bool = True) -> dict[str, Any]:
    return {"problem": problem, "applied": applied, "gain": 0.5, "gain_low": 0.4, "gain_high": 0.6}


def test_rules_that_hold_and_rules_that_are_slower_are_counted_separately() -> None:
    told = {"records": [{"parametrization": {"rules": [rule("a"), rule("b"), rule("c", applied=False)]}}]}
    points: Points = {"a": point(1), "b": point(2), "c": point(0)}
    again = {DEFAULT: dict.fromkeys("abc", CALM), SHARED: {"a": HALF, "b": SLOW, "c": CALM}}
    found = summary(told, points, again)
    assert (found["rules"], found["rules_slower"], found["rules_faster"]) == (2, 1, 1)
    assert (found["slower"], found["claims_held"], found["problems"]) == (["b"], 0.5, 3)


def test_a_campaign_without_rules_has_no_slower_rule() -> None:
    found = summary({"records": []}, {"a": point(0)}, {DEFAULT: {"a": CALM}, SHARED: {"a": SLOW}})
    assert (found["rules"], found["rules_slower"], found["claims_held"]) == (0, 0, None)
