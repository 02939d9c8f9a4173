# SPDX-License-Identifier: Apache-2.0
"""Measure how often the parser finds the program that a reader found in the same batch script.

    python -m bench.recognition.read_by_hand FOLDER [--draw NAME] [--list]

FOLDER contains batch scripts as OWNER/PROJECT/PATH. Scripts with a label in `read_by_hand.toml`, found by the SHA-256
of their bytes, are parsed as if their owner had submitted them; the others are ignored. `--draw` uses only the labels
of one draw (sample of scripts), such as `second_draw`. `--list` prints the path, the label's names and the parser's
name of each script that the parser does not get right.

The program prints a JSON object. `read` is the number of labelled scripts in the folder. The other keys are shares of
these scripts, or 0 if there are none. `program_right`: the parser's name is in the label, or the parser found no name
and the label says that none is visible. `program_wrong`: the parser's name is not in the label. `program_unknown`: the
parser found no name, but the label has one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal

from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata

LABELS = Path(__file__).with_suffix(".toml")

Verdict = Literal["right", "wrong", "unknown"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "unknown")


@dataclass(frozen=True)
class Answer:
    """The parser's result for a labelled script: the script's path in the folder, the right names, and the job."""

    path: str
    expected: tuple[str, ...]
    job: JobMetadata

    @property
    def verdict(self) -> Verdict:
        """Whether the parser's name is right, wrong or unknown (none)."""
        return judged(
            {self.job.program, PurePosixPath(self.job.path).name} if self.job.program else {""}, self.expected
        )


def judged(got: Collection[str], expected: Collection[str]) -> Verdict:
    """Return "right" if `got` has an expected name, "unknown" if it has only empty names, and "wrong" otherwise."""
    if any(name in expected for name in got):
        return "right"
    return "wrong" if any(got) else "unknown"


def draws() -> dict[str, dict[str, list[str]]]:
    """Return the labels of each draw. A label is the list of right names for a script, by the script's SHA-256."""
    return tomllib.loads(LABELS.read_text())


def labels(draw: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return the labels (the right names for a script) of one draw or of all draws, by the script's SHA-256.

    The empty name means that no program is visible.
    """
    known = draws()
    chosen = known.values() if draw is None else [known[draw]]
    return {digest: tuple(names) for scripts in chosen for digest, names in scripts.items()}


def answers(folder: Path, known: Mapping[str, tuple[str, ...]]) -> Iterator[Answer]:
    """Yield the parser's answer for each labelled script in the folder, in the order of paths, without duplicates."""
    left = dict(known)
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        data = file.read_bytes()
        if (expected := left.pop(sha256(data).hexdigest(), None)) is None:
            continue
        path = file.relative_to(folder)
        submission = Submission.for_script(f"/{path}", data.decode("utf-8", errors="replace"))
        yield Answer(str(path), expected, parse(submission, user=path.parts[0], submit_time=1.7e9))


def shares(verdicts: Collection[Verdict]) -> dict[str, float]:
    """Return the share of each verdict, and the total number of verdicts."""
    count = Counter(verdicts)
    return {f"program_{one}": count[one] / max(len(verdicts), 1) for one in VERDICTS} | {"read": len(verdicts)}


def measure(folder: Path) -> dict[str, float]:
    """Return the object that the module's docstring describes; `read` is 0 if the folder has no labelled script."""
    return shares([answer.verdict for answer in answers(folder, labels())])


def main() -> int:
    """Print the shares of right, wrong and unknown answers, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.recognition.read_by_hand", description=__doc__)
    parser.add_argument("folder", type=Path, help="batch scripts as OWNER/PROJECT/PATH")
    parser.add_argument("--draw", choices=sorted(draws()), help="use only the labels of this draw")
    parser.add_argument("--list", action="store_true", help="print the scripts that the parser does not get right")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder}: not a folder")
    given = list(answers(arguments.folder, labels(arguments.draw)))
    if arguments.list:
        for answer in given:
            if answer.verdict != "right":
                expected = " | ".join(name or "(nothing)" for name in answer.expected)
                got = answer.job.program or "(nothing)"
                sys.stdout.write(f"{answer.verdict}\t{answer.path}\t{expected}\t{got}\n")
    if not given:
        sys.stderr.write(f"{arguments.folder}: contains no labelled scripts, so nothing is measured\n")
    sys.stdout.write(json.dumps(shares([answer.verdict for answer in given])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
