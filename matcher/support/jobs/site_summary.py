# SPDX-License-Identifier: Apache-2.0
"""Summary of a site's recent decisions and savings, and of the classes of jobs that are worth tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from reprise.config import Config
from reprise.database.entities import UnmatchedClass
from reprise.database.for_support import SupportDatabase
from reprise.database.totals import DAY_S
from reprise.endpoint import configured
from reprise.matcher.benefit.production_gain import Gain
from reprise.matcher.benefit.total_saving import Given, saved_by, total
from reprise.matcher.decision.refusal import BY_THE_SITE
from reprise.matcher.errors import MatcherError
from reprise.matcher.support.jobs import expected_gains, unmatched_classes
from reprise.matcher.support.staff import Reader
from reprise.matcher.wire.client import PING, ask_in_order
from reprise.matcher.wire.credentials import credential_settings

JSON_VERSION = 1
DAYS = 90  # number of days whose decisions are reported by day
RECENT_DAYS = 30  # number of days over which totals are summed
CLASSES = 10  # maximum number of listed classes of jobs worth tuning, and of listed records
UNKNOWN = Gain(None, None, None, 0, 0)
MATCHED = ("apply", "holdout", "observe")


def read(database: SupportDatabase, config: Config, now: float) -> dict[str, Any]:
    """Return the summary. Its `classes` name users; `document` returns the JSON form that a given reader may see."""
    offset_s = _offset_s(now)
    rows = database.decisions_by_day(now - DAYS * DAY_S, offset_s)
    recent = int((now + offset_s) // DAY_S) - RECENT_DAYS
    verdicts: dict[str, int] = {}
    for day, verdict, count in rows:
        if day > recent:
            verdicts[verdict] = verdicts.get(verdict, 0) + count
    decided = sum(verdicts.values())
    production = expected_gains.in_production(database)
    given = [
        Given(number, jobs, hours, production.get(number, UNKNOWN))
        for number, (jobs, hours) in database.given_by_record(now - RECENT_DAYS * DAY_S).items()
    ]
    records: dict[str, int] = {}
    for (_, status), count in database.record_counts().items():
        records[status] = records.get(status, 0) + count
    known = expected_gains.read(database, None, production)
    classes = unmatched_classes.ranked(database.unmatched(now - RECENT_DAYS * DAY_S, refused=BY_THE_SITE), known)
    return {
        "version": JSON_VERSION,
        "at": now,
        "recent_days": RECENT_DAYS,
        "days": [{"day": _date(day), "verdict": verdict, "decisions": count} for day, verdict, count in rows],
        "decisions": verdicts,
        "match_rate": sum(verdicts.get(one, 0) for one in MATCHED) / decided if decided else None,
        "benefit": {**asdict(total(given)), "by_record": _by_record(given)},
        "records": records,
        "campaigns_running": database.running_campaigns(),
        "matcher": _matcher(config),
        "expected": asdict(unmatched_classes.Expected.of(known)),
        "unmatched_classes": len(classes),
        "unmatched_node_hours": sum(one.node_hours for one in classes),
        "classes": classes[:CLASSES],
    }


def document(found: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    """Return the JSON-ready form of a summary for programs. Within a version, keys are only added."""
    classes: list[UnmatchedClass] = found["classes"]
    expected = unmatched_classes.Expected(**found["expected"])
    told = unmatched_classes.document(classes, expected, reader, lambda _: None)["classes"]
    return {**found, "classes": told}


def _by_record(given: list[Given]) -> list[dict[str, Any]]:
    """Return the records in decreasing order of savings; records without a measured saving come last."""
    rows: list[dict[str, Any]] = []
    for one in given:
        saved, low, high = saved_by(one) or (None, None, None)
        found = {"gain": one.gain.gain, "gain_low": one.gain.low, "gain_high": one.gain.high}
        about = {"record": one.record, "jobs": one.jobs, "node_hours": one.node_hours}
        rows.append({**about, "saved": saved, "low": low, "high": high, **found})
    return sorted(rows, key=lambda row: (row["saved"] is None, -(row["saved"] or 0.0), -row["node_hours"]))[:CLASSES]


def _matcher(config: Config) -> dict[str, Any]:
    """Return whether the matcher answers and, if so, its status."""
    try:
        for _, reply in ask_in_order(
            configured(config.matcher),
            PING,
            matcher_uid=config.matcher.uid,
            credential=credential_settings(config.matcher),
            timeout_s=1.0,
        ):
            return {"answers": True, **{key: reply.get(key) for key in ("version", "records", "uptime_s")}}
    except (MatcherError, OSError):
        pass
    return {"answers": False, "version": None, "records": None, "uptime_s": None}


def _offset_s(now: float) -> float:
    """Return the seconds by which this host's time zone is ahead of UTC."""
    offset = datetime.fromtimestamp(now).astimezone().utcoffset()
    return offset.total_seconds() if offset else 0.0


def _date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * DAY_S, UTC):%F}"
