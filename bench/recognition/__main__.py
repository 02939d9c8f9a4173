# SPDX-License-Identifier: Apache-2.0
"""How often jobs of real batch scripts are recognised, and how often wrongly: `make bench-recognition DIR=folder`.

    python -m bench.recognition FOLDER [--model NAME|PATH] [--seeds N]

FOLDER holds scripts as OWNER/PROJECT/PATH, or one archive of them.

| key | meaning |
|---|---|
| `recall` | jobs given a record of their application, of those of which a variant has one |
| `confused` | of these, jobs given another application's record |
| `own_other` | jobs given a record of another application of their user, of those that have no other |
| `strangers` | jobs given another user's record, of users without records |
| `generic_strangers` | of these jobs, those whose program's name says nothing and that are given one |
| `program_right`, `program_wrong` | scripts read by hand of which the parser finds a right or a wrong program |
| `masked_names_recall` | builds of a program that its file alone matches with another build (`masked_names.py`) |
| `masked_names_false` | executables of this host that match any of these programs, of 200: a number |
| `scripts_read` | scripts of the folder that were read by hand |
| `parse_mean_ms`, `parse_p99_ms` | what reading one script costs |

docs/evaluation.md says what counts as one application. The last line is a JSON object.
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
    parser = argparse.ArgumentParser(
        prog="python -m bench.recognition", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="site", help="a preset or a model file (default: site)")
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
    """Milliseconds for the metadata of a script: the mean, and the 99th percentile."""
    taken = []
    for script in scripts:
        started = time.perf_counter()
        script.metadata  # noqa: B018 - it is read once
        taken.append(1000 * (time.perf_counter() - started))
    return {"parse_mean_ms": round(sum(taken) / len(taken), 3), "parse_p99_ms": round(quantile(taken, 0.99), 3)}


if __name__ == "__main__":
    main()
