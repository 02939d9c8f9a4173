# SPDX-License-Identifier: Apache-2.0
"""Test the dashboard against Grafana's own schema, as its SDK has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.monitoring.monitoring_files import dashboard

OF_PROMETHEUS = {"titleFormat"}
"""Keys of annotations that the schema leaves to the data source, Prometheus."""


def read_by_grafana(given: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard after it was read and written by Grafana's SDK, which drops keys that the schema lacks."""
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    plugins.register_default_plugins()
    written: dict[str, Any] = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))
    return written


def lost(given: Any, read: Any, place: str = "") -> Iterator[str]:
    """Yield the places of `given` that are missing or different in `read`."""
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key not in read:
                yield f"{place}.{key}"
            else:
                yield from lost(value, read[key], f"{place}.{key}")
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for number, value in enumerate(given):
            yield from lost(value, read[number], f"{place}[{number}]")
    elif given != read:
        yield place


@pytest.mark.slow
def test_grafana_knows_every_key_of_the_dashboard() -> None:
    given = dashboard()
    assert [one for one in lost(given, read_by_grafana(given)) if one.rpartition(".")[2] not in OF_PROMETHEUS] == []


@pytest.mark.slow
@pytest.mark.parametrize("place", [("options", "graphModes"), ("fieldConfig", "default"), ("targets2",)])
def test_a_misspelt_key_is_found(place: tuple[str, ...]) -> None:
    given = dashboard()
    into = next(panel for panel in given["panels"] if panel["type"] == "stat")
    for key in place[:-1]:
        into = into[key]
    into[place[-1]] = {"a": 1}
    assert [one for one in lost(given, read_by_grafana(given)) if one.endswith(place[-1])]


def test_panels_have_distinct_ids_a_description_and_places_that_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells


def test_every_panel_uses_the_data_source_that_the_viewer_chose() -> None:
    given = dashboard()
    assert given["templating"]["list"][0]["name"] == "datasource"
    sources = [target["datasource"]["uid"] for panel in given["panels"] for target in panel.get("targets", ())]
    assert set(sources) == {"${datasource}"} and len(sources) > 20
