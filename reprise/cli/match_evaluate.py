# SPDX-License-Identifier: Apache-2.0
"""`reprise match evaluate`: measure how often a model is right on jobs with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reprise.cli.evaluation_tables import SCRIPT_FOLDER, show_tables
from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.matcher.evaluation.evaluation_report import Report
    from reprise.matcher.evaluation.script_report import ScriptReport
    from reprise.matcher.linkage import Model

SEEDS = 10
ALL = "all"
NAMES = ("thesis", "thesis-256", "hard")
"""Names in `scenario_catalogue.SCENARIOS`, copied because importing that module is slow; a test compares the two."""


@click.command()
@click.option("--model", "name", metavar="NAME|PATH", help="Preset or model file (default: the configured model).")
@click.option(
    "--scenario", type=click.Choice([*NAMES, ALL]), default=ALL, show_default=True, help="Scenario of made-up jobs."
)
@click.option(
    "--scripts",
    type=SCRIPT_FOLDER,
    metavar="DIR",
    help="Use the batch scripts in DIR (files OWNER/PROJECT/PATH, or sacct's output) instead of made-up jobs.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Random sites per scenario."
)
@click.option("--threshold", type=click.FloatRange(0, 1), help="Use this threshold instead of the model's.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--markdown", "as_markdown", is_flag=True, help="Print Markdown, for docs/reference/evaluation-tables.md."
)
@click.pass_obj
def evaluate(
    settings: Settings,
    name: str | None,
    scenario: str,
    scripts: Path | None,
    seeds: int,
    threshold: float | None,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Measure how often a model is right, on jobs with known answers.

    A job of a tuned application should match that application, and a job of an unknown application should match
    none.

    The jobs are made up; each seed always gives the same jobs. `thesis` is the scenario of Robert 2021, chapter 7,
    with additional jobs of untuned applications (`thesis-256`: on a larger cluster). `hard` is a site with wrapper
    scripts, sweeps, shared logins and the like. A seed takes about a second.

    With --scripts, the jobs come from a folder of real scripts; docs/reference/evaluation-method.md defines which of
    them count as one application. A seed takes about ten seconds for ten thousand scripts.
    """
    from reprise.matcher.evaluation import evaluation_report as report
    from reprise.matcher.evaluation import scenario_catalogue

    model = _model(settings, name, threshold)
    if scripts is not None:
        from reprise.matcher.evaluation.script_folder import scripts_in
        from reprise.matcher.evaluation.script_report import ScriptReport

        _show_scripts(ScriptReport.of(model, scripts_in(scripts), seeds), as_json=as_json, as_markdown=as_markdown)
        return
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


def _show_scripts(report: ScriptReport, *, as_json: bool, as_markdown: bool) -> None:
    if as_json:
        click.echo(json.dumps(versioned(report.to_json()), indent=2))
    elif as_markdown:
        from reprise.matcher.evaluation.evaluation_report import table_markdown

        click.echo("\n\n".join([report.headline, *map(table_markdown, report.tables())]))
    else:
        show_tables(report.headline, report.tables())


def _show(reports: list[Report]) -> None:
    from reprise.matcher.evaluation.evaluation_report import details, headline, summary

    show_tables(headline(reports), [summary(reports), *(table for report in reports for table in details(report))])
