# SPDX-License-Identifier: Apache-2.0
"""What a user may read of why their own job got what it got: of other users' records only that one matched, its
component and its gain.

No number that depends on how alike their job and another's are is shown, nor which of several is the nearest: from
enough such answers the other job's words can be found letter by letter. Nor is it shown whether another user's record
is among the nearest: with many records of their own between, that would be such a number too. The job has what it was
given in its environment, and the reason of a decision is written so that its user may read it (`decision.decide`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from reprise.database.entities import Decision, Json, Scope
from reprise.matcher.decision.decide import NEAREST
from reprise.matcher.support.job_story import Explained, Story, compared_with

HIDDEN_FLAG = {"hidden": True}


def hide(story: Story, uid: int) -> Story:
    """What `uid` may read: their own decisions and reports, without what other users' records would tell.

    Whose a record is, its decision's alternatives say; where they do not, it is another's.
    """
    decisions = [_hide(one) for one in story.decisions if one.decision.uid == uid]
    names = {one.decision.user for one in decisions}
    shown = {one.decision.id for one in decisions}
    named = {row["record"] for one in decisions for row in one.decision.alternatives}
    named |= {one.decision.record_id for one in decisions}
    records = {number: record for number, record in story.records.items() if number in named}
    others = {number for number, record in records.items() if not _is_open(record.scope, record.metadata, names)}
    return dataclasses.replace(
        story,
        decisions=decisions,
        outcomes=[outcome for outcome in story.outcomes if outcome.uid == uid],
        records=records,
        hidden=story.hidden | others,
        shared={key: count for key, count in story.shared.items() if key in shown},
    )


def _is_open(scope: str, owner: Mapping[str, Any], names: set[str]) -> bool:
    return scope == Scope.CLUSTER or owner.get("user") in names


def _hide(one: Explained) -> Explained:
    decision = one.decision
    names = {decision.user}
    rows = decision.alternatives
    linked = sum(row["score"] is not None for row in rows)
    if rows and linked < NEAREST and all(_is_open(row["scope"], row, names) for row in rows):
        return one  # there are no other records at all
    changes: dict[str, Any] = {}
    compared = compared_with(decision)
    if not (compared and compared["used"] and _is_open(compared["scope"], compared, names)):
        changes |= {"score": None} if decision.score is not None else {}
        changes |= {"fields": ()} if decision.fields else {}
    if rows:
        used = [row for row in rows if row["used"]]
        changes["alternatives"] = [row if _is_open(row["scope"], row, names) else _alternative(row) for row in used]
    if decision.injected and decision.verdict != "apply" and not _gave_own(decision, names):
        changes["injected"] = {}
    return dataclasses.replace(
        one,
        decision=dataclasses.replace(decision, **changes),
        shortfall=None,
        hidden=tuple(sorted({*one.hidden, *changes})),
    )


def _gave_own(decision: Decision, names: set[str]) -> bool:
    used = [row for row in decision.alternatives if row["used"]]
    return bool(used) and all(_is_open(row["scope"], row, names) for row in used)


def _alternative(row: Json) -> dict[str, Any]:
    return {**row, "user": None, "job": None, "score": None, "why": "", "refusal": "", **HIDDEN_FLAG}
