# SPDX-License-Identifier: Apache-2.0
"""`reprise match calibrate`: a linkage model for this site."""

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
    help="Take the jobs that sacct printed, in place of the tuned ones; - is standard input.",
)
@click.option(
    "--scripts",
    type=SCRIPT_FOLDER,
    metavar="DIR",
    help="Fit weights to batch scripts too. Each half of their owners judges what is fitted to those of the other. "
    "DIR has them as OWNER/PROJECT/PATH, or as sacct printed them (docs/admin.md).",
)
@click.option("--made-up", is_flag=True, help="Take no jobs of this site: what made the model `site` that comes along.")
@click.option("--name", help="What the model calls itself, in every logged decision.  [default: as OUTPUT]")
@click.option(
    "--false-matches",
    type=click.FloatRange(0, 0.5),
    default=0.01,
    show_default=True,
    help="Share of jobs whose application nobody tuned that may be matched; the threshold is chosen for it.",
)
@click.option(
    "--weights",
    type=click.Choice(["logistic", "ecm"]),
    default="logistic",
    show_default=True,
    help="How much likeness is worth: fitted to made-up jobs of known applications, all parts together; or estimated "
    "from this site's jobs, each part on its own (Fellegi and Sunter), which is right less often (docs/linkage.md).",
)
@click.option("--force", is_flag=True, help="Write over OUTPUT, as its next version.")
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
    """Write a model file for this site to OUTPUT: how much likeness is worth, the threshold for a stated rate of false
    matches, how rare jobs of one application are among this site's, and where all that comes from. Takes half a minute.

    With --scripts, nothing is learned of how rare they are; it takes five minutes for ten thousand scripts.

    To use it, name it in reprise.toml (`[matcher] model`) and reload the matcher.
    """
    from reprise.matcher.calibration import model_file
    from reprise.matcher.calibration.calibrate import calibrate as made
    from reprise.matcher.errors import MatcherError

    sources = {"--from-sacct": accounting, "--scripts": scripts, "--made-up": made_up}
    given = [option for option, value in sources.items() if value]
    if len(given) > 1:
        raise MatcherError(f"{' and '.join(given)} exclude each other: give one")
    if scripts and weights == "ecm":
        raise MatcherError("--weights ecm learns from jobs of which nobody knows what they run: not from --scripts")
    name = name or output.stem
    if not name.isprintable():
        raise MatcherError(f"the name {name!r} cannot be printed: give another (--name)")
    with model_file.written(output, force=force) as write:
        version = model_file.next_version(output, name)
        if scripts:
            by_scripts = _fitted_to(scripts, false_matches, name, version)
            write(by_scripts.made.model)
            _tell(by_scripts.made, output)
            _tell_of_scripts(by_scripts)
            return
        site = None if made_up else _site(settings.config, accounting)
        found = made(site, weights=weights, false_matches=false_matches, name=name, version=version)
        write(found.model)
    _tell(found, output)


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
        click.echo(f"left out, without a user or cut short: {found.unreadable} of the jobs", err=True)
    return found.jobs


def _tell(found: Calibration, output: Path) -> None:
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


def _tell_of_scripts(found: ScriptCalibration) -> None:
    """Each half of the owners, by the model that comes along and by one that was fitted to the other half."""
    click.echo("  each half of the owners, by `site` and by a model that was fitted to the other half:\n")
    for report in (found.shipped, found.judged):
        show_tables(report.headline, report.tables()[:1])


def _words(expected: Expected) -> str:
    share = f"{100 * expected.share:.2g} % of all pairs of jobs match"
    if expected.lacking:
        return f"{share}; too little is known of these jobs to say more ({', '.join(expected.lacking)})"
    return (
        f"{share}; {_percent(expected.matched)} of its jobs have a match among the others, and "
        f"{_percent(expected.wrong, 2)} of these with the wrong one"
    )


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
