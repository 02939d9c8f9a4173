# SPDX-License-Identifier: Apache-2.0
"""Trials as training data: the configuration that was run, the setting, and the time of each part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.entities import Campaign, TrialState
from reprise.database.for_tuner import TunerDatabase
from reprise.tuner.model.space import Parametrization

VOLUME = "volume"
"""Name of the feature for the volume of moved data, in any unit that is the same throughout a family."""


@dataclass(frozen=True)
class Row:
    """One trial as training data.

    `configuration`: numbers, the same for all trials of a campaign (problem size, nodes, tasks per node). `metrics`:
    seconds of each part. `trial`: id of the trial.
    """

    configuration: Mapping[str, float]
    point: Parametrization
    metrics: Mapping[str, float]
    trial: int = 0

    @property
    def key(self) -> tuple[tuple[str, float], ...]:
        """Return the identity of the configuration."""
        return tuple(sorted(self.configuration.items()))

    @property
    def volume(self) -> float:
        """Volume of data that the trial moved, or 1 if the configuration does not have it."""
        return self.configuration.get(VOLUME, 1.0)


def collect(database: TunerDatabase, family: str, component: str | None = None) -> tuple[Campaign | None, list[Row]]:
    """Return a family's newest campaign, and all completed trials of the family's campaigns with known times of parts.

    Only campaigns with the component and version of the newest campaign count. The campaign is None if the family has
    no campaign.
    """
    newest: Campaign | None = None
    found: list[Row] = []
    for campaign in database.campaigns():
        settings = _settings(campaign)
        if settings.get("family") != family or component not in (None, campaign.component):
            continue
        newest = newest or campaign
        if (campaign.component, campaign.component_version) != (newest.component, newest.component_version):
            continue
        numbers = configuration(settings, campaign.spec.get("size", {}))
        found += [
            Row(numbers, row.parametrization, row.metrics, row.id)
            for row in database.trials(campaign.id)
            if row.state is TrialState.COMPLETE and row.metrics
        ]
    return newest, found


def configuration(settings: Mapping[str, Any], size: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a campaign's configuration: its `features`, and its jobs' nodes and tasks."""
    features = settings.get("features", {})
    tasks = {"tasks": size["nodes"] * size["tasks_per_node"]} if {"nodes", "tasks_per_node"} <= size.keys() else {}
    return {name: float(value) for name, value in {**tasks, **size, **features}.items()}


def metrics_of(rows: Iterable[Row]) -> list[str]:
    """Return the parts of the objective that all rows have, in the order of the first row."""
    names: list[str] | None = None
    for row in rows:
        names = list(row.metrics) if names is None else [name for name in names if name in row.metrics]
    return names or []


def to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows as JSON values."""
    return [
        {
            "configuration": dict(row.configuration),
            "point": dict(row.point),
            "metrics": dict(row.metrics),
            "trial": row.trial,
        }
        for row in rows
    ]


def from_json(data: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Read rows from JSON values."""
    return [Row(one["configuration"], one["point"], one["metrics"], one["trial"]) for one in data]


def _settings(campaign: Campaign) -> Mapping[str, Any]:
    found: Mapping[str, Any] = campaign.spec["definition"].get("settings", {})
    return found
