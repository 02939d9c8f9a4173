# SPDX-License-Identifier: Apache-2.0
"""`reprise match model`: show a model, and check whether a model file is usable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.matcher.linkage.linkage_model import Curve, Model


@click.group()
def model() -> None:
    """Show and check the models that compare jobs."""


@model.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def show(settings: Settings, name: str | None, as_json: bool) -> None:
    """Show what a model compares, and with which weights.

    NAME is a preset, or the path of a model file (default: the configured model).
    """
    from reprise.matcher.linkage import load

    configured = settings.config.matcher
    found = load(name) if name else load(configured.model, configured.threshold)
    if as_json:
        click.echo(json.dumps(found.model_dump(mode="json", exclude_none=True), indent=2))
    else:
        _print(found)


@model.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(file: str, as_json: bool) -> None:
    """Check the model file FILE. If it is unusable, print one line of error and exit with status 1."""
    from reprise.matcher.linkage import load

    found = load(file)
    if as_json:
        summary = {"file": file, "model": found.label, "fields": len(found.fields), "threshold": found.threshold}
        click.echo(json.dumps(versioned(summary), indent=2))
        return
    click.echo(f"{file}: model {found.label}, {len(found.fields)} fields, threshold {found.threshold:g}")


def _print(model: Model) -> None:
    from reprise.matcher.support import explanation_console

    click.echo(f"Model {model.label}: threshold {model.threshold:g}, scoring by {model.scoring}")
    if model.prior is not None:
        click.echo(f"Prior, before any comparison: {model.prior:+.2f} bits")
    out = explanation_console.console()
    table = explanation_console.plain_table(out)
    for heading in ("field", "feature", "comparer", "settings", "adds"):
        table.add_column(heading)
    for field, curves in zip(model.fields, model.curves(), strict=True):
        for number, (part, curve) in enumerate(zip(field.parts, curves, strict=True)):
            own = part.model_dump(
                exclude={"feature", "name", "weight", "curve", "unknown", "comparer"}, exclude_none=True
            )
            words = ", ".join(f"{key} {value!r}" for key, value in own.items())
            table.add_row(field.name if number == 0 else "", part.label, part.comparer, words, _words(model, curve))
    out.print(table)
    click.echo("Evidence:")
    click.echo(json.dumps(model.evidence, indent=2))


def _words(model: Model, curve: Curve) -> str:
    if model.scoring == "mean":
        return f"{curve.most:.4f}"
    points = ", ".join(f"{y:+.2f} at {x:g}" for x, y in zip(curve.similarities, curve.values, strict=True))
    return f"{points}; {curve.unknown or 0:+.2f} if unknown"
