# SPDX-License-Identifier: Apache-2.0
"""Measure how often jobs of real batch scripts are matched with the right record, and how often with a wrong one.

    python -m bench.recognition FOLDER [--model NAME|PATH] [--seeds N]

FOLDER contains scripts as OWNER/PROJECT/PATH, or one archive of such scripts (`make bench-recognition DIR=folder`).

| key | meaning |
|---|---|
| `recall` | share of jobs matched with a record of their application, among jobs whose application has one |
| `confused` | share of these jobs matched with the record of another application |
| `own_other` | share of jobs matched with another application of their user, among jobs of untuned applications |
| `strangers` | share of jobs matched with another user's record, among jobs of users without records |
| `generic_strangers` | the same share, only among jobs whose program has a generic name |
| `program_right`, `program_wrong` | share of labelled scripts for which the parser names a right or a wrong program |
| `masked_names_recall` | share of builds matched with another build of their program by the file alone
(`masked_names.py`) |
| `masked_names_false` | number of this host's executables, out of 200, that match any program of the builds |
| `scripts_read` | number of scripts of the folder with a label (`read_by_hand.py`) |
| `parse_mean_ms`, `parse_p99_ms` | time to parse one script |

docs/reference/evaluation-method.md defines an application. The last line of output is a JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.quantile import quantile
from bench.recognition import read_by_hand
from bench.recognition.masked_names import masked_names
from bench.recognition.scripts_archive import unpacked
from reprise.matcher.evaluation.script_folder import FoundScript, scripts_in
from reprise.matcher.evaluation.script_report import ScriptReport
from reprise.matcher.evaluation.script_verdicts import measure
from reprise.matcher.linkage import load


def main() -> None:
    """Run the benchmark and print its JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.recognition", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="site", help="a preset or the path of a model file (default: site)")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    model = load(given.model)
    with unpacked(given.folder) as folder:
        found = scripts_in(folder)
        result = parse_times(found)
        report = ScriptReport.of(model, found, given.seeds)
        sys.stderr.write(f"{json.dumps(report.to_json(), indent=2)}\n")
        shares = measure(report.judged)
        result |= {
            field.name: round(value, 4)
            for field in dataclasses.fields(shares)
            if (value := getattr(shares, field.name).value) is not None
        }
        read = read_by_hand.measure(folder)
        result |= masked_names()
        result |= {name: read[name] for name in ("program_right", "program_wrong")} | {"scripts_read": read["read"]}
    sys.stdout.write(f"{json.dumps(result)}\n")


def parse_times(scripts: Sequence[FoundScript]) -> dict[str, float]:
    """Return the mean and the 99th percentile of the time to parse a script, in milliseconds."""
    taken = []
    for script in scripts:
        started = time.perf_counter()
        script.metadata  # noqa: B018 - computes the cached property
        taken.append(1000 * (time.perf_counter() - started))
    return {"parse_mean_ms": round(sum(taken) / len(taken), 3), "parse_p99_ms": round(quantile(taken, 0.99), 3)}


if __name__ == "__main__":
    main()
