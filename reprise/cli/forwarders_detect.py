# SPDX-License-Identifier: Apache-2.0
"""`reprise forwarders detect`, `record` and `train`: access patterns of jobs, and the detectors that find them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from reprise.database.record_listing import plain, printable
from reprise.output import versioned

# The values of AccessClass, whose module only these commands need.
CLASSES = ("individual", "shared contiguous", "shared strided")
PER_RUN = 40  # as in Bez 2020
FILE = click.Path(path_type=Path, dir_okay=False)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.command()
@click.argument("source", metavar="FILE|ADDRESS")
@click.option("--detector", type=FILE, help="File of the detector. Default: the one of Reprise.")
@AS_JSON
def detect(source: str, detector: Path | None, as_json: bool) -> None:
    """Show the access patterns of jobs.

    ADDRESS is a forwarder: HOST:PORT of its metrics, or the path of its control socket. The patterns are those of the
    last second. FILE has recorded features; the patterns are counted for each run in it.
    """
    from reprise.matcher.detection import detection_report, detector_file, feature_source, recorded_features

    judge = detector_file.read(detector) if detector else detector_file.read()
    if Path(source).is_file():
        with Path(source).open("rb") as file:
            found = detection_report.of_recorded(judge, recorded_features.read(file, source))
    else:
        found = detection_report.of_observed(judge, feature_source.observed(source))
    if as_json:
        click.echo(json.dumps(versioned({"detector": judge.name, "patterns": found})))
    elif found:
        rows, headings = detection_report.cells(found)
        click.echo(plain([tuple(map(printable, row)) for row in rows], headings))
    else:
        click.echo("no patterns: no job has used the forwarder yet")


@click.command()
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@click.option("--output", type=FILE, required=True, help="File to which features are appended.")
@click.option("--class", "known", type=click.Choice(CLASSES), help="Class of the pattern, if known.")
@click.option("--job", metavar="NAME", help="Job to record, as it is named in the forwarders' metrics. Default: all.")
@click.option("--run", metavar="NAME", help="Name of the run in the file. Default: the name of the job.")
@click.option("--seconds", type=click.IntRange(1, 10**6), default=60, show_default=True, help="Seconds to record.")
def record(
    addresses: Sequence[str], output: Path, known: str | None, job: str | None, run: str | None, seconds: int
) -> None:
    """Record features of access patterns, to train a detector or to detect patterns later.

    ADDRESS is a forwarder: HOST:PORT of its metrics, or the path of its control socket. Start the command when a
    program whose pattern is known has begun to read or write, and let it end before the program does.
    """
    from reprise.matcher.council.pattern_detector import AccessClass
    from reprise.matcher.detection import feature_recording, feature_source, recorded_features

    recording = feature_recording.Recording(AccessClass(known) if known else None, job, run)
    found = feature_recording.record(recording, addresses, feature_source.observed, time.time, time.sleep, seconds)
    count = 0
    with output.open("a", encoding="utf-8") as file:
        if file.tell() == 0:
            file.write(f"{recorded_features.HEADER}\n")
        for one in found:
            file.write(f"{recorded_features.line(one)}\n")
            file.flush()
            count += 1
    click.echo(f"{output}: {count} lines were added")


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--validation", type=FILE, required=True, help="Recorded features of runs with other sizes of requests.")
@click.option("--output", type=FILE, required=True, help="File of the new detector.")
@click.option(
    "--per-run", type=click.IntRange(1), default=PER_RUN, show_default=True, help="Most seconds to use of each run."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of random numbers.")
@AS_JSON
def train(file: Path, validation: Path, output: Path, per_run: int, seed: int, as_json: bool) -> None:
    """Train detectors of access patterns, and write the best one.

    FILE has recorded features of runs whose class is known. The detector with the fewest errors on the runs in
    `--validation`, which are not used for training, is the best one.
    """
    from reprise.matcher.detection import detector_file
    from reprise.tuner.detection import detector_training, training_table

    rows = detector_training.rows_of(_lines(file), str(file), _lines(validation), str(validation), per_run, seed)
    judged = list(detector_training.candidates(rows, seed))
    best = detector_training.chosen(judged)
    data = {"training": file.name, "validation": validation.name, "made_at": f"{datetime.now(UTC):%F}"}
    made = detector_training.with_evidence(best, judged, rows, data)
    _write(output, detector_file.text_of(made))
    if as_json:
        content = {"detector": made.name, "file": str(output), "detectors": training_table.document(judged)}
        click.echo(json.dumps(versioned(content)))
        return
    click.echo(plain(training_table.cells(judged), training_table.HEADINGS))
    click.echo(f"{output}: the detector {made.name}")


def _lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            return list(file)
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error


def _write(path: Path, text: str) -> None:
    """Write a file whole, so that a detector in use is never half of one."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
