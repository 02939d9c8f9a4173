# SPDX-License-Identifier: Apache-2.0
"""What a campaign leaves: its summary, and records where something was gained beyond doubt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from reprise.database.entities import Campaign, CampaignState, Record
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.model.component import Comparison, Publication
from reprise.tuner.steps.step import ProblemResult


def finish(
    database: TunerDatabase,
    campaign: Campaign,
    definition: Definition,
    results: Sequence[ProblemResult],
    publications: Sequence[Publication],
    now: float,
    remarks: Sequence[str] = (),
) -> Sequence[int]:
    """End the campaign in one transaction. Returns the records' ids: none for a publication whose gain's lower bound is
    not over 0, nor where there is nothing that jobs could be given."""
    summary: dict[str, Any] = {"problems": [_problem(result) for result in results]}
    if notes := "; ".join(dict.fromkeys(one.note for one in publications if one.note)):
        summary["note"] = notes
    if remarks:
        summary["remarks"] = list(remarks)
    with database.transaction():
        database.set_campaign_state(campaign.id, CampaignState.COMPLETE, summary)
        return [
            database.publish(
                _record(campaign, definition, one, now), one.artifact, campaign_id=campaign.id, summary=summary
            )
            for one in publications
            if one.gain_low > 0 and one.environment
        ]


def _record(campaign: Campaign, definition: Definition, publication: Publication, now: float) -> Record:
    return Record(
        component=campaign.component,
        component_version=campaign.component_version,
        scope=definition.scope,
        created_at=now,
        context={**campaign.context, **publication.context},
        metadata=campaign.spec["metadata"],
        parametrization=publication.parametrization,
        environment=publication.environment,
        conflicts=publication.conflicts,
        default=publication.default,
        tuned=publication.tuned,
        gain=publication.gain,
        gain_low=publication.gain_low,
        gain_high=publication.gain_high,
    )


def _problem(result: ProblemResult) -> dict[str, Any]:
    return {
        "problem": result.problem,
        "trials": result.trials,
        "failed": result.failed,
        "pruned": result.pruned,
        "stopped": result.stopped,
        "note": result.note,
        "default": dataclasses.asdict(result.default),
        "comparison": _comparison(result.comparison) if result.comparison else None,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "winner": dict(comparison.winner),
        "default": dataclasses.asdict(comparison.default),
        "tuned": dataclasses.asdict(comparison.tuned),
        "gain": comparison.gain,
        "gain_low": comparison.gain_low,
        "gain_high": comparison.gain_high,
    }
