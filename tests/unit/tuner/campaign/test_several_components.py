# SPDX-License-Identifier: Apache-2.0
"""Test `reprise tune run --component A,B`, which runs a campaign for each component, one after the other."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from reprise.cli import tune
from reprise.database.entities import Campaign, CampaignState
from reprise.tuner.definition.campaign_definition import Definition
from tests import fake_component
from tests.unit.tuner_site import Command, Site


@pytest.fixture(autouse=True)
def components(site: Site) -> None:
    for name in ("other", "third"):
        text = fake_component.FILE.replace("name: fake", f"name: {name}")
        (site.directory / f"components/{name}.yaml").write_text(text)


def run(site: Site, *options: str, **changes: Any) -> Any:
    file = site.directory / "campaign.yaml"
    given = site.definition(search={"method": "random", "budget": 2, "initial": 2}, **changes)
    file.write_text(yaml.safe_dump({key: value for key, value in given.items() if value is not None}))
    return Command(site)("tune", "run", str(file), "--yes", *options)


def campaigns(site: Site) -> list[Campaign]:
    found: list[Campaign] = site.read(lambda database: list(database.campaigns()))
    return found[::-1]


@pytest.mark.slow
def test_each_component_has_a_separate_campaign(site: Site) -> None:
    done = run(site, "--component", "fake, other,third", "--json", component=None, settings={"problems": ["p/1"]})
    assert done.exit_code == 0, done.output
    assert [one.name for one in campaigns(site)] == ["test, fake", "test, other", "test, third"]
    assert [one.component for one in campaigns(site)] == ["fake", "other", "third"]
    assert {one.state for one in campaigns(site)} == {CampaignState.COMPLETE}
    assert [json.loads(line)["campaign"] for line in done.stdout.splitlines()] == [1, 2, 3]


def definitions(site: Site, components: str, **changes: Any) -> list[Definition]:
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(**changes)))
    return tune._definitions(file, "replay", components, None, site.config)


def test_settings_are_for_the_component_that_the_file_names(site: Site) -> None:
    other, fake = definitions(site, "other,fake")
    assert other.settings == {} and fake.settings["problems"] == ["p/1", "p/2"]
    assert other.executor.kind == fake.executor.kind == "replay"


def test_one_component_on_the_command_line_replaces_the_files_and_keeps_the_campaigns_name(site: Site) -> None:
    assert [(one.name, one.component) for one in definitions(site, "other")] == [("test", "other")]


@pytest.mark.slow
def test_a_component_whose_campaign_fails_does_not_prevent_the_next_campaign(site: Site) -> None:
    mark = site.directory / "failed-once"
    before = f"[ -e {mark} ] || {{ touch {mark}; exit 9; }}"
    done = run(site, "--component", "fake,other", component=None, settings={"problems": ["p/1"], "before": before})
    assert done.exit_code == 1, done.output
    assert [one.state for one in campaigns(site)] == [CampaignState.FAILED, CampaignState.COMPLETE]
    assert "not tuned: fake\n" in done.stderr and "the default itself did not run" in done.stderr


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("fake,other,fake", "--component: 'fake' is repeated"),
        ("fake,nobody", "component 'nobody': "),
        ("fake,", "must consist of letters, digits and . _ -"),
    ],
)
def test_an_error_in_a_later_component_is_reported_before_the_first_campaign_runs(
    site: Site, names: str, why: str
) -> None:
    done = run(site, "--component", names)
    assert done.exit_code != 0
    assert why in done.stderr + str(done.exception)
    assert not campaigns(site)
