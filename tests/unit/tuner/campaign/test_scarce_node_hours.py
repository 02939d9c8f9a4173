# SPDX-License-Identifier: Apache-2.0
"""Test that campaigns with too few node-hours are refused, and that the message states a sufficient number."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest
import yaml

from reprise.database.entities import CampaignState, TrialRole
from reprise.tuner.definition.campaign_definition import CampaignError
from reprise.tuner.errors import CampaignFailedError
from reprise.tuner.executors.executor import Finished
from reprise.tuner.executors.local_executor import LocalExecutor
from tests import fake_component
from tests.unit.tuner_site import Command, Site

SEARCH = {"method": "random", "initial": 4, "budget": 4}
NEEDED = (2 + 4 + 6) / 3600
"""Node-hours that a problem needs if each of its runs takes 1 s on 1 node."""
SCARCE = 0.8 * NEEDED


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Give each run a fixed run time; return these times by the problem's directory, so that a test can change them."""
    taken = {"p_1": 1.0, "p_2": 1.0}
    poll = LocalExecutor.poll

    def polled(self: LocalExecutor, timeout_s: float) -> list[Finished]:
        found = []
        for one in poll(self, timeout_s):
            assert one.result.output.directory
            # 1 s for the proof, whose directory belongs to no problem
            elapsed_s = taken.get(one.result.output.directory.parent.name, 1.0)
            output = dataclasses.replace(one.result.output, elapsed_s=elapsed_s)
            found.append(dataclasses.replace(one, result=dataclasses.replace(one.result, output=output)))
        return found

    monkeypatch.setattr(LocalExecutor, "poll", polled)
    return taken


def begun(site: Site, node_hours: float) -> int:
    return site.begin(search=SEARCH, budget={"node_hours": node_hours})


def said(error: BaseException) -> float:
    """Return the node-hours that a refusal names as sufficient."""
    found = re.search(r"at least ([\d.e-]+) node-hours", str(error))
    assert found, error
    return float(found[1])


def searched(site: Site, campaign: int) -> Counter[str]:
    return Counter(one.problem for one in site.trials(campaign) if one.role is TrialRole.SEARCH)


@pytest.mark.slow
def test_a_campaign_whose_default_costs_too_much_ends_before_its_search(site: Site) -> None:
    campaign = begun(site, 2 * SCARCE)
    with pytest.raises(CampaignFailedError, match=r"^p/1: .* pay for 1 of the 4 trials that its search") as found:
        site.run(campaign)
    assert {trial.role for trial in site.trials(campaign)} == {TrialRole.DEFAULT}
    assert site.campaign(campaign).state is CampaignState.FAILED
    assert said(found.value) == pytest.approx(2 * NEEDED, rel=0.06) and said(found.value) >= 2 * NEEDED
    site.run(enough := begun(site, said(found.value)))
    assert searched(site, enough) == {"p/1": 4, "p/2": 4}


def test_a_campaign_is_refused_at_once_if_an_earlier_one_shows_that_it_costs_too_much(site: Site) -> None:
    with pytest.raises(CampaignFailedError):
        site.run(begun(site, 2 * SCARCE))
    with pytest.raises(CampaignError, match=r"are too few to search 2 problems, at 1 s for a run") as found:
        begun(site, 2 * SCARCE)
    assert site.read(lambda database: len(database.campaigns())) == 1
    begun(site, said(found.value))


def test_several_campaigns_are_refused_before_the_first_one_runs(site: Site) -> None:
    with pytest.raises(CampaignFailedError):
        site.run(begun(site, 2 * SCARCE))
    given = site.definition(search=SEARCH, budget={"node_hours": 2 * SCARCE})
    del given["component"]  # the option --component names the components
    (site.directory / "components/other.yaml").write_text(fake_component.FILE.replace("name: fake", "name: other"))
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(given))
    done = Command(site)("tune", "run", str(file), "--yes", "--component", "other,fake")
    assert done.exit_code != 0 and "are too few to search 2 problems" in str(done.exception)
    assert site.read(lambda database: len(database.campaigns())) == 1


@pytest.mark.slow
def test_a_later_problem_that_costs_too_much_is_left_out_and_reported(site: Site, seconds: dict[str, float]) -> None:
    """The second problem's runs take ten times as long as the first's, which its default runs show to the campaign."""
    seconds["p_2"] = 10.0
    campaign = begun(site, 4 * NEEDED)
    site.run(campaign)
    assert searched(site, campaign) == {"p/1": 4}
    assert {trial.role for trial in site.trials(campaign) if trial.problem == "p/2"} == {TrialRole.DEFAULT}
    first, second = site.campaign(campaign).summary["problems"]
    assert "node-hours" not in first["note"]
    assert second["note"] == "its share of the node-hours pays for 0 of the 4 trials that a search needs"
