# SPDX-License-Identifier: Apache-2.0
"""What a campaign was begun with, secrets included: the database has it without them, so they are in a file that only
who tunes can read."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.database.entities import Campaign
from reprise.database.secret_masking import MASK
from reprise.tuner.errors import TunerError

FILE = "spec.json"
FILE_MODE = 0o600
NEEDED = ("definition", "component")
"""Parts of the spec that trials are made from; the others only describe the campaign."""


def keep(campaign: Campaign, spec: Mapping[str, Any], directory: Path) -> None:
    """Write down the spec of a new campaign where the database has it masked. Raises TunerError."""
    if not _is_masked(campaign):
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({part: spec[part] for part in NEEDED}, file)
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
        found = json.loads((directory / FILE).read_text(encoding="utf-8"))
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
