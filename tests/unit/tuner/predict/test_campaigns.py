# SPDX-License-Identifier: Apache-2.0
"""Test prediction from campaigns of several sizes: an admin's commands give a record for a size that was never run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from reprise.database.entities import TrialRole
from reprise.database.facade import Database
from tests.unit.component_values import definition
from tests.unit.tuner.components.test_campaign import SHORT, Site

pytestmark = pytest.mark.slow

PARAMETERS = {
    "ROMIO_BUFFER": {"default": 4, "values": [1, 2, 4, 8, 16]},
    "ROMIO_WAY": {"type": "str", "default": "plain", "values": ["plain", "quick"]},
}
# Prints made-up times: the write time depends on the size and the settings, and has some noise.
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes={nodes} --ntasks-per-node=1
way=3; [ "$ROMIO_WAY" = quick ] && way=2
awk -v volume={volume} -v nodes={nodes} -v buffer="${{ROMIO_BUFFER:-4}}" -v way=$way -v seed=$RANDOM 'BEGIN {{
  srand(seed); write = volume * way / nodes * (1 + 1 / buffer) * (0.99 + 0.02 * rand())
  printf "write: %.6f s\\nread: %.6f s\\n", write, volume * (0.2 + 5 * rand()) }}'
"""
PARTS = {"write": {"pattern": r"^write: ([\d.]+) s"}, "read": {"pattern": r"^read: ([\d.]+) s", "weight": 0}}


def campaign(site: Site, nodes: int, volume: int, **search: Any) -> Path:
    script = site.write(f"scripts/{nodes}-{volume}.sh", SCRIPT.format(nodes=nodes, volume=volume))
    described = {
        "name": f"{nodes} nodes, volume {volume}".replace(",", ""),
        "component": "small",
        "settings": {"family": "dumps", "features": {"volume": volume}, "objective": {"parts": PARTS}},
        "application": {"script": str(script), "user": "alice"},
        "search": {"method": "tpe", "initial": 4, "budget": 8, **search},
        "executor": {"kind": "local"},
        **SHORT,
    }
    return site.write(f"campaigns/{nodes}-{volume}.yaml", yaml.safe_dump(described))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a site with finished campaigns of six sizes (nodes and volume)."""
    found = Site(tmp_path_factory.mktemp("site"))
    found.write("components/small.yaml", yaml.safe_dump(definition(PARAMETERS, context=["nodes"])))
    for nodes in (1, 2, 4):
        for volume in (10, 40):
            done = found.reprise("tune", "run", campaign(found, nodes, volume), "--yes", "--json")
            assert done.exit_code == 0, done.output
    yield found


@pytest.fixture(scope="module")
def models(site: Site) -> dict[str, dict[str, Any]]:
    done = site.reprise("tune", "predict", "train", "dumps", "--json")
    assert done.exit_code == 0, done.output
    return {one["target"]: one for one in json.loads(done.stdout)["models"]}


def search(site: Site, nodes: int, volume: int, *words: str) -> Result:
    return site.reprise("tune", "predict", "search", campaign(site, nodes, volume), "--json", *words)


def test_each_part_has_a_model_and_an_inaccurate_model_is_not_used(
    site: Site, models: dict[str, dict[str, Any]]
) -> None:
    assert models["write"]["refused"] == "" and models["write"]["mdape"] < 20 and models["write"]["configurations"] == 6
    assert "median error" in models["read"]["refused"]
    shown = site.reprise("tune", "predict", "show", "dumps").output
    assert f"model {models['read']['id']} is not used: its median error is" in shown and shown.count("dumps") >= 2
    by_number = site.reprise("tune", "predict", "show", str(models["read"]["id"]), "--json")
    assert [one["target"] for one in json.loads(by_number.stdout)["models"]] == ["read"]


def test_a_size_that_was_never_run_gets_a_setting_in_seconds(site: Site, models: dict[str, dict[str, Any]]) -> None:
    told = json.loads(search(site, 3, 20).stdout)
    assert told["parametrization"]["ROMIO_WAY"] == "quick" and told["gain"] > 0.2
    assert told["models"] == [models["write"]["id"]] and told["search_s"] < 60


def test_a_predicted_setting_becomes_a_record_once_a_comparison_has_confirmed_it(
    site: Site, models: dict[str, dict[str, Any]]
) -> None:
    done = search(site, 3, 30, "--verify")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    with Database.open(site.directory / "reprise.db") as database:
        record = database.record(told["record"])
        assert record.context["predicted"] is True and record.context["nodes"] == 3
        assert record.parametrization["predicted"]["models"] == [models["write"]["id"]]
        roles = [trial.role for trial in database.trials(told["campaign"])]
        assert roles.count(TrialRole.SEARCH) == 1


@pytest.mark.parametrize(
    ("nodes", "volume", "said"),
    [
        (8, 20, "nodes = 8 is outside the range that was run, 1 to 4"),
        (2, 80, "volume = 80 is outside the range that was run, 10 to 40"),
    ],
)
def test_a_configuration_outside_the_measured_range_is_refused(
    site: Site, models: dict[str, dict[str, Any]], nodes: int, volume: int, said: str
) -> None:
    done = search(site, nodes, volume)
    assert done.exit_code == 1 and said in str(done.exception)


def test_a_family_that_nobody_tuned_is_reported_in_one_line(site: Site) -> None:
    done = site.reprise("tune", "predict", "train", "lattice")
    assert done.exit_code == 1 and "family 'lattice': no campaign belongs to it" in str(done.exception)
