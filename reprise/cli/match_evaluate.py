# SPDX-License-Identifier: Apache-2.0
"""`reprise match evaluate`: how often a model is right, where the right answers are known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.matcher.evaluation.evaluation_report import Report
    from reprise.matcher.linkage import Model

SEEDS = 10
ALL = "all"
NAMES = ("thesis", "thesis-256", "hard")
"""Those of `catalogue.SCENARIOS`, which takes long to import; a test compares them."""


@click.command()
@click.option("--model", "name", metavar="NAME|PATH", help="A preset or a model file (default: the configured one).")
@click.option("--scenario", type=click.Choice([*NAMES, ALL]), default=ALL, show_default=True, help="Which jobs.")
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Random sites of each.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Instead of the model's.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For docs/evaluation.md.")
@click.pass_obj
def evaluate(
    settings: Settings,
    name: str | None,
    scenario: str,
    seeds: int,
    threshold: float | None,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Say how often a model matches jobs with the right tuned application, and unknown jobs with any.

    The jobs are made up, the same ones for a seed every time: `thesis` is the scenario of Robert 2021, chapter 7, with
    jobs of applications that nobody tuned (`thesis-256`: on a larger cluster), `hard` a site with wrapper scripts,
    sweeps, shared logins and the like. About a second per seed.
    """
    from reprise.matcher.evaluation import evaluation_report as report
    from reprise.matcher.evaluation import scenario_catalogue

    model = _model(settings, name, threshold)
    reports = [scenario_catalogue.evaluate(model, one, seeds) for one in (NAMES if scenario == ALL else [scenario])]
    if as_json:
        click.echo(json.dumps(versioned(report.as_json(reports)), indent=2))
    elif as_markdown:
        click.echo(report.markdown(reports), nl=False)
    else:
        _show(reports)


def _model(settings: Settings, name: str | None, threshold: float | None) -> Model:
    from reprise.matcher.linkage import load

    if name is not None:
        return load(name, threshold)
    matcher = settings.config.matcher
    return load(matcher.model, matcher.threshold if threshold is None else threshold)


def _show(reports: list[Report]) -> None:
    from rich import box
    from rich.table import Table

    from reprise.matcher.evaluation.evaluation_report import details, headline, summary
    from reprise.matcher.support.explanation_console import console, printable

    out = console()
    out.print(printable(headline(reports)), end="\n\n", soft_wrap=True)
    for table in [summary(reports), *(table for report in reports for table in details(report))]:
        shown = Table(*table.head, title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD)
        for row in table.rows:
            shown.add_row(*map(printable, row))
        out.print(shown)
