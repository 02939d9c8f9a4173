# SPDX-License-Identifier: Apache-2.0
"""The alert rules and the dashboard, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.places import ROOT

RULES = ROOT / "etc/monitoring/reprise-alerts.yml"
DASHBOARD = ROOT / "etc/monitoring/reprise-dashboard.json"


def alerts() -> dict[str, dict[str, Any]]:
    """Return the alerts by name."""
    found = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    named = {rule["alert"]: rule for rule in found}
    assert len(named) == len(found) > 10
    return named


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Yield the title of each panel of the dashboard with each of its queries."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def metrics_in(expression: str) -> dict[str, set[str]]:
    """Return the metrics of Reprise in a query, each with the labels that its selectors name."""
    found: dict[str, set[str]] = {}
    for name, selector in re.findall(r"\b(reprise_\w+)(?:\{([^}]*)\})?", expression):
        found.setdefault(name, set()).update(re.findall(r"(\w+) *(?:=~|!~|!=|=)", selector))
    return found
