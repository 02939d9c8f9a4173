# SPDX-License-Identifier: Apache-2.0
"""Test `reprise forwarders plan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.forwarders import POLICIES
from reprise.cli.main import reprise
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.errors import ArbiterError, MatcherError
from reprise.matcher.forwarding.burst_drain import DrainError
from tests.places import ROOT

FILE = """{
  "forwarders": 8, "compute_nodes": 64, "jobs": [
    {"id": "a", "nodes": 8, "processes": 64, "curve": {"0": 10, "4": [50, 51, 49], "8": [60, 61, 59]}},
    {"id": "b", "nodes": 8, "processes": 64, "curve": {"0": 10, "4": [50, 51, 49]}}
  ]
}"""


def test_the_policies_of_the_option_are_those_of_the_arbiter() -> None:
    assert list(POLICIES) == [policy.value for policy in Policy]


def test_a_plan_is_printed_with_reasons(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(FILE)
    result = CliRunner().invoke(reprise, ["forwarders", "plan", str(file)])
    assert result.exit_code == 0
    assert ["a", "0", "1", "1", "4", "4", "4", "8"] in [line.split() for line in result.output.splitlines()]
    assert (
        "  a: 4 forwarders: 48.3 MB/s; 8 give 58.3 MB/s, but no allocation with them has a larger sum\n"
        in result.output
    )
    assert file.read_text() == FILE


def test_a_plan_is_printed_as_json_and_another_policy_is_explained() -> None:
    found = json.loads(CliRunner().invoke(reprise, ["forwarders", "plan", "-", "--json"], input=FILE).output)
    assert found["version"] == 1
    assert [one["policy"] for one in found["policies"]] == list(POLICIES)
    explained = CliRunner().invoke(reprise, ["forwarders", "plan", "-", "--why", "one"], input=FILE).output
    assert "  b: 1 forwarder: one for each job\n" in explained


def test_an_unusable_file_is_reported_in_one_line() -> None:
    result = CliRunner().invoke(reprise, ["forwarders", "plan", "-"], input="{}")
    assert isinstance(result.exception, ArbiterError)


def test_the_guide_shows_the_output_for_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/how-to/plan-forwarders.md").read_text()
    (tmp_path / "jobs.json").write_text(page.split("```json\n")[1].split("```")[0])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(reprise, ["forwarders", "plan", "jobs.json"])
    assert f"$ reprise forwarders plan jobs.json\n{result.output}" == page.split("```console\n")[1].split("```")[0]


@pytest.fixture
def no_forwarders(tmp_path: Path) -> str:
    config = tmp_path / "reprise.toml"
    config.write_text("[forwarding]\nforwarders = []\n")
    return str(config)


def test_a_drain_without_a_pool_is_refused(no_forwarders: str) -> None:
    result = CliRunner().invoke(reprise, ["--config", no_forwarders, "forwarders", "drain", "7", "--user", "1000"])
    assert result.exit_code == 1
    assert "no forwarders: name them in forwarding.forwarders" in result.output


def test_a_drain_reports_forwarders_that_do_not_run(tmp_path: Path) -> None:
    config = tmp_path / "reprise.toml"
    config.write_text(f'[forwarding]\nforwarders = ["{tmp_path}/none"]\nauth = "none"\n')
    words = ["--config", str(config), "forwarders", "drain", "7", "--user"]
    result = CliRunner().invoke(reprise, [*words, "root"])
    assert isinstance(result.exception, DrainError) and "job 7: data may be missing" in str(result.exception)
    assert "is no user of this system" in CliRunner().invoke(reprise, [*words, "no such user"]).output


def test_a_drain_needs_munge_unless_the_site_has_none(tmp_path: Path) -> None:
    config = tmp_path / "reprise.toml"
    text = f'[matcher]\nmunge_socket = "{tmp_path}/munged"\n[forwarding]\nforwarders = ["{tmp_path}/none"]\n'
    config.write_text(text)
    result = CliRunner().invoke(reprise, ["--config", str(config), "forwarders", "drain", "7", "--user", "root"])
    assert isinstance(result.exception, MatcherError) and "munge" in str(result.exception)
