# SPDX-License-Identifier: Apache-2.0
"""Test campaigns with a secret in their definition: the trials get the secret, and the database does not."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from reprise.database.secret_masking import MASK
from reprise.tuner.campaign import campaign_spec
from reprise.tuner.definition import campaign_place
from reprise.tuner.errors import TunerError
from tests.unit.tuner_site import Site

SECRET = "hunter2x"  # noqa: S105 (an example)
SECTION: dict[str, Any] = {"kind": "local", "options": [f"--export=ALL,API_TOKEN={SECRET}"]}


def directory(site: Site, number: int) -> Path:
    return campaign_place.directory_of(site.campaign(number), site.config)


def test_a_campaign_with_a_secret_runs_with_it_and_the_database_does_not_contain_it(site: Site) -> None:
    (site.directory / "app.sh").write_text(f"#!/bin/bash\nexport KEY_TOKEN={SECRET}\nsrun heat --with $KEY_TOKEN\n")
    number = site.begin(executor=SECTION, settings={"problems": ["p/1"]})
    stored = site.campaign(number)
    assert stored.spec["definition"]["executor"]["options"] == [f"--export=ALL,API_TOKEN={MASK}"]
    assert stored.spec["metadata"]["options"] == {"with": [MASK]}
    whole = campaign_spec.whole(stored, directory(site, number))
    assert whole.spec["definition"]["executor"]["options"] == SECTION["options"]
    assert site.run(number), "the campaign writes a record"
    files = site.config.database.path.parent.glob(f"{site.config.database.path.name}*")
    assert all(SECRET.encode() not in file.read_bytes() for file in files)


def test_only_the_user_who_tunes_can_read_the_file_with_the_secret(site: Site) -> None:
    number = site.begin(executor=SECTION)
    (kept,) = [file for file in directory(site, number).iterdir() if SECRET in file.read_text()]
    assert kept.name == campaign_spec.FILE and stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_campaign_without_a_secret_writes_no_file_for_it(site: Site) -> None:
    assert not (directory(site, site.begin()) / campaign_spec.FILE).exists()


def test_a_campaign_whose_secret_is_lost_is_not_resumed(site: Site) -> None:
    number = site.begin(executor=SECTION)
    (directory(site, number) / campaign_spec.FILE).unlink()
    with pytest.raises(TunerError, match=r"started with a secret.*is missing: start a new campaign"):
        site.run(number)


def test_a_campaign_whose_secret_cannot_be_stored_does_not_begin(site: Site) -> None:
    (site.directory / "work").write_text("in the way")
    with pytest.raises(TunerError, match=r"spec\.json: cannot be written"):
        site.begin(executor=SECTION)
    assert site.campaign(1).state == "failed"
