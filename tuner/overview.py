# SPDX-License-Identifier: Apache-2.0
"""A campaign as it stands in the database, for programs (one JSON object) and for people (a table)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from database.facade import Database
from database.model import Campaign, CampaignState
from reprise.config import Config
from tuner import place
from tuner.progress import percent

INTERRUPTED = "interrupted"  # by the database it runs, but nobody runs it


def state_of(campaign: Campaign, config: Config) -> str:
    """The campaign's state; INTERRUPTED where its coordinator was killed."""
    if campaign.state is CampaignState.RUNNING and not place.is_running(campaign, config):
        return INTERRUPTED
    return campaign.state


def describe(database: Database, campaign: Campaign, config: Config) -> dict[str, Any]:
    """Everything of interest. `states` counts the trials by state; a complete campaign has `problems`."""
    trials = database.trials(campaign.id)
    records = [record for record in database.records(status=None) if record.campaign_id == campaign.id]
    record = records[-1] if records else None
    artifact = database.artifact(record.artifact_sha256) if record and record.artifact_sha256 else None
    return {
        "campaign": campaign.id,
        "name": campaign.name,
        "component": campaign.component,
        "component_version": campaign.component_version,
        "state": state_of(campaign, config),
        "error": campaign.summary.get("error"),
        "directory": str(place.directory_of(campaign, config)),
        "trials": len(trials),
        "states": Counter(str(trial.state) for trial in trials),
        "problems": campaign.summary.get("problems", []),
        "gain": record and {"gain": record.gain, "low": record.gain_low, "high": record.gain_high},
        "record": record and record.id,
        "parametrization": record and record.parametrization,
        "artifact": artifact and artifact.path,
    }


def table(described: Mapping[str, Any]) -> Table:
    """One line for each problem of a complete campaign."""
    result = Table("problem", "default", "tuned", "gain (95 %)", Column("settings", overflow="fold"), "trials")
    for problem in described["problems"]:
        found = problem["comparison"]
        if found:
            bounds = f"{percent(found['gain_low'])} to {percent(found['gain_high'])}"
            settings = " ".join(f"{name}={value}" for name, value in found["winner"].items())
            cells = [_time(found["default"]), _time(found["tuned"]), f"{percent(found['gain'])} ({bounds})", settings]
        else:
            cells = [_time(problem["default"]), "", problem["note"], ""]
        failed = f" ({problem['failed']} failed)" if problem["failed"] else ""
        result.add_row(problem["problem"], *cells, f"{problem['trials']}{failed}")
    return result


def last_words(described: Mapping[str, Any]) -> str:
    """What came of the campaign and what to do next, in one line."""
    number = described["campaign"]
    if described["error"]:
        return f"campaign {number} is {described['state']}: {described['error']}"
    if described["state"] != CampaignState.COMPLETE:
        return f"campaign {number} is {described['state']} after {described['trials']} trials"
    if described["record"] is None:
        return (
            f"campaign {number} is complete: nothing was better than the default beyond noise, so no record is written"
        )
    where = f", artifact {described['artifact']}" if described["artifact"] else ""
    return f"campaign {number} is complete: record {described['record']}{where}"


def _time(measured: Mapping[str, Any]) -> str:
    mean, half, unit = measured["mean"], (measured["high"] - measured["low"]) / 2, measured["unit"]
    if unit == "s" and mean < 1:
        factor, unit = (1e3, "ms") if mean >= 1e-3 else (1e6, "µs")
        mean, half = mean * factor, half * factor
    return f"{mean:.4g} ± {half:.2g} {unit}"
