# SPDX-License-Identifier: Apache-2.0
"""Print the tables of an evaluation on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprise.matcher.evaluation.evaluation_report import Table

SCRIPT_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
"""Type of options that take a folder of scripts, in the form that `matcher.evaluation.script_folder` reads."""


def show_tables(headline: str, tables: Iterable[Table]) -> None:
    """Print the headline and the tables below it."""
    from rich import box
    from rich.table import Table as Shown

    from reprise.matcher.support.explanation_console import console, printable

    out = console()
    out.print(printable(headline), end="\n\n", soft_wrap=True)
    for table in tables:
        if not table.rows:
            out.print(f"{printable(table.title)}: none", end="\n\n", soft_wrap=True)
            continue
        shown = Shown(*table.head, title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD)
        for row in table.rows:
            shown.add_row(*map(printable, row))
        out.print(shown)
