# SPDX-License-Identifier: Apache-2.0
"""What a user may read of why their own job got what it got: no word of another user's. Numbers stay.

The reason of a decision goes to its user anyway, and names nobody else's job (`decision.decide`). What the job was
really given it has in its environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from reprise.database.entities import Decision, Json, Scope
from reprise.matcher.support.job_story import Explained, Story, compared_with

HIDDEN_FLAG = {"hidden": True}


def hide(story: Story, uid: int) -> Story:
    """What `uid` may read: their own decisions and reports, without the words of the records of others.

    Whose a record is, its decision's alternatives say; where they do not, it is another's.
    """
    decisions = [_hide(one) for one in story.decisions if one.decision.uid == uid]
    names = {one.decision.user for one in decisions}
    others = {number for number, record in story.records.items() if not _is_open(record.scope, record.metadata, names)}
    shown = {one.decision.id for one in decisions}
    return dataclasses.replace(
        story,
        decisions=decisions,
        outcomes=[outcome for outcome in story.outcomes if outcome.uid == uid],
        hidden=story.hidden | others,
        shared={key: count for key, count in story.shared.items() if key in shown},
    )


def _is_open(scope: str, owner: Mapping[str, Any], names: set[str]) -> bool:
    return scope == Scope.CLUSTER or owner.get("user") in names


def _hide(one: Explained) -> Explained:
    decision = one.decision
    names = {decision.user}
    rows = decision.alternatives
    changes: dict[str, Any] = {}
    compared = compared_with(decision)
    if decision.fields and not (compared and _is_open(compared["scope"], compared, names)):
        changes["fields"] = [_field(field) for field in decision.fields]
    if not all(_is_open(row["scope"], row, names) for row in rows):
        changes["alternatives"] = [row if _is_open(row["scope"], row, names) else _alternative(row) for row in rows]
    if decision.injected and decision.verdict != "apply" and not _gave_own(decision, names):
        changes["injected"] = {}
    return dataclasses.replace(
        one, decision=dataclasses.replace(decision, **changes), hidden=tuple(sorted({*one.hidden, *changes}))
    )


def _gave_own(decision: Decision, names: set[str]) -> bool:
    used = [row for row in decision.alternatives if row["used"]]
    return bool(used) and all(_is_open(row["scope"], row, names) for row in used)


def _field(field: Json) -> dict[str, Any]:
    return {**_value(field), "parts": [_value(part) for part in field["parts"]]}


def _value(row: Json) -> dict[str, Any]:
    """A row of the waterfall, the record's value only where it is a number."""
    right = row["right"]
    return {**row} if right is None or isinstance(right, int | float) else {**row, "right": None, **HIDDEN_FLAG}


def _alternative(row: Json) -> dict[str, Any]:
    return {**row, "user": None, "job": None, **HIDDEN_FLAG}
