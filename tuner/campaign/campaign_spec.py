# SPDX-License-Identifier: Apache-2.0
"""Keep a campaign's definition, including secrets, in a file that only the tuning user can read.

The database stores the definition with its secrets masked.
"""

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
"""Parts of the spec that trials need; the other parts only describe the campaign."""


def keep(campaign: Campaign, spec: Mapping[str, Any], directory: Path) -> None:
    """Write a new campaign's spec to FILE if it has secrets, which the database masks. Raise TunerError on failure."""
    if not _is_masked(campaign):
        return
    try:
        campaign_place.claim(directory)
        private_files.write_text(directory / FILE, json.dumps({part: spec[part] for part in NEEDED}))
    except OSError as error:
        raise TunerError(
            f"{directory / FILE}: cannot be written ({error.strerror}): set tuner.work to a directory that the tuning "
            "user owns"
        ) from error


def whole(campaign: Campaign, directory: Path) -> Campaign:
    """Return the campaign with its secrets, which trials need, from FILE. Raise TunerError if FILE cannot be read."""
    if not _is_masked(campaign):
        return campaign
    try:
        with private_files.open_file(directory / FILE, "rb") as file:
            found = json.loads(file.read())
        return dataclasses.replace(campaign, spec={**campaign.spec, **{part: found[part] for part in NEEDED}})
    except FileNotFoundError as error:
        raise TunerError(
            f"campaign {campaign.id} was started with a secret, which the database does not store, and "
            f"{directory / FILE} is missing: start a new campaign with `reprise tune run`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TunerError(
            f"{directory / FILE}: cannot be read ({error}): correct it, or start a new campaign"
        ) from error


def _is_masked(campaign: Campaign) -> bool:
    return any(MASK in json.dumps(campaign.spec.get(part)) for part in NEEDED)
