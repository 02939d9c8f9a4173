# SPDX-License-Identifier: Apache-2.0
"""Removal of other users' details from an explanation, so that only the part that the job's user may read is left.

If another user's record matched, the explanation contains only this fact, the component and the gain. It contains no
number that depends on the similarity of two users' jobs, and does not show which of several records is the nearest.
Otherwise, enough explanations would reveal the other job's words letter by letter. For the same reason, the explanation
does not show whether another user's record is among the nearest. A reader who owns many records of slightly different
similarity could derive the other record's similarity from its rank. The settings need not be hidden, since they are in
the job's environment, and a decision's reason is written for the job's user (`decision.decide`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from reprise.database.entities import Decision, Json, Scope
from reprise.matcher.support.job_story import Explained, Story, compared_with

HIDDEN_FLAG = {"hidden": True}


def hide(story: Story, uid: int) -> Story:
    """Return the user's own decisions and reports in a story, without the words of other users.

    Records' owners are read from the records and from the decisions' alternatives. A record without an owner counts as
    another user's.
    """
    decisions = [_hide(one) for one in story.decisions if one.decision.uid == uid]
    names = {one.decision.user for one in decisions}
    shown = {one.decision.id for one in decisions}
    named = {row["record"] for one in decisions for row in one.decision.alternatives}
    named |= {one.decision.record_id for one in decisions}
    records = {number: record for number, record in story.records.items() if number in named}
    outcomes = [outcome for outcome in story.outcomes if outcome.uid == uid]
    own = {outcome.id for outcome in outcomes}
    others = {number for number, record in records.items() if not _is_open(record.scope, record.metadata, names)}
    return dataclasses.replace(
        story,
        decisions=decisions,
        outcomes=outcomes,
        records=records,
        hidden=story.hidden | others,
        shared={key: count for key, count in story.shared.items() if key in shown},
        # the reason has bandwidths of the record's application
        forwarders=tuple(
            dataclasses.replace(share, reason="") if others else share for share in story.forwarders if share.uid == uid
        ),
        patterns={number: some for number, some in story.patterns.items() if number in own},
    )


def _is_open(scope: str, owner: Mapping[str, Any], names: set[str]) -> bool:
    return scope == Scope.CLUSTER or owner.get("user") in names


def _hide(one: Explained) -> Explained:
    from reprise.matcher.decision.decide import NEAREST

    decision = one.decision
    names = {decision.user}
    rows = decision.alternatives
    linked = sum(row["score"] is not None for row in rows)
    if rows and linked < NEAREST and all(_is_open(row["scope"], row, names) for row in rows):
        return one  # with fewer than NEAREST rows, no other records exist, and none is another user's
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
