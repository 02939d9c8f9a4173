# SPDX-License-Identifier: Apache-2.0
"""Make an overview of a campaign from the database, as a JSON object for programs and as a table for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from reprise.config import Config
from reprise.database.entities import Campaign, CampaignState, Record, Trial
from reprise.database.for_tuner import TunerDatabase
from reprise.database.gain_subject import subject
from reprise.tuner.definition import campaign_place, component_registry
from reprise.tuner.model.trial_rows import OPEN, node_seconds
from reprise.tuner.report import analysis, words

STALE_S = 600.0  # seconds without a coordinator's sign of life before a warning; minutes may pass while Slurm is down
INTERRUPTED = "interrupted"  # state of a campaign that has no coordinator, although the database has it as running


def state_of(campaign: Campaign, config: Config) -> str:
    """Return the campaign's state in the database, or INTERRUPTED if its coordinator was killed."""
    if campaign.state is CampaignState.RUNNING and not campaign_place.is_running(campaign, config):
        return INTERRUPTED
    return campaign.state


def describe(
    database: TunerDatabase, campaign: Campaign, config: Config, now: float | None = None, *, detailed: bool = False
) -> dict[str, Any]:
    """Return a campaign's description, which can be written as JSON.

    `states` counts the trials by state. `problems` has the state of each problem. `records` are all records that the
    campaign wrote; `record`, `gain`, `parametrization` and `artifact` are those of the first record. `silent_s` is the
    number of seconds since the coordinator's last sign of life; None if the campaign is not running. If `detailed` is
    set, `details` has the additional content of a report (see `tuner.report.analysis`).
    """
    state = state_of(campaign, config)
    now = time.time() if now is None else now
    trials = database.trials(campaign.id)
    records = [_record(database, record, detailed) for record in database.records_of_campaign(campaign.id)]
    usual = _usual(campaign)
    first = records[0] if records else dict.fromkeys(("record", "gain", "parametrization", "artifact"))
    described = {
        "campaign": campaign.id,
        "name": campaign.name,
        "component": campaign.component,
        "component_version": campaign.component_version,
        "context": campaign.context,
        "application": _application(campaign),
        "begun_at": campaign.created_at,
        "state": state,
        "silent_s": max(0.0, now - (campaign.heartbeat_at or campaign.created_at))
        if state == CampaignState.RUNNING
        else None,
        "error": campaign.summary.get("error"),
        "note": campaign.summary.get("note", ""),
        "remarks": campaign.summary.get("remarks", []),
        "directory": str(directory := campaign_place.directory_of(campaign, config)),
        "job_name": campaign_place.job_name(campaign, directory),
        "trials": len(trials),
        "states": Counter(str(trial.state) for trial in trials),
        "running": [_running(trial, now, usual.get(trial.problem, {})) for trial in trials if trial.state in OPEN],
        "node_hours": node_seconds(trials) / 3600,
        "warm_start": campaign.spec.get("warm_start", []),
        "problems": _problems(campaign, trials),
        **{key: first[key] for key in ("gain", "record", "parametrization", "artifact")},
        "records": records,
    }
    return {**described, "details": _details(campaign, trials)} if detailed else described


def _record(database: TunerDatabase, record: Record, detailed: bool) -> dict[str, Any]:
    artifact = database.artifact(record.artifact_sha256) if record.artifact_sha256 else None
    described = {
        "record": record.id,
        "context": record.context,
        "gain": {
            "gain": record.gain,
            "low": record.gain_low,
            "high": record.gain_high,
            "of": subject(record.parametrization),
        },
        "parametrization": record.parametrization,
        "artifact": artifact and artifact.path,
    }
    return {**described, "status": str(record.status), "environment": record.environment} if detailed else described


def _application(campaign: Campaign) -> dict[str, Any] | None:
    """Return the application that a campaign tunes, or None if the campaign's records apply to every job."""
    application: dict[str, Any] | None = campaign.spec["definition"].get("application")
    return application


def _running(trial: Trial, now: float, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a trial that has not ended.

    `begun_s`: seconds since the trial was started, including its time in the queue; None if it has not been started.
    """
    begun = None if trial.started_at is None else max(0.0, now - trial.started_at)
    about = {"problem": trial.problem, "number": trial.number, "role": str(trial.role), "job": trial.slurm_job_id}
    return {**about, "parametrization": trial.parametrization, "usual": usual, "begun_s": begun}


def _by_problem(campaign: Campaign, trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each problem, with the problems in the campaign's order."""
    found: dict[str, list[Trial]] = {one["problem"]: [] for one in campaign.spec.get("problems", [])}
    for trial in trials:
        found.setdefault(trial.problem, []).append(trial)
    return found


def _usual(campaign: Campaign) -> dict[str, Any]:
    """Return the values of settings that reports omit, by problem.

    In a campaign for several components, settings with their default value are omitted, since there are too many
    settings to read. In other campaigns, all settings are shown.
    """
    if campaign.spec.get("component", {}).get("kind") != component_registry.TOGETHER:
        return {}
    return {one["problem"]: one["default"] for one in campaign.spec.get("problems", [])}


def _problems(campaign: Campaign, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return each problem's state from the campaign's summary, or from the trials if the problem is not in the summary.

    The keys `phase`, `best` and `usual` are added.
    """
    rows = _by_problem(campaign, trials)
    begun = [key for key, of in rows.items() if of]
    known = {one["problem"]: {"phase": "done", **one} for one in campaign.summary.get("problems", [])}
    usual = _usual(campaign)
    return [
        {
            **(known.get(key) or analysis.standing(key, of, over=bool(of) and key != begun[-1])),
            "best": analysis.best_point(of),
            "usual": usual.get(key, {}),
        }
        for key, of in rows.items()
    ]


def _details(campaign: Campaign, trials: Sequence[Trial]) -> dict[str, Any]:
    definition = campaign.spec["definition"]
    axes = {one["problem"]: one for one in campaign.spec.get("problems", [])}
    rows = _by_problem(campaign, trials)
    found = {
        key: analysis.details(of, campaign.created_at, axes.get(key, {}).get("kinds", {})) for key, of in rows.items()
    }
    usual = _usual(campaign)
    for key, of in found.items():
        of["usual"] = usual.get(key, {})
    repeated = [one for of in found.values() for one in of["repeated"]]
    return {
        "problems": found,
        "grids": {key: one["grid"] for key, one in axes.items()},
        "noise": {"variation": analysis.pooled_variation(repeated), "points": len(repeated)},
        "cost": analysis.cost(trials, definition["executor"]["max_trial_s"]),
        "definition": definition,
        "versions": campaign.spec.get("versions", {}),
    }


def table(described: Mapping[str, Any]) -> Table:
    """Return a table with a row for each problem; long texts in cells are wrapped."""
    names = ("problem", "default", "tuned", "gain (95 % bounds)", "trials", "settings")
    columns = [Column(name, overflow="fold") for name in names]
    result = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for problem in described["problems"]:
        found = problem["comparison"]
        if found:
            settings = words.settings(found["winner"], problem["usual"])
            cells = [words.interval(found["default"]), words.interval(found["tuned"]), words.gain(found)]
        else:
            default, best = problem["default"], problem.get("best")
            cells = [words.interval(default) if default else "", "", ""]
            settings = problem["note"] or (f"so far {words.settings(best['point'], problem['usual'])}" if best else "")
        failed = f", {problem['failed']} failed" if problem["failed"] else ""
        result.add_row(words.printable(problem["problem"]), *cells, f"{problem['trials']}{failed}", settings)
    return result


def last_words(described: Mapping[str, Any]) -> str:
    """Return one line with the campaign's result or state, and with the user's next step if there is one."""
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
            f"campaign {number} runs, but its coordinator gave no sign of life for {silent / 60:.0f} minutes: check "
            f"whether it hangs; if so, `reprise tune stop {number}`, then `reprise tune resume {number}`"
        )
    if described["state"] != CampaignState.COMPLETE:
        return f"campaign {number} is {described['state']} after {described['trials']} trials"
    if described["record"] is None and described["note"]:
        return f"campaign {number} is complete: {described['note']}"
    if described["record"] is None and any(_is_better(problem) for problem in described["problems"]):
        return f"campaign {number} is complete: jobs cannot be given the best settings, so no record is written"
    if described["record"] is None:
        return (
            f"campaign {number} is complete: nothing was better than the default beyond noise, so no record is written"
        )
    note = f", {described['note']}" if described["note"] else ""
    return f"campaign {number} is complete: {', '.join(map(_written, described['records']))}{note}"


def _written(record: Mapping[str, Any]) -> str:
    return f"record {record['record']}" + (f", artifact {record['artifact']}" if record["artifact"] else "")


def _is_better(problem: Mapping[str, Any]) -> bool:
    return bool(problem["comparison"] and problem["comparison"]["gain_low"] > 0)
