# SPDX-License-Identifier: Apache-2.0
"""JSON documents on jobs, records and campaigns for the pages and REST, limited to what the reader may see."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.config import Config
from reprise.database import Database, record_listing
from reprise.database.entities import Campaign, ForwarderShare, ForwarderState, ListedJob, Record
from reprise.database.forwarding import MOST_PERIODS
from reprise.database.job_search import EVER, Wanted
from reprise.database.totals import WantedRecords
from reprise.matcher.benefit import record_benefit as benefit
from reprise.matcher.forwarding import pool_list
from reprise.matcher.forwarding.pool_timeline import timeline
from reprise.matcher.support import job_lookup
from reprise.matcher.support.job_story import Story
from reprise.matcher.support.jobs import job_listing, run_time_rank
from reprise.tuner.report import campaign_overview
from reprise.web.people import Person

JSON_VERSION = 1
PAGE = 50  # maximum number of jobs, records or campaigns on a page
LAST = EVER  # latest time that can be searched for, in Unix seconds
POINTS = 2000  # maximum number of jobs in a chart
HOURS = 24  # default length of the forwarders' timeline
MOST_HOURS = 744  # 31 days


def jobs(
    database: Database, cluster: str, wanted: Wanted, person: Person
) -> tuple[Sequence[ListedJob], dict[str, Any]]:
    """Return one page of jobs, newest first, and the same jobs as a JSON document.

    Users who are not staff only get their own jobs, that is, the jobs of their user id, whatever user name is stored
    with the decision. Campaigns run on `cluster`.
    """
    if not person.staff:
        wanted = dataclasses.replace(wanted, user=None, uid=None, only=person.uid)
    found = database.jobs(wanted)
    origins = job_listing.Origins.of(database, found, cluster)
    return found, job_listing.document(found, person.reader, not person.staff, origins)


def job(
    database: Database, config: Config, name: str, cluster: str | None, person: Person
) -> tuple[Story, run_time_rank.Beside | None]:
    """Return all data on a job that the reader may see, and the rank of its run time among similar jobs.

    Slurm is queried only for staff. Raise NothingKnownError if the database contains nothing about the job that the
    reader may see.
    """
    told = job_lookup.of_job(database, config, name, cluster, ask_slurm=person.staff)
    story = job_lookup.for_reader(told, person.reader, name)
    return story, run_time_rank.of_story(database, story, person.reader)


def job_document(story: Story, found: run_time_rank.Beside | None) -> dict[str, Any]:
    """Return the document that `reprise jobs show --json` prints."""
    return {"version": JSON_VERSION, "explanation": story.to_json(), "beside": found.to_json() if found else None}


def records(database: Database, wanted: WantedRecords) -> tuple[Sequence[Record], dict[str, Any]]:
    """Return one page of records, newest first, and the same records as a JSON document."""
    found = database.some_records(wanted)
    return found, {"version": JSON_VERSION, "records": [record_listing.one(one) for one in found]}


def record(database: Database, number: int) -> tuple[Record, dict[str, Any]]:
    """Return a record, and a JSON document with its total gain in production and the run times of its jobs.

    Raise NotFoundError if there is no such record.
    """
    found = database.record(number)
    compared = database.compared(number, since=benefit.since(found))
    production = benefit.production(compared, time.time())
    runs = [
        {
            "at": one.at,
            "nodes": one.nodes,
            "held_out": one.held_out,
            "elapsed_s": one.elapsed_s,
            "failed": one.failed,
        }
        for one in sorted(compared, key=lambda one: one.at)[-POINTS:]
        if one.elapsed_s is not None
    ]
    told = {
        "version": JSON_VERSION,
        "record": record_listing.one(found),
        "production": production,
        "runs": runs,
        "history": record_listing.history(database.status_changes(number)),
        "profile": profile.document if (profile := database.profile(number)) else None,
        "quarantined_for": [dataclasses.asdict(one) for one in database.user_quarantines(number)],
    }
    return found, told


def campaigns(database: Database, config: Config, before: int | None) -> tuple[Sequence[Campaign], dict[str, Any]]:
    """Return one page of campaigns, newest first, and the same campaigns as a JSON document."""
    found = database.some_campaigns(before, PAGE)
    counts = database.trial_counts([one.id for one in found])
    rows = [
        {
            "campaign": one.id,
            "name": one.name,
            "component": one.component,
            "begun_at": one.created_at,
            "state": str(campaign_overview.state_of(one, config)),
            "trials": counts.get(one.id, 0),
        }
        for one in found
    ]
    return found, {"version": JSON_VERSION, "campaigns": rows}


def campaign(database: Database, config: Config, number: int) -> dict[str, Any]:
    """Return the document that `reprise tune report --json` prints. Raise NotFoundError if there is no campaign."""
    return campaign_overview.describe(database, database.campaign(number), config, detailed=True)


def progress(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that change while a campaign runs; the campaign's open pages receive these values as events."""
    found = described["details"]["problems"]
    return {
        "campaign": described["campaign"],
        "state": described["state"],
        "trials": described["trials"],
        "states": dict(described["states"]),
        "node_hours": described["node_hours"],
        "running": described["running"],
        "last_words": campaign_overview.last_words(described),
        "problems": [
            {
                "problem": one["problem"],
                "phase": one["phase"],
                "default": one["default"] and one["default"]["mean"],
                "gain": one["comparison"] and one["comparison"]["gain"],
                "unit": found[one["problem"]]["unit"],
                "trajectory": found[one["problem"]]["trajectory"],
            }
            for one in described["problems"]
        ],
    }


def forwarders(
    database: Database, config: Config, arbiter_runs: bool | None, hours: int, now: float
) -> tuple[Sequence[ForwarderShare], Sequence[ForwarderState], dict[str, Any]]:
    """Return the shares and the states of forwarders in the last `hours`, newest first, and a JSON document.

    The document has the list that `reprise forwarders list --json` prints, and a timeline. `more` is true if the
    timeline lacks its oldest periods, because there are too many.
    """
    cluster, since = config.site.cluster, now - hours * 3600
    with database.one_state():
        listed = pool_list.document(
            config.forwarding, arbiter_runs, database.states_now(cluster), database.shares_now(cluster)
        )
        shares = database.shares_between(cluster, since, now, MOST_PERIODS)
        states = database.states_between(cluster, since, now, MOST_PERIODS)
    drawn = timeline(config.forwarding.forwarders, shares, states, since, now)
    more = MOST_PERIODS in (len(shares), len(states))
    return shares, states, {"version": JSON_VERSION, **listed, "timeline": {"hours": hours, **drawn, "more": more}}
