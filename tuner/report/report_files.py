# SPDX-License-Identifier: Apache-2.0
"""Write reports and their pictures to files or to standard output."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.database.entities import Campaign
from reprise.database.for_tuner import TunerDatabase
from reprise.output import versioned
from reprise.tuner.errors import TunerError
from reprise.tuner.report import campaign_overview

STANDARD_OUTPUT = Path("-")


def report(database: TunerDatabase, campaign: Campaign, config: Config, kind: str, output: Path | None) -> Path | None:
    """Write a report of the kind "html", "txt" or "json", and return its path, or None if it went to standard output.

    If `output` is None, an HTML report goes to the working directory, and other kinds to standard output. Raise
    TunerError if the file cannot be written.
    """
    text = _text(kind, campaign_overview.describe(database, campaign, config, detailed=True))
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
            f"{path}: cannot be written ({error.strerror}): give a writable file or directory with --output"
        ) from error
    return path


def pictures(database: TunerDatabase, campaign: Campaign, config: Config, output: Path | None) -> Iterator[Path]:
    """Write the report's pictures as PNG files to the directory `output`, and yield their paths.

    The default directory is the working directory. Raise TunerError if a file cannot be written.
    """
    from reprise.tuner.report import plots

    described = campaign_overview.describe(database, campaign, config, detailed=True)
    directory = output or Path()
    for name, draw in _drawings(described):
        path = directory / f"campaign-{campaign.id}-{name}.png"
        picture = plots.png(draw)
        try:
            path.write_bytes(picture)
        except OSError as error:
            raise TunerError(
                f"{path}: cannot be written ({error.strerror}): give a writable directory with --output"
            ) from error
        yield path


def _drawings(described: dict[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield each picture's name and the function that draws the picture."""
    from reprise.tuner.report import plots

    problems, found = described["problems"], described["details"]["problems"]
    if sum(bool(one["comparison"]) for one in problems) > 1:
        yield "gains", partial(plots.gains, problems)
    for problem in problems:
        of = found[problem["problem"]]
        name = re.sub(r"[^A-Za-z0-9._]+", "_", problem["problem"])[:60]
        if of["trajectory"]:
            yield f"{name}-trajectory", partial(plots.trajectory, of, problem["default"])
        if of["best_so_far"]:
            evaluations = sum(one["role"] == "search" for one in of["trajectory"])
            yield f"{name}-best", partial(plots.best_so_far, of, problem["default"], evaluations)
    if described["details"]["cost"]["node_hours"]:
        yield "cost", partial(plots.cost, described["details"]["cost"]["by"])


def _text(kind: str, described: dict[str, Any]) -> str:
    if kind == "json":
        return json.dumps(versioned(described), sort_keys=True) + "\n"
    if kind == "txt":
        from reprise.tuner.report import text_report as text

        return text.render(described)
    from reprise.tuner.report import html_report

    return html_report.render(described)
