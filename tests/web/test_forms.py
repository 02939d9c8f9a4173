# SPDX-License-Identifier: Apache-2.0
"""Test that the form for a campaign makes a complete campaign file, for each component that Reprise ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.config import Config
from reprise.matcher.support.jobs import campaign_proposal
from reprise.tuner.components import component_file as components
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_definition import CampaignError
from reprise.tuner.forge import forwarders_settings
from reprise.tuner.mpich import mpich_settings
from reprise.tuner.nccl import nccl_settings
from reprise.tuner.openmpi import collectives_settings as collectives
from reprise.tuner.together import together_settings
from reprise.web import forms
from tests.unit.matcher_daemon import SCRIPT, job

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "etc" / "components"
NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
LANDSCAPE = next((ROOT / "bench" / "landscapes").glob("*.json.gz"))
SAID: dict[str, Any] = {
    "target": "/lustre/alice",
    "file": str(LANDSCAPE),
    "components": {"ompio": {"space": {"num_aggregators": [2]}}},
    "collectives": ["allreduce"],
    "sizes": [8, 1048576],
    "io_bytes": 500_000_000,
    "tuner_plugin": "/opt/nccl/libnccl-tuner-example.so",
    "benchmark_path": "/opt/nccl-tests/build",
}
"""Values that an admin who reads the form's hints would enter, by setting."""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.model_validate({"tuner": {"components": str(SHIPPED), "work": str(tmp_path)}})


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    """Return the settings that the form asks the user for, by component."""
    every = Config.model_validate({"tuner": {"components": str(SHIPPED)}})
    return {one["name"]: one["needs"] for one in forms.components(every)}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT)
    return path


def filled(config: Config, name: str, script: Path, **changes: str) -> dict[str, Any]:
    """Return the campaign that a component's form makes for a job on four nodes, with all required settings."""
    described = component_registry.read(name, config)
    content = campaign_proposal.definition(job("alice"), str(script), described)
    for key, value in content.get("settings", {}).items():
        content["settings"][key] = SAID.get(key) if value is None else value
    return forms.filled_in({**forms.fields_of(content), "component": name, **changes}, config)


@pytest.mark.parametrize("name", NAMES)
def test_the_form_of_each_component_makes_a_complete_file(name: str, config: Config, script: Path) -> None:
    definition = forms.from_text(forms.as_text(filled(config, name, script)))
    described = component_registry.read(name, config)
    assert campaign_proposal.missing(definition, described) == []
    if described["kind"] == "collectives":
        read = collectives.read(described["defaults"], definition["settings"])
        assert [(one.nodes, one.tasks_per_node) for one in read.layouts] == [(4, 1)], "the layout is the job's"
    elif described["kind"] == "mpich-collectives":  # its component needs an installed MPICH
        assert mpich_settings.read(described["defaults"], definition["settings"]).layouts
    elif described["kind"] == "nccl":  # its component loads the site's tuner plugin
        assert nccl_settings.read(described["defaults"], definition["settings"]).sizes == [8, 1048576]
    elif described["kind"] == "forwarders":  # its component needs a pool of forwarders and the forwarding library
        assert forwarders_settings.read(described["defaults"], definition["settings"]).forwarders == [1, 2, 4, 8]
    elif described["kind"] == "application":
        assert components.read(described, definition.get("settings", {})).parameters
    elif described["kind"] == "together":
        assert together_settings.read(definition["settings"]).components
    else:
        assert component_registry.build(described, definition["settings"], config).problems()


@pytest.mark.parametrize("name", NAMES)
def test_the_form_requests_the_settings_that_a_component_needs(
    name: str, config: Config, script: Path, asked: dict[str, Any]
) -> None:
    needs = component_registry.read(name, config).get("needs", {})
    assert asked[name] == needs
    if needs:
        with pytest.raises(CampaignError, match=r"this campaign lacks settings\.\w+: .*: fill in"):
            filled(config, name, script, settings="".join(f"{key}:\n" for key in needs))


def test_settings_that_are_not_a_mapping_are_refused_in_one_line(config: Config, script: Path) -> None:
    for text in ("[1, 2]", "a: [", "word"):
        with pytest.raises(CampaignError, match="these settings: no"):
            filled(config, "lustre", script, settings=text)


def test_a_file_for_a_job_names_its_missing_settings(config: Config) -> None:
    described = yaml.safe_load((SHIPPED / "lustre.yaml").read_text())
    content = campaign_proposal.definition(job("alice"), None, described)
    assert [line.split(":")[0] for line in campaign_proposal.missing(content, described)] == [
        "application.script",
        "settings.target",
    ]
