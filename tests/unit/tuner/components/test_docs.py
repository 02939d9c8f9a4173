# SPDX-License-Identifier: Apache-2.0
"""Check that docs/reference/components.md lists every key with its default, and that its examples are valid."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from reprise.tuner.components import component_schema
from reprise.tuner.components.described_component import Via
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.shaman import shaman_experiment
from tests.places import ROOT
from tests.unit.component_values import SHIPPED, component

PAGE = (ROOT / "docs/reference/components.md").read_text()
CAMPAIGNS = (ROOT / "docs/reference/component-campaigns.md").read_text()
GUIDE = (ROOT / "docs/how-to/component.md").read_text()
BLOCKS = [
    yaml.safe_load(block) for block in re.findall(r"^ *```yaml\n(.*?)^ *```$", GUIDE + PAGE, re.MULTILINE | re.DOTALL)
]
COMPONENTS = [block for block in BLOCKS if "parameters" in block]


def table_after(words: str, page: str = PAGE) -> dict[str, list[str]]:
    """Return the rows of the first table after `words` on a page, keyed by the quoted names in their first cells."""
    rows = re.search(r"\n((?:\|.*\n)+)", page.partition(words)[2])
    assert rows, words
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1].splitlines()[2:]]
    return {name: row for row in cells for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("## Top-level keys", component_schema.ComponentFile),
        ("## activation", component_schema.ActivationSection),
        ("## parameters", component_schema.ParameterSection),
        ("## objective", component_schema.ObjectiveSection),
        ("## Settings of a campaign", component_schema.Settings),
    ],
)
def test_every_key_is_on_the_page(heading: str, model: type[BaseModel]) -> None:
    settings = heading == "## Settings of a campaign"
    table = table_after(heading, CAMPAIGNS if settings else PAGE)
    assert set(table) == set(model.model_fields)
    for name, field in model.model_fields.items():
        default = field.default
        if default in (None, "") or field.is_required() or heading == "## activation" or isinstance(default, BaseModel):
            continue
        if default is not None and isinstance(default, str | int | float):
            said = table[name][1].strip("`")
            assert said in (f"{default:g}" if isinstance(default, float) else str(default), "standard output"), name


def test_every_way_of_a_parameter_is_on_the_page() -> None:
    assert set(table_after("### Ways to pass a parameter")) == {str(via) for via in Via}


@pytest.mark.parametrize("content", COMPONENTS, ids=lambda content: content["name"])
def test_the_examples_are_components(content: dict[str, Any]) -> None:
    assert component(content).problems()


def test_the_campaign_on_the_page_is_one_of_the_first_component() -> None:
    campaign = check(next(block for block in BLOCKS if "component" in block), "the page")
    (first,) = [block for block in COMPONENTS if block["name"] == campaign.component]
    (problem,) = component(first, campaign.settings).problems()
    assert [point["SRO_PREFETCH_SIZE"] for point in problem.space.points] == [1048576, 8388608]


def test_the_example_of_forbidden_combinations_leaves_them_out() -> None:
    (content,) = [block for block in COMPONENTS if block["name"] == "pinned"]
    (problem,) = component(content).problems()
    seen = {(point["threads"], point["queue"]) for point in problem.space.points}
    assert (8, 4) not in seen and (0, 8) not in seen and (0, 4) in seen and (8, 8) in seen
    assert len(problem.space.points) == len(seen) + sum(threads >= 2 for threads, _ in seen)  # type: ignore[operator]


def test_every_shipped_component_is_on_the_page() -> None:
    page = (ROOT / "docs/reference/shipped-components.md").read_text()
    shipped = {path.stem for path in SHIPPED.glob("*.yaml") if "\nkind: application\n" in path.read_text()}
    assert shipped | {"openmpi-collectives", "mpich-collectives"} <= set(table_after("## Activation and results", page))
    assert shipped


def test_what_shaman_has_is_on_the_page() -> None:
    table = table_after("## Counterparts", (ROOT / "docs/how-to/shaman.md").read_text())
    assert set(shaman_experiment.METHODS) - {"surrogate_models"} | set(shaman_experiment.DESIGNS) <= set(table)
