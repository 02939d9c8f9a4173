# SPDX-License-Identifier: Apache-2.0
"""Test that the alert rules and the dashboard agree with the metrics and the documentation."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.unit.monitoring.monitoring_files import RULES, alerts, metrics_in, queries

GUIDE = (ROOT / "docs/how-to/alerts.md").read_text()
MONITORING = (ROOT / "docs/how-to/monitoring.md").read_text()
LOG = (ROOT / "docs/reference/log.md").read_text()
RUN = {"reprise-mail", "python"}
"""Examples that are programs."""
PROMETHEUS_LABELS = {"job", "instance", "le"}


def documented() -> dict[str, set[str]]:
    """Return the metrics on the pages, which other tests compare with the code, each with its labels."""
    found: dict[str, set[str]] = {}
    page = (ROOT / "docs/reference/metrics.md").read_text()
    for name, kind, labels in re.findall(r"^\| `(reprise_\w+)` \| (\w+) \| ([^|]*)\|", page, re.MULTILINE):
        for end in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
            found[name + end] = set(re.findall(r"`(\w+)`", labels))
    page = (ROOT / "docs/reference/forwarder.md").read_text().partition("\n## Metrics\n")[2]
    for name, labels in re.findall(r"^\| `(\w+)(?:\{([\w,]+)\})?`(?: \*)? \|", page, re.MULTILINE):
        found[f"reprise_forwarder_{name}"] = set(filter(None, labels.split(",")))
    assert len(found) > 60
    return found


def test_metrics_and_labels_of_alerts_and_panels_exist() -> None:
    known = documented()
    used = [(name, str(rule["expr"])) for name, rule in alerts().items()] + list(queries())
    named = [(where, metric, labels) for where, text in used for metric, labels in metrics_in(text).items()]
    assert [(where, metric) for where, metric, _ in named if metric not in known] == []
    unknown = [(where, metric, labels - known[metric] - PROMETHEUS_LABELS) for where, metric, labels in named]
    assert [one for one in unknown if one[2]] == []
    assert len(named) > 40


def test_every_alert_names_the_problem_its_cause_and_its_remedy() -> None:
    for name, rule in alerts().items():
        said = rule["annotations"]
        assert set(said) == {"summary", "cause", "remedy", "runbook_url"}, name
        assert all(said[key].endswith(".") and "\n" not in said[key] for key in ("summary", "cause", "remedy")), name
        assert rule["labels"]["service"] == "reprise", name


def test_every_alert_links_to_its_section_which_has_its_severity() -> None:
    sections = dict(re.findall(r"^### (Reprise\w+)\n\n\*(\w+)\.\*", GUIDE, re.MULTILINE))
    assert sections == {name: rule["labels"]["severity"].capitalize() for name, rule in alerts().items()}
    for name, rule in alerts().items():
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page == "file:///usr/local/share/doc/reprise/html/how-to/alerts.html" and anchor == name.lower()


def test_events_and_settings_that_alerts_name_exist() -> None:
    text = RULES.read_text()
    events = set(re.findall(r"event=([\w-]+)", text))
    assert len(events) > 3 and [event for event in events if f"`{event}`" not in LOG] == []


def test_jobs_that_alerts_and_panels_name_are_those_of_the_guide() -> None:
    text = RULES.read_text() + "".join(query for _, query in queries())
    assert set(re.findall(r'job="([\w-]+)"', text)) <= set(re.findall(r"job_name: ([\w-]+)", MONITORING))


def test_examples_are_installed_with_links_to_the_installed_pages(tmp_path: Path) -> None:
    make = ["make", "--silent", "-C", str(ROOT), "install-docs", f"DESTDIR={tmp_path}", "PREFIX=/usr"]
    subprocess.run(make, check=True, umask=0o077)
    examples = tmp_path / "usr/share/doc/reprise/examples"
    rooms = [ROOT / "etc" / name for name in ("monitoring", "mail", "open-ondemand")]
    installed = [path for path in examples.rglob("*") if path.is_file()]
    shipped = {path.name for room in rooms for path in room.glob("*.*")} | RUN
    assert {path.name for path in installed} == shipped
    for path in examples.rglob("*"):
        runs = path.is_dir() or path.name in RUN
        assert path.stat().st_mode & 0o777 == (0o755 if runs else 0o644), path
    assert "\nREPRISE=/usr/bin/reprise\n" in (examples / "reprise-mail").read_text()
    assert "file:///usr/share/doc/reprise/html/how-to/alerts.html#" in (examples / RULES.name).read_text()
    assert [path for path in installed if "/usr/local" in path.read_text()] == []
    assert "%doc /usr/share/doc/reprise/examples\n" in (ROOT / "packaging/reprise.spec").read_text()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('sum(rate(reprise_a_total{x="1", instance=~"b"}[5m]))', {"reprise_a_total": {"x", "instance"}}),
        ("reprise_a > 0", {"reprise_a": set()}),
        ("up == 0", {}),
    ],
)
def test_metrics_and_labels_are_found_in_a_query(query: str, found: dict[str, set[str]]) -> None:
    assert metrics_in(query) == found
