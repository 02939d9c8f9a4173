# SPDX-License-Identifier: Apache-2.0
"""Batch scripts from Slurm's accounting: the output of `sacct -B -j JOBS`, joined with sacct's rows of these jobs.

Slurm keeps scripts since 21.08 if `AccountingStoreFlags` has `job_script`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from reprise.matcher.submission.sacct import Accounted, Submitted
from reprise.matcher.submission.slurm_options import TABLES, parse_options
from reprise.matcher.submission.submitted import SCRIPT_LIMIT, Script, Submission

LISTED = "sacct -aXPn -o JobID,JobIDRaw"
"""Command that lists the jobs; options that select jobs may follow."""
PRINTED = "awk -F'[_+|]' '!seen[$1]++ { print $NF }' | xargs -n 1000 | tr ' ' , | xargs -n 1 sacct -B -j"
"""Command that prints the scripts of the listed jobs, one for each array or heterogeneous job (one submission)."""

_HEADER = re.compile(r"Batch Script for (\d+)\S*\n")
_RULE = re.compile(r"-{20,}\n")
_NO_SCRIPT = "NONE"  # of a job of srun or salloc, and of any job if Slurm keeps no scripts


def batch_scripts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Yield the number and script of each submission, cut soon after SCRIPT_LIMIT; jobs without a script are left out.

    `lines` end with "\n". Each task of an array that sacct printed has the number of the array.
    """
    number, header, kept, length = "", "", list[str](), 0
    for line in lines:
        if header and _RULE.fullmatch(line):
            yield from _one(number, kept)
            found = _HEADER.fullmatch(header)
            number, header, kept, length = found[1] if found else "", "", [], 0
            continue
        if header and length < SCRIPT_LIMIT:
            kept.append(header)
            length += len(header)
        header = line if _HEADER.fullmatch(line) else ""
        if not header and length < SCRIPT_LIMIT:
            kept.append(line)
            length += len(line)
    yield from _one(number, [*kept, header])


def _one(number: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    text = "".join(lines).removesuffix("\n")  # sacct ends each script with an additional line end
    if number and text.strip() not in ("", _NO_SCRIPT):
        yield number, text


def submissions(accounted: Accounted, scripts: Iterable[tuple[str, str]]) -> Iterator[tuple[Submitted, str]]:
    """Yield each submission that has a script, and the script; the command is as sbatch would have sent it."""
    by_number = {one.number: one for one in accounted.submitted}
    for number, text in scripts:
        if one := by_number.pop(number, None):
            yield dataclasses.replace(one, command=_with_script(one, text)), text


def _with_script(one: Submitted, text: str) -> Submission:
    if one.command is None:  # the accounting has no command lines
        return Submission.for_script(one.job.job_name, text, cwd=one.job.directory)
    given = parse_options(TABLES[one.command.command], one.command.argv[1:])
    if "wrap" in given.values:
        return one.command  # the command contains all that runs
    path = given.rest[0] if given.rest else ""
    script = Script(path, text[:SCRIPT_LIMIT], truncated=len(text) > SCRIPT_LIMIT)
    return dataclasses.replace(one.command, script=script)
