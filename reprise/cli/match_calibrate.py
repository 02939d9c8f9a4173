# SPDX-License-Identifier: Apache-2.0
"""`reprise match calibrate`: fit a linkage model to this site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from reprise.cli.evaluation_tables import SCRIPT_FOLDER, show_tables
from reprise.cli.reading import open_to_read

if TYPE_CHECKING:
    from reprise.cli.main import Settings
    from reprise.config import Config
    from reprise.matcher.calibration.calibrate import Calibration, Expected, Site
    from reprise.matcher.calibration.script_calibration import ScriptCalibration
    from reprise.matcher.submission.metadata import JobMetadata


@click.command()
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--from-sacct",
    "accounting",
    type=click.File(encoding="utf-8-sig", errors="replace"),
    metavar="FILE",
    help="Use the jobs in this output of sacct instead of the tuned jobs; - is standard input.",
)
@click.option(
    "--scripts",
    type=SCRIPT_FOLDER,
    metavar="DIR",
    help="Also fit weights to the batch scripts in DIR (files OWNER/PROJECT/PATH, or sacct's output) "
    "(docs/how-to/calibrate.md). The model is validated across two halves of the owners.",
)
@click.option("--made-up", is_flag=True, help="Use only made-up jobs, and none of this site, as for the preset `site`.")
@click.option("--name", help="Name of the model, which every logged decision contains.  [default: stem of OUTPUT]")
@click.option(
    "--false-matches",
    type=click.FloatRange(0, 0.5),
    default=0.01,
    show_default=True,
    help="Share of jobs of untuned applications that may be matched; determines the threshold.",
)
@click.option(
    "--weights",
    type=click.Choice(["logistic", "ecm"]),
    default="logistic",
    show_default=True,
    help="Method to estimate weights. logistic: fit all parts together to made-up jobs of known applications. ecm: "
    "estimate each part separately from this site's jobs (Fellegi and Sunter), which is less accurate "
    "(docs/explanation/calibration.md).",
)
@click.option("--force", is_flag=True, help="Overwrite OUTPUT and increment its version.")
@click.pass_obj
def calibrate(
    settings: Settings,
    output: Path,
    accounting: TextIO | None,
    scripts: Path | None,
    made_up: bool,
    name: str | None,
    false_matches: float,
    weights: str,
    force: bool,
) -> None:
    """Calibrate a model for this site and write it to OUTPUT.

    The model file contains the weights of similarities, the threshold for a stated rate of false matches, the share of
    pairs of jobs at this site that belong to the same application, and the source of each of these values. Calibration
    takes half a minute.

    With --scripts, the share of pairs is not estimated. Calibration takes five minutes for ten thousand scripts.

    To use the model, name it in reprise.toml (`[matcher] model`) and reload the matcher.
    """
    from reprise.matcher.calibration import model_file
    from reprise.matcher.calibration.calibrate import calibrate as made
    from reprise.matcher.errors import MatcherError

    sources = {"--from-sacct": accounting, "--scripts": scripts, "--made-up": made_up}
    given = [option for option, value in sources.items() if value]
    if len(given) > 1:
        raise MatcherError(f"{' and '.join(given)} are mutually exclusive: give one of them")
    if scripts and weights == "ecm":
        raise MatcherError(
            "--weights ecm learns from jobs of unknown applications, not from --scripts: leave out one of the two"
        )
    name = name or output.stem
    if not name.isprintable():
        raise MatcherError(f"the name {name!r} cannot be printed: choose another one with --name")
    with model_file.written(output, force=force) as write:
        version = model_file.next_version(output, name)
        if scripts:
            by_scripts = _fitted_to(scripts, false_matches, name, version)
            write(by_scripts.made.model)
            _print(by_scripts.made, output)
            _print_scripts(by_scripts)
            return
        site = None if made_up else _site(settings.config, accounting)
        found = made(site, weights=weights, false_matches=false_matches, name=name, version=version)
        write(found.model)
    _print(found, output)


def _fitted_to(folder: Path, false_matches: float, name: str, version: int) -> ScriptCalibration:
    from reprise.matcher.calibration.script_calibration import calibrate_to_scripts
    from reprise.matcher.evaluation.script_folder import scripts_in

    return calibrate_to_scripts(scripts_in(folder), false_matches=false_matches, name=name, version=version)


def _site(config: Config, accounting: TextIO | None) -> Site:
    from reprise.matcher.calibration.calibrate import site_of

    jobs = _accounted(accounting) if accounting else _tuned(config)
    return site_of(jobs, cluster_nodes=config.site.nodes, timezone=config.site.timezone)


def _tuned(config: Config) -> Sequence[JobMetadata]:
    from reprise.matcher.decision.known_records import readable

    with open_to_read(config) as database:
        records = [record for _, record in readable(database.record_texts())]
    return [record.metadata for record in records if record and record.metadata]


def _accounted(file: TextIO) -> Sequence[JobMetadata]:
    from reprise.matcher.errors import MatcherError
    from reprise.matcher.submission import sacct

    try:
        found = sacct.read(file.read())
    except sacct.SacctError as error:
        raise MatcherError(f"{getattr(file, 'name', '<stdin>')}: {error}") from error
    if found.unreadable:
        click.echo(f"left out {found.unreadable} jobs without a user or with a truncated line", err=True)
    return found.jobs


def _print(found: Calibration, output: Path) -> None:
    model = found.model
    click.echo(f"{output}: model {model.label}, threshold {model.threshold}")
    for scenario, measures in found.measures.items():
        click.echo(
            f"  made-up sites, {scenario}: right application {_percent(measures.right_application.value)}, "
            f"right nodes {_percent(measures.right_nodes.value)}, "
            f"unknown matched {_percent(measures.unknown_matched.value)}"
        )
    if found.expected:
        click.echo(f"  this site: {_words(found.expected)}")


def _print_scripts(found: ScriptCalibration) -> None:
    """Print the results of the preset `site` and of fitted models on the two halves of the scripts' owners.

    On each half, the fitted model is the one that was fitted to the other half.
    """
    click.echo("  on each half of the owners, the preset `site` and a model fitted to the other half:\n")
    for report in (found.shipped, found.judged):
        show_tables(report.headline, report.tables()[:1])


def _words(expected: Expected) -> str:
    share = f"{100 * expected.share:.2g} % of all pairs of jobs match"
    if expected.lacking:
        return f"{share}; no more can be estimated, since these jobs lack {', '.join(expected.lacking)}"
    return (
        f"{share}; {_percent(expected.matched)} of the jobs match another job, "
        f"{_percent(expected.wrong, 2)} of these matches are wrong"
    )


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
