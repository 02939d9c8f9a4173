# SPDX-License-Identifier: Apache-2.0
"""`reprise match calibrate`: a linkage model for this site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from matcher.calibration.calibrate import Calibration
    from matcher.metadata import JobMetadata
    from reprise.cli import Settings
    from reprise.config import Config


@click.command()
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--from-sacct",
    "accounting",
    type=click.File(errors="replace"),
    metavar="FILE",
    help="Take the jobs that sacct printed, in place of the tuned ones; - is standard input.",
)
@click.option("--made-up", is_flag=True, help="Take no jobs of this site: what made the model `site` that comes along.")
@click.option("--name", default="site", show_default=True, help="What the model calls itself.")
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
    help="All parts together, or each on its own (Fellegi and Sunter) from this site's jobs alone.",
)
@click.option("--force", is_flag=True, help="Write over OUTPUT.")
@click.pass_obj
def calibrate(
    settings: Settings,
    output: Path,
    accounting: TextIO | None,
    made_up: bool,
    name: str,
    false_matches: float,
    weights: str,
    force: bool,
) -> None:
    """Write a model file for this site to OUTPUT: weights, the threshold for a stated rate of false matches, and where
    they come from. Takes half a minute.

    To use it, name it in reprise.toml (`[matcher] model`) and reload the matcher.
    """
    from matcher.calibration import model_file
    from matcher.calibration.calibrate import LEAST_JOBS, site_of
    from matcher.calibration.calibrate import calibrate as made
    from matcher.errors import MatcherError

    if output.exists() and not force:
        raise MatcherError(f"{output}: exists: give another name, or --force to write over it")
    if accounting and made_up:
        raise MatcherError("--from-sacct and --made-up exclude each other: give one")
    site = None
    if not made_up:
        config = settings.config
        jobs = _accounted(accounting) if accounting else _tuned(config)
        if len(jobs) < LEAST_JOBS:
            raise MatcherError(
                f"{len(jobs)} jobs are too few to learn from: give {LEAST_JOBS} or more (--from-sacct), or use the "
                "model `site`, which comes with Reprise"
            )
        site = site_of(jobs, cluster_nodes=config.site.nodes, timezone=config.site.timezone)
    found = made(site, weights=weights, false_matches=false_matches, name=name)
    try:
        output.write_text(model_file.text(found.model))
    except OSError as error:
        raise MatcherError(f"{output}: cannot be written: {error.strerror}") from error
    _tell(found, output)


def _tuned(config: Config) -> Sequence[JobMetadata]:
    from database import Database
    from matcher.service import readable

    with Database.open(config.database.path, read_only=True) as database:
        records = [record for _, record in readable(database.record_texts())]
    return [record.metadata for record in records if record and record.metadata]


def _accounted(file: TextIO) -> Sequence[JobMetadata]:
    from matcher.calibration import sacct

    found = sacct.read(file.read())
    if found.left_out:
        click.echo(f"{found.left_out} lines left out: job steps, or not to be read", err=True)
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
        expected = found.expected
        click.echo(
            f"  this site: {_percent(expected.share, 3)} of all pairs of jobs match; {_percent(expected.matched)} of "
            f"its jobs have a match among the others, and {_percent(expected.wrong, 2)} of these with the wrong one"
        )


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
