# SPDX-License-Identifier: Apache-2.0
"""Test the report of what settings would have saved in jobs that were only observed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.database import Database
from reprise.database.entities import Outcome
from reprise.matcher.support import staff
from reprise.matcher.support.jobs import observed_benefit
from tests.unit import database_values as values

NOW = 1.7e9
HOUR = 3600.0


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Create a site with a record of a run time, of 20 % (10 to 30 %), and one of a benchmark."""
    file = tmp_path / "reprise.toml"
    file.write_text(f'[site]\ncluster = "c"\n[database]\npath = "{tmp_path}/reprise.db"\n')
    with Database.open(tmp_path / "reprise.db", create=True) as database:
        gain = {"gain": 0.2, "gain_low": 0.1, "gain_high": 0.3}
        database.add_record(values.record(component="romio", parametrization={"x": 1}, **gain))
        database.add_record(values.record(parametrization={"rules": [{"problem": "bcast/65536", "applied": True}]}))
    return file


def add(site: Path, number: int, *seconds: float | None, record: int | None = 1, **changes: Any) -> None:
    """Add an observed job on 4 nodes, with a start for each of `seconds`; None is a start without an end."""
    metadata = {"user": "alice", "program": "solver", "nodes": 4}
    given: dict[str, Any] = {"verdict": "observe", "record_id": record, "at": NOW + number, "metadata": metadata}
    with Database.open(site.parent / "reprise.db") as database:
        made = values.decision(f"d-{number}", **{**given, **changes})
        database.add_decision(made)
        for task, took in enumerate(seconds):
            run = Outcome("c", number * 100 + task, None, made.uid, "observe", made.at + task, made.id)
            if took is None:
                database.report_start(run)
            else:
                ended = dataclasses.replace(run, ended_at=run.started_at + took, elapsed_s=took, exit_status=0)
                database.report_end(dataclasses.replace(ended, confirmed=True))


def report(site: Path, *options: str) -> str:
    words = ["--config", str(site), "report", "benefit", "--observe", "--since", "2001-01-01", *options]
    done = CliRunner().invoke(reprise, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def told(site: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(site, "--json"))
    return found


def test_a_record_would_have_saved_its_gain_of_the_jobs_that_ended(site: Path) -> None:
    add(site, 1, HOUR, None)
    add(site, 2, 2 * HOUR)
    add(site, 3)  # not started
    add(site, 4, HOUR, verdict="none", record_id=None)
    add(site, 5, HOUR, verdict="apply")
    found = told(site)
    assert (found["jobs"], found["decisions"], found["node_hours"]) == (4, 5, 12.0)
    assert found["saved"] == pytest.approx(2.4), "the jobs ran without the settings: 20 % of 12 node-hours"
    assert (found["low"], found["high"]) == (pytest.approx(1.2), pytest.approx(3.6))
    assert [(one["user"], one["application"], one["nodes"], one["ended"]) for one in found["classes"]] == [
        ("alice", "solver", 4, 2)
    ]
    shown = report(site)
    assert "4 jobs would have got settings, 80% of 5 decisions. Nothing was set." in shown
    assert "would have saved 2.4 of 12.0 node-hours (20%), 95 %: 1.2 to 3.6, if these jobs gain as much" in shown


def test_the_gain_of_a_benchmark_is_not_counted_as_saved(site: Path) -> None:
    add(site, 1, HOUR)
    add(site, 2, HOUR, HOUR, record=2)
    found = told(site)
    assert (found["node_hours"], found["measured_node_hours"], found["saved"]) == (12.0, 4.0, pytest.approx(0.8))
    assert [one["saved"] for one in found["records"]] == [pytest.approx(0.8), None]
    shown = report(site)
    assert "Not estimated: 8.0 node-hours of 2 jobs, because the gain in run time of their records was not" in shown
    assert "bcast of 64 KiB in a benchmark" in shown and "unknown" in shown


def test_the_interval_of_several_records_is_narrower_than_the_sum_of_theirs(site: Path) -> None:
    with Database.open(site.parent / "reprise.db") as database:
        gain = {"gain": 0.2, "gain_low": 0.1, "gain_high": 0.3}
        other = database.add_record(values.record(component="ompio", parametrization={"x": 1}, **gain))
    add(site, 1, HOUR)
    add(site, 2, HOUR, record=other)
    found = told(site)
    assert found["saved"] == pytest.approx(1.6)
    assert found["high"] - found["saved"] == pytest.approx(0.4 * 2**0.5)


def test_gains_in_production_replace_those_of_campaigns(site: Path) -> None:
    """A site that observed again after it gave settings knows what jobs gained."""
    add(site, 1, HOUR)
    for number in range(40):
        held_out = number % 2 == 1
        place: dict[str, Any] = {"block": f"b{number // 4}", "block_size": 4, "compared_id": 1, "held_out": held_out}
        verdict = "holdout" if held_out else "apply"
        add(site, 100 + number, (1000.0 if held_out else 600.0) + number, verdict=verdict, **place)
    (one,) = told(site)["records"]
    assert one["of"] == "run time, against held-out jobs" and 0.35 < one["gain"] < 0.45


def test_no_observed_jobs_give_one_line(site: Path) -> None:
    assert report(site).startswith("Since 2001-01-01 00:00, no job was observed") and report(site).count("\n") == 1
    assert told(site)["saved"] is None


def test_names_of_others_are_hidden_from_users_who_are_not_staff(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site, 1, HOUR)
    monkeypatch.setattr(staff, "reader", lambda _group: staff.Reader(4000, False, "support"))
    assert "alice" not in report(site) + report(site, "--json") and "solver" not in report(site)
    assert told(site)["classes"][0]["hidden"] is True


def test_the_options_that_do_not_fit_are_refused(site: Path, tmp_path: Path) -> None:
    for options in (("--observe", "--png"), ("--since", "30d")):
        assert CliRunner().invoke(reprise, ["--config", str(site), "report", "benefit", *options]).exit_code == 2
    add(site, 1, HOUR)
    assert report(site, "--output", str(tmp_path)) == f"{tmp_path}/observed.txt\n"
    assert "would have saved" in (tmp_path / "observed.txt").read_text()


def test_only_the_largest_classes_are_in_the_text(site: Path) -> None:
    for number in range(observed_benefit.CLASSES + 2):
        add(site, number + 1, HOUR, metadata={"user": "alice", "program": f"p{number}", "nodes": 1})
    assert report(site).endswith("2 more classes of jobs: --json lists all\n")
