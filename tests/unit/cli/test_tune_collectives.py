# SPDX-License-Identifier: Apache-2.0
"""Test `reprise tune collectives`, which defines a campaign by a few options."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from reprise.cli import main
from reprise.cli.tune_collectives import collectives
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import TunerError
from reprise.tuner.openmpi import rules_channel
from reprise.tuner.openmpi.collectives_campaign import STRATEGIES, campaign, read_sizes
from reprise.tuner.openmpi.collectives_settings import Settings
from tests.places import ROOT
from tests.unit.collectives_values import BUILD


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_channel, "describe", lambda _: BUILD)


def command(directory: Path, *words: str) -> Result:
    file = directory / "reprise.toml"
    file.write_text(
        f'[database]\npath = "{directory}/db"\n[tuner]\ncomponents = "{ROOT}/etc/components"\nwork = "{directory}"\n'
    )
    return CliRunner().invoke(main.reprise, ["--config", str(file), "tune", "collectives", *words])


def test_sizes_are_a_range_of_doublings_or_a_list() -> None:
    assert read_sizes("4:64") == [4, 8, 16, 32, 64]
    assert read_sizes("512k:1M") == [2**19, 2**20]
    assert read_sizes("8, 64K,1g") == [8, 2**16, 2**30]


@pytest.mark.parametrize("text", ["", "x", "4:", ":4", "8:4", "0:8", "1.5", "-4", "4,,8", "4:8:16", "8KB"])
def test_other_sizes_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(TunerError, match=r"^sizes: ") as caught:
        read_sizes(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_gives_a_valid_campaign(strategy: str) -> None:
    found = campaign(
        collectives=["bcast"], sizes="4:1K", nodes=[2, 4], tasks_per_node=[2], strategy=strategy, node_hours=3
    )
    definition = check(found, "here")
    assert definition.search.method == {"shared": "gp-shared", "per-size": "gp-ei"}[strategy]
    assert definition.settings["together"] is (strategy == "shared")
    assert definition.budget.node_hours == 3


def test_the_written_campaign_is_the_one_that_would_run(tmp_path: Path) -> None:
    done = command(tmp_path, "--nodes", "4", "--sizes", "8,1K", "--partition", "night", "--write")
    assert done.exit_code == 0, done.output
    assert check(yaml.safe_load(done.output), "it").executor.partition == "night"


def test_an_installed_benchmark_is_stored_with_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(tmp_path, "--nodes", "4", "--benchmark", "osu", "--benchmark-path", "osu", "--write")
    settings = check(yaml.safe_load(done.output), "it").settings
    assert (settings["benchmark"], settings["benchmark_path"]) == ("osu", str(tmp_path / "osu"))
    assert "benchmark" not in command(tmp_path, "--nodes", "4", "--write").output


def test_every_benchmark_can_be_chosen() -> None:
    (option,) = [one.type for one in collectives.params if one.name == "benchmark"]
    assert isinstance(option, click.Choice)
    assert tuple(option.choices) == get_args(Settings.model_fields["benchmark"].annotation)


def test_a_plan_shows_the_first_runs_and_the_cost(tmp_path: Path) -> None:
    done = command(tmp_path, "--nodes", "4", "--collectives", "bcast, reduce", "--sizes", "8,1K", "--plan")
    assert done.exit_code == 0, done.output
    assert "bcast:8 bcast:1024 reduce:8 reduce:1024" in done.output
    assert "node-hours" in done.output
    assert not (tmp_path / "db").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nodes", "1"], "one task cannot communicate"),
        (["--nodes", "4", "--collectives", "bcats"], "'bcats' cannot be tuned"),
        (["--nodes", "4", "--sizes", "6", "--collectives", "reduce"], "use multiples of 4"),
        (["--nodes", "4", "--sizes", "big"], "'big' is not a size"),
        (["--nodes", "4,", "--sizes", "8"], "--nodes: '4,': '' is not a positive number"),
        (["--nodes", "4,0"], "'0' is not a positive number"),
        (["--nodes", "4", "--tasks-per-node", "2,2"], "a value is listed twice"),
        (["--nodes", "4", "--benchmark", "imb"], "set it to the path of IMB"),
    ],
)
def test_impossible_campaigns_are_refused_in_one_line(tmp_path: Path, words: list[str], why: str) -> None:
    done = command(tmp_path, *words, "--plan")
    assert isinstance(done.exception, TunerError)
    assert why in str(done.exception)
    assert "\n" not in str(done.exception)
