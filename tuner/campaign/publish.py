# SPDX-License-Identifier: Apache-2.0
"""Write a campaign's results to the database: its summary, and a record for each gain beyond noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.database.entities import Campaign, CampaignState, Json, Record, RecordProfile, RecordStatus, Scope
from reprise.database.errors import NotFoundError
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.definition.campaign_definition import Definition
from reprise.tuner.errors import TunerError
from reprise.tuner.model.component import Comparison, Publication, Published
from reprise.tuner.steps.step import ProblemResult

CLUSTER = "cluster"  # key of the cluster's name in a record's context; every record has this key


def kept_profile(at: float, summary: str, document: Json) -> dict[str, Any]:
    """Return an application's profile as it is kept in a campaign's spec until the campaign has a record.

    The arguments are fields of RecordProfile.
    """
    return {"at": at, "summary": summary, "document": document}


def finish(
    database: TunerDatabase,
    campaign: Campaign,
    definition: Definition,
    results: Sequence[ProblemResult],
    publications: Sequence[Publication],
    now: float,
    remarks: Sequence[str] = (),
    earlier: Sequence[Published] | None = None,
) -> Sequence[int]:
    """Store a campaign's results and end the campaign, in one transaction; return the ids of its records.

    A publication becomes a record only if the lower bound of its gain is above 0 and it has settings for jobs.

    `earlier` are the records whose settings the publications include. Raise TunerError without any change if another
    campaign has published a record since they were read, because the new record would replace that record without
    including its settings. This is not checked if `earlier` is None.
    """
    summary: dict[str, Any] = {"problems": [_problem(result) for result in results]}
    if notes := "; ".join(dict.fromkeys(one.note for one in publications if one.note)):
        summary["note"] = notes
    if remarks:
        summary["remarks"] = list(remarks)
    with database.transaction():
        if publications and earlier is not None and earlier != given_already(database, campaign.component):
            raise TunerError(
                "another campaign has published a record for the whole cluster in the meantime: include it with "
                f"`reprise tune resume {campaign.id}`"
            )
        database.set_campaign_state(campaign.id, CampaignState.COMPLETE, summary)
        return [
            _publish(database, campaign, _record(campaign, definition, one, now), one, summary)
            for one in publications
            if one.gain_low > 0 and one.environment
        ]


def _publish(
    database: TunerDatabase, campaign: Campaign, record: Record, publication: Publication, summary: Mapping[str, Any]
) -> int:
    for artifact in publication.other_artifacts:
        database.add_artifact(artifact)
    number = database.publish(record, publication.artifact, campaign_id=campaign.id, summary=summary)
    for one in publication.replaces:
        reason = f"its settings are among those of record {number}"
        database.set_record_status(one, RecordStatus.RETIRED, at=record.created_at, reason=reason)
    if profile := campaign.spec.get("profile"):
        database.set_profile(RecordProfile(number, **profile))
    return number


def given_already(database: TunerDatabase, component: str) -> Sequence[Published]:
    """Return a component's active records for the whole cluster, each with the problems of its campaign."""
    return [
        Published(record, _problems(database, record))
        for record in database.records(component=component)
        if record.scope is Scope.CLUSTER and record.component == component
    ]


def _problems(database: TunerDatabase, record: Record) -> Sequence[str]:
    try:
        spec = database.campaign(record.campaign_id).spec if record.campaign_id is not None else {}
    except NotFoundError:
        return []
    return [one["problem"] for one in spec.get("problems", [])]


def _context(campaign: Campaign, publication: Publication) -> Mapping[str, Any]:
    """Return the part of a record's context that comes from the campaign.

    For a combination of components, this is only the cluster; the rest comes from the combined components.
    """
    if not publication.component:
        return campaign.context
    return {name: value for name, value in campaign.context.items() if name == CLUSTER}


def _record(campaign: Campaign, definition: Definition, publication: Publication, now: float) -> Record:
    return Record(
        component=publication.component or campaign.component,
        component_version=publication.version or campaign.component_version,
        scope=definition.scope,
        created_at=now,
        context={**_context(campaign, publication), **publication.context},
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
