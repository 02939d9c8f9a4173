# SPDX-License-Identifier: Apache-2.0
"""Test campaigns that run batch scripts on this host, from the command line to the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.database.facade import Database
from tests.unit.component_values import definition

pytestmark = pytest.mark.slow

SHORT = {"repetitions": {"default_runs": 1, "final_pairs": 4}, "noise": {"policy": "none"}}


class Site:
    """A directory with a configuration and a database, in which tests run `reprise` commands."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "components").mkdir()
        self.write(
            "reprise.toml",
            f'[database]\npath = "{directory}/reprise.db"\n[artifacts]\ndirectory = "{directory}/artifacts"\n'
            f'[tuner]\ncomponents = "{directory}/components"\nwork = "{directory}/work"\n'
            f'functions = "{directory}/functions"\n',
        )
        assert self.reprise("db", "init").exit_code == 0

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def reprise(self, *words: object) -> Result:
        return CliRunner().invoke(reprise, ["--config", f"{self.directory}/reprise.toml", *map(str, words)])

    def run(self, script: str, component: dict[str, Any]) -> dict[str, Any]:
        """Run a campaign that tries every point of the component, and return the JSON object that `tune run` prints."""
        self.write("components/small.yaml", yaml.safe_dump(component))
        campaign = {
            "name": "small",
            "component": "small",
            "application": {"script": str(self.write("run.sh", script)), "user": "alice"},
            "search": {"method": "exhaustive"},
            "executor": {"kind": "local"},
            **SHORT,
        }
        done = self.reprise("tune", "run", self.write("campaign.yaml", yaml.safe_dump(campaign)), "--yes", "--json")
        assert done.exit_code == 0, done.output
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told


@pytest.fixture
def site(place: Path) -> Site:
    return Site(place)


def test_a_winner_that_no_variable_can_set_is_reported_without_a_record(site: Site) -> None:
    parameter = {"via": "argument", "default": 4, "values": [0, 4]}
    told = site.run('#!/bin/bash\nsleep "0.${1#--pause=}"\n', definition({"pause": parameter}))
    assert told["state"] == "complete" and told["record"] is None
    assert told["note"].startswith("no record: Reprise cannot set the arguments --pause=0 in a job")
    assert told["problems"][0]["comparison"]["winner"] == {"pause": 0}
    shown = site.reprise("tune", "status", "1").output
    assert "campaign 1 is complete: no record: Reprise cannot set the arguments --pause=0 in a job" in shown


def test_hints_that_win_become_a_record_with_a_file_that_jobs_can_read(site: Site) -> None:
    parameter = {"via": "hint", "default": 4, "unset": 4, "values": [0, 4]}
    script = '#!/bin/bash\nread -r name pause < <(grep -v "^#" "${ROMIO_HINTS:-/dev/null}")\nsleep "0.${pause:-4}"\n'
    told = site.run(script, definition({"pause": parameter}, activation={"hints": "ROMIO_HINTS"}))
    assert told["record"] and told["note"] == ""
    with Database.open(site.directory / "reprise.db", read_only=True) as database:
        (record,) = database.records(status=None)
    assert record.environment == {"ROMIO_HINTS": told["artifact"]}
    assert Path(told["artifact"]).read_text().splitlines()[-1] == "pause 0"
    assert Path(told["artifact"]).stat().st_mode & 0o777 == 0o644


def test_a_bandwidth_that_a_function_reads_is_maximized(site: Site) -> None:
    site.write("functions/site.py", "def rate(directory):\n    return float((directory / 'stdout').read_text())\n")
    objective = {"function": "site.rate", "unit": "MB/s", "direction": "maximize"}
    parameter = {"default": 1, "values": [0, 1, 2]}
    script = "#!/bin/bash\necho $((100 + SRO_SIZE * 50))\n"
    told = site.run(script, definition({"SRO_SIZE": parameter}, objective=objective))
    said = "a figure in the application's output (MB/s)"
    assert told["parametrization"] == {"parameters": {"SRO_SIZE": 2}, "gain_of": said}
    assert told["gain"]["gain"] == pytest.approx(1 - 150 / 200)
