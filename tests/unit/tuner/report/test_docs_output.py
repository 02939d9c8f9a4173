# SPDX-License-Identifier: Apache-2.0
"""Check that docs/reference/campaign-output.md lists exactly the keys of a campaign's JSON object."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reprise.database.entities import TrialRole, TrialState
from tests.places import ROOT
from tests.unit.report_values import searched
from tests.unit.tuner_site import Site

PAGE = (ROOT / "docs/reference/campaign-output.md").read_text()


def keys(heading: str) -> set[str]:
    """Return the keys in the first column of the table in which this column has the header `heading`."""
    table = PAGE.split(f"| {heading} | meaning |\n")[1].split("\n\n")[0]
    return {key for row in table.splitlines()[1:] for key in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.fixture
def described(site: Site) -> dict[str, Any]:
    campaign = searched(site)
    point = {"size": 4, "kind": "b"}
    campaign.compared([(10.0, 8.0), (10.2, 8.1), (9.9, 8.2)], point)
    campaign.trial(TrialRole.SEARCH, point, None, state=TrialState.RUNNING)
    campaign.publish((0.2, 0.1, 0.3), {"parameters": point})
    return campaign.described()


def test_every_key_of_the_object_is_on_the_page(described: dict[str, Any]) -> None:
    assert keys("key") == {"version", *described}


def test_every_key_of_a_problem_is_on_the_page(described: dict[str, Any]) -> None:
    assert [keys("key of a problem") ^ set(problem) for problem in described["problems"]] == [set(), set()]
    compared = described["problems"][0]["comparison"]
    assert set(re.findall(r"`(\w+)`", PAGE.split("| `comparison` |")[1].split("|")[0])) == set(compared)


def test_every_key_of_a_running_trial_is_on_the_page(described: dict[str, Any]) -> None:
    assert described["running"]
    assert [keys("key of a running trial") ^ set(trial) for trial in described["running"]] == [set()]


def test_every_key_of_a_record_is_on_the_page(described: dict[str, Any]) -> None:
    (record,) = described["records"]
    assert keys("key of a record") | {"status", "environment"} == set(record)
    assert set(re.findall(r"`(\w+)`", PAGE.split("| `gain` | ")[1].split("|")[0])) == set(record["gain"])
