# SPDX-License-Identifier: Apache-2.0
"""Train detectors of access patterns on recorded features, and measure how well they know other ones.

    .venv/bin/python -m bench.patterns.detectors [--features FILE] [--ship]

The features are those that `bench.patterns.feature_runs` has recorded, by default the ones in the checkout. Runs with
requests of 32 and 256 KiB are divided into training and test set. The unseen runs have 64 and 128 KiB, and the far ones
4 KiB and 1 MiB. A detector is chosen by the unseen runs. `--ship` writes it as the one of Reprise.

Detectors are printed as a table. The last line of output is a JSON object:

- `accuracy` and `right`: the chosen detector's shares of rows of the test set whose most likely class is right, and
  with a right answer;
- `unseen_error`: number of rows of the unseen runs whose most likely class is wrong (`wrong`), of all (`of`), and the
  number that corresponds to the tree of Bez 2020, which had 57 errors in 54,210 rows (`most`);
- `unseen_unknown` and `far_error`: answers "unknown" for unseen runs, and errors with far ones;
- `detect_ms`: median time of an answer in milliseconds, and `load_ms`: time to read the detector's file;
- `shipped`: whether the detector of Reprise has the same answers;
- `detectors`: the qualities of each detector, and its errors on far runs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.patterns.feature_grid import FAR_SIZES, TRAINED_SIZES, UNSEEN_SIZES, size_of
from bench.patterns.feature_runs import PER_RUN
from reprise.database.record_listing import plain
from reprise.matcher.detection import detector_file
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.matcher.detection.recorded_features import Recorded, read
from reprise.tuner.detection.detector_quality import detect_ms, quality
from reprise.tuner.detection.detector_training import Judged, Rows, candidates, chosen, with_evidence
from reprise.tuner.detection.labelled_rows import Row, centres, split
from reprise.tuner.detection.training_table import HEADINGS, cells, document

FEATURES = Path(__file__).parent / "features.jsonl.gz"
SEED = 1
THESIS_ERRORS = 57 / 54_210
LOADS = 5
DATA = {
    "made_by": "bench.patterns.feature_runs",
    "processes": "16, 32, 64",
    "forwarders": "1, 2, 4",
    "operations": "read, write",
    "training_sizes": "32 KiB, 256 KiB",
    "validation_sizes": "64 KiB, 128 KiB",
    "rows_per_run": PER_RUN,
}


def rows_in(path: Path, sizes: Sequence[int]) -> list[Row]:
    """Return the rows in a compressed file that are from runs with requests of these sizes."""
    with gzip.open(path) as file:
        found: list[Recorded] = [one for one in read(file, path.name) if size_of(one.run) in sizes]
    return centres(found, PER_RUN, path.name)


def _summary(judged: Sequence[Judged], best: Judged, unseen: Sequence[Row], far: Sequence[Row]) -> dict[str, Any]:
    """Return the part of the JSON object that is not about files."""
    of_unseen, of_far = quality(best.detector, unseen), quality(best.detector, far)
    most = math.floor(THESIS_ERRORS * len(unseen))
    return {
        "chosen": best.detector.name,
        "accuracy": round(best.test.accuracy, 5),
        "right": round(best.test.right, 5),
        "unseen_error": {"wrong": of_unseen.wrong, "of": len(unseen), "most": most},
        "unseen_unknown": of_unseen.unknown,
        "far_error": {"wrong": of_far.wrong, "of": len(far)},
        "far_unknown": of_far.unknown,
        "calibration_error": round(of_unseen.calibration_error, 5),
        "detect_ms": round(detect_ms(best.detector, unseen), 4),
        "detectors": [
            {
                **one,
                "far": quality(other.detector, far).to_json(),
            }
            for one, other in zip(document(judged), judged, strict=True)
        ],
    }


def load_ms(text: str) -> float:
    """Return the time to read a detector's file in milliseconds."""
    times = []
    for _ in range(LOADS):
        begun = time.perf_counter()
        detector_file.parse(text, "detector")
        times.append(1e3 * (time.perf_counter() - begun))
    return round(min(times), 2)


def is_shipped(made: LearnedDetector, rows: Sequence[Row]) -> bool:
    """Return whether the detector of Reprise has the same answers as another one."""
    shipped = detector_file.read()
    return [shipped.detect(row.features) for row in rows] == [made.detect(row.features) for row in rows]


def result(features: Path, *, ship: bool = False) -> dict[str, Any]:
    """Train and compare detectors, print the table, and return the JSON object."""
    unseen, far = rows_in(features, UNSEEN_SIZES), rows_in(features, FAR_SIZES)
    training, test = split(rows_in(features, TRAINED_SIZES), SEED)
    rows = Rows(training, test, unseen)
    judged = list(candidates(rows, SEED))
    best = chosen(judged)
    made = with_evidence(best, judged, rows, DATA)
    text = detector_file.text_of(made)
    sys.stdout.write(f"{plain(cells(judged), HEADINGS)}\n")
    if ship:
        detector_file.SHIPPED.write_text(text)
    files = {"load_ms": load_ms(text), "file_bytes": len(text), "shipped": is_shipped(made, [*unseen, *far])}
    return {**_summary(judged, best, unseen, far), **files}


def main() -> None:
    """Print the table and the JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=Path, default=FEATURES)
    parser.add_argument("--ship", action="store_true")
    arguments = parser.parse_args()
    sys.stdout.write(f"{json.dumps(result(arguments.features, ship=arguments.ship))}\n")


if __name__ == "__main__":
    main()
