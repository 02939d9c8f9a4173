# SPDX-License-Identifier: Apache-2.0
"""Test `reprise forwarders replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprise.cli.forwarders import REPLAY_POLICIES
from reprise.cli.main import reprise
from reprise.matcher.council.council_settings import THESIS_WINDOWS
from reprise.matcher.council.offline_twin import ReplayPolicy
from reprise.matcher.council.recorded_metrics import HEADER, line, read
from reprise.matcher.errors import CouncilError
from tests.places import ROOT
from tests.unit.matcher.council.council_values import READS, WRITES, report, seeded

LINES = [HEADER, *(line(0, report("ion1", window, rate)) for window, rate in ((250, 80), (1000, 100), (4000, 50)))]
FILE = "\n".join(LINES)


def two_patterns() -> str:
    """Return reports of writes that are fastest with the shortest window, and of reads that are slowest with it."""
    rng, lines = seeded(3), [HEADER]
    for context, rates in ((WRITES, (310, 300, 280, 250, 220, 200, 170)), (READS, (150, 160, 180, 200, 240, 270, 290))):
        for window, rate in zip(THESIS_WINDOWS, rates, strict=True):
            lines += [line(0, report("ion1", window, round(rate * rng.gauss(1, 0.1), 1), context)) for _ in range(20)]
    return "\n".join(lines)


def replayed(*arguments: str, text: str = FILE) -> Result:
    return CliRunner().invoke(reprise, ["forwarders", "replay", "-", "--repetitions", "2", *arguments], input=text)


def test_the_policies_of_the_option_are_those_of_the_twin() -> None:
    assert list(REPLAY_POLICIES) == [policy.value for policy in ReplayPolicy]


def test_the_performance_of_each_policy_is_printed_by_pattern(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text(FILE)
    found = CliRunner().invoke(reprise, ["forwarders", "replay", str(file), "--window", "250", "--repetitions", "2"])
    rows = [row.split() for row in found.output.splitlines()]
    assert [row[3] for row in rows[1:]] == list(REPLAY_POLICIES)
    assert rows[3] == [str(WRITES), "1000", "us", "fixed", "0.000", "0.800", "0.800"]
    assert rows[4] == [str(WRITES), "1000", "us", "oracle", "1.000", "1.000", "1.000"]


def test_chosen_policies_are_printed_as_json() -> None:
    found = json.loads(replayed("--json", "--policy", "oracle", "--policy", "ucb1", "--decisions", "20").output)
    (context,) = found["contexts"]
    assert found["version"] == 1 and context["best_window"] == 1000
    assert [one["policy"] for one in context["policies"]] == ["oracle", "ucb1"]
    assert context["policies"][0]["performance"] == [1, 1]
    assert context["windows"][0] == {"window": 250, "measurements": 1, "mean": 80}


def test_a_fixed_window_that_was_not_measured_is_reported() -> None:
    assert "fixed   not measured" in replayed("--policy", "fixed", "--window", "500").output
    found = json.loads(replayed("--policy", "fixed", "--window", "500", "--json").output)
    assert found["contexts"][0]["policies"] == [{"policy": "fixed", "precision": None, "performance": None}]


def test_the_page_shows_the_output_for_two_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/explanation/windows.md").read_text()
    shown = page.split("```console\n$ ")[1].split("```")[0]
    (tmp_path / "metrics.jsonl").write_text(two_patterns())
    monkeypatch.chdir(tmp_path)
    command = shown.splitlines()[0]
    assert f"{command}\n{CliRunner().invoke(reprise, command.split()[1:]).output}" == shown


def test_recorded_reports_on_the_page_can_be_read() -> None:
    page = (ROOT / "docs/explanation/windows.md").read_text()
    (found,) = read(page.split("```json\n")[1].split("```")[0].encode().splitlines(), "page")
    assert found == report("ion1", 125, 310.0)


@pytest.mark.parametrize("text", ["", "{}", f"{HEADER}\n{{}}"])
def test_an_unusable_file_is_reported_in_one_line(text: str) -> None:
    found = replayed(text=text)
    assert isinstance(found.exception, CouncilError) and "\n" not in str(found.exception)
