# SPDX-License-Identifier: Apache-2.0
"""Where a report goes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from database.facade import Database
from database.model import Campaign
from reprise.config import Config
from tuner import overview
from tuner.errors import TunerError

STANDARD_OUTPUT = Path("-")


def report(database: Database, campaign: Campaign, config: Config, kind: str, output: Path | None) -> Path | None:
    """Write the report ("html", "txt" or "json") and return where it is; None: to standard output.

    Without `output` a page goes to the working directory, the others to standard output. Raises TunerError.
    """
    text = _text(kind, overview.describe(database, campaign, config, detailed=True))
    if output == STANDARD_OUTPUT or (output is None and kind != "html"):
        sys.stdout.write(text)
        return None
    path = output or Path()
    if path.is_dir():
        path /= f"campaign-{campaign.id}.{kind}"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TunerError(
            f"{path}: cannot be written ({error.strerror}): name a file or directory of yours with --output"
        ) from error
    return path


def _text(kind: str, described: dict[str, Any]) -> str:
    if kind == "json":
        return json.dumps(described, sort_keys=True) + "\n"
    if kind == "txt":
        from tuner.report import text

        return text.render(described)
    from tuner.report import page

    return page.render(described)
