# SPDX-License-Identifier: Apache-2.0
"""A campaign as it stands in the database, for programs (one JSON object) and for people (a table)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from database.facade import Database
from database.model import Campaign, CampaignState
from reprise.config import Config
from tuner import place
from tuner.progress import percent
from tuner.rows import node_seconds

STALE_S = 600.0  # without a sign of life; while Slurm does not answer, minutes may go by
INTERRUPTED = "interrupted"  # by the database it runs, but nobody runs it


def state_of(campaign: Campaign, config: Config) -> str:
    """The campaign's state; INTERRUPTED where its coordinator was killed."""
    if campaign.state is CampaignState.RUNNING and not place.is_running(campaign, config):
        return INTERRUPTED
    return campaign.state


def describe(database: Database, campaign: Campaign, config: Config, now: float | None = None) -> dict[str, Any]:
    """Everything of interest. `states` counts the trials by state; a complete campaign has `problems`.

    `silent_s`: seconds since its coordinator gave its last sign of life; None where there is no coordinator.
    """
    state = state_of(campaign, config)
    silent = max(0.0, (time.time() if now is None else now) - (campaign.heartbeat_at or campaign.created_at))
    trials = database.trials(campaign.id)
    records = [record for record in database.records(status=None) if record.campaign_id == campaign.id]
    record = records[-1] if records else None
    artifact = database.artifact(record.artifact_sha256) if record and record.artifact_sha256 else None
    return {
        "campaign": campaign.id,
        "name": campaign.name,
        "component": campaign.component,
        "component_version": campaign.component_version,
        "state": state,
        "silent_s": silent if state == CampaignState.RUNNING else None,
        "error": campaign.summary.get("error"),
        "note": campaign.summary.get("note", ""),
        "directory": str(directory := place.directory_of(campaign, config)),
        "job_name": place.job_name(campaign, directory),
        "trials": len(trials),
        "states": Counter(str(trial.state) for trial in trials),
        "node_hours": node_seconds(trials) / 3600,
        "problems": campaign.summary.get("problems", []),
        "gain": record and {"gain": record.gain, "low": record.gain_low, "high": record.gain_high},
        "record": record and record.id,
        "parametrization": record and record.parametrization,
        "artifact": artifact and artifact.path,
    }


def table(described: Mapping[str, Any]) -> Table:
    """One line for each problem of a complete campaign; what is too wide wraps."""
    names = ("problem", "default", "tuned", "gain (95 % bounds)", "trials", "settings")
    columns = [Column(name, overflow="fold") for name in names]
    result = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for problem in described["problems"]:
        found = problem["comparison"]
        if found:
            bounds = f"{100 * found['gain_low']:+.1f} to {100 * found['gain_high']:+.1f}"
            settings = " ".join(f"{name}={value}" for name, value in found["winner"].items())
            cells = [_time(found["default"]), _time(found["tuned"]), f"{percent(found['gain'])} ({bounds})"]
        else:
            cells, settings = [_time(problem["default"]), "", ""], problem["note"]
        failed = f", {problem['failed']} failed" if problem["failed"] else ""
        result.add_row(problem["problem"], *cells, f"{problem['trials']}{failed}", settings)
    return result


def last_words(described: Mapping[str, Any]) -> str:
    """What came of the campaign and what to do next, in one line."""
    number = described["campaign"]
    if described["error"]:
        return f"campaign {number} is {described['state']}: {described['error']}"
    if described["state"] == INTERRUPTED:
        return (
            f"campaign {number} is interrupted after {described['trials']} trials, and its job may still hold nodes: "
            f"`reprise tune resume {number}`, or `scancel --name={described['job_name']}`"
        )
    if (silent := described["silent_s"]) is not None and silent > STALE_S:
        return (
            f"campaign {number} runs, but its coordinator gave no sign of life for {silent / 60:.0f} minutes: look "
            f"whether it hangs; `reprise tune stop {number}`, then `reprise tune resume {number}`"
        )
    if described["state"] != CampaignState.COMPLETE:
        return f"campaign {number} is {described['state']} after {described['trials']} trials"
    if described["record"] is None and described["note"]:
        return f"campaign {number} is complete: {described['note']}"
    if described["record"] is None:
        return (
            f"campaign {number} is complete: nothing was better than the default beyond noise, so no record is written"
        )
    where = f", artifact {described['artifact']}" if described["artifact"] else ""
    note = f", {described['note']}" if described["note"] else ""
    return f"campaign {number} is complete: record {described['record']}{where}{note}"


def _time(measured: Mapping[str, Any]) -> str:
    """Mean and half the interval with the digits that the interval leaves: two of its own, as far as the point."""
    mean, half, unit = measured["mean"], (measured["high"] - measured["low"]) / 2, measured["unit"]
    if unit == "s" and mean < 1:
        factor, unit = (1e3, "ms") if mean >= 1e-3 else (1e6, "µs")
        mean, half = mean * factor, half * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half or mean / 100))))
    return f"{_plain(mean, decimals)} ± {_plain(half, decimals)} {unit}"


def _plain(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
