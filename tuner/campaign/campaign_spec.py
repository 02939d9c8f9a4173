# SPDX-License-Identifier: Apache-2.0
"""What a campaign was begun with, secrets included: the database has it without them, so they are in a file that only
who tunes can read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.database.entities import Campaign
from reprise.database.secret_masking import MASK
from reprise.tuner.definition import campaign_place
from reprise.tuner.errors import TunerError
from reprise.tuner.model import private_files

FILE = "spec.json"
NEEDED = ("definition", "component")
"""Parts of the spec that trials are made from; the others only describe the campaign."""


def keep(campaign: Campaign, spec: Mapping[str, Any], directory: Path) -> None:
    """Write down the spec of a new campaign where the database has it masked. Raises TunerError."""
    if not _is_masked(campaign):
        return
    try:
        campaign_place.claim(directory)
        private_files.write_text(directory / FILE, json.dumps({part: spec[part] for part in NEEDED}))
    except OSError as error:
        raise TunerError(
            f"{directory / FILE}: cannot be written ({error.strerror}): make tuner.work a directory of the user who "
            "tunes"
        ) from error


def whole(campaign: Campaign, directory: Path) -> Campaign:
    """The campaign with the secrets that its trials need. Raises TunerError where they are gone."""
    if not _is_masked(campaign):
        return campaign
    try:
        with private_files.open_file(directory / FILE, "rb") as file:
            found = json.loads(file.read())
        return dataclasses.replace(campaign, spec={**campaign.spec, **{part: found[part] for part in NEEDED}})
    except FileNotFoundError as error:
        raise TunerError(
            f"campaign {campaign.id} was begun with a secret, which the database does not keep, and {directory / FILE} "
            "is gone: start it anew with `reprise tune run`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TunerError(
            f"{directory / FILE}: cannot be read ({error}): correct that, or start the campaign anew"
        ) from error


def _is_masked(campaign: Campaign) -> bool:
    return any(MASK in json.dumps(campaign.spec.get(part)) for part in NEEDED)
