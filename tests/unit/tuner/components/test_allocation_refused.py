# SPDX-License-Identifier: Apache-2.0
"""Test that, if trials are steps in an allocation, batch scripts are refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reprise.database import Database
from tests.unit.component_values import definition
from tests.unit.tuner.components.test_campaign import Site


@pytest.mark.parametrize("words", [("run", "--yes"), ("plan",)])
@pytest.mark.parametrize("executor", [{"executor": {"kind": "allocation"}}, {}], ids=["said", "by default"])
def test_a_batch_script_in_an_allocation_is_refused_with_one_line_and_nothing_is_written(
    place: Path, words: tuple[str, ...], executor: dict[str, object]
) -> None:
    site = Site(place)
    site.write("components/small.yaml", yaml.safe_dump(definition({"SRO_SIZE": {"default": 4, "values": [0, 4]}})))
    script = site.write("run.sh", "#!/bin/bash\ntrue\n")
    campaign = {
        "name": "small",
        "component": "small",
        "application": {"script": str(script), "user": "alice"},
        "search": {"method": "exhaustive"},
        **executor,
    }
    command, *options = words
    done = site.reprise("tune", command, site.write("campaign.yaml", yaml.safe_dump(campaign)), *options)
    assert done.exit_code == 1
    assert "is a batch script: set `executor: {kind: slurm}`" in str(done.exception)
    with Database.open(place / "reprise.db", read_only=True) as database:
        assert list(database.campaigns()) == []
    assert not (place / "work").exists()
