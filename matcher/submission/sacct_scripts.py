# SPDX-License-Identifier: Apache-2.0
"""Batch scripts out of Slurm's accounting: what `sacct -B -j JOBS` prints, joined with what sacct says of these jobs.

Slurm keeps scripts from 21.08 on, where `AccountingStoreFlags` has `job_script`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from reprise.matcher.submission.sacct import Accounted, Submitted
from reprise.matcher.submission.slurm_options import TABLES, parse_options
from reprise.matcher.submission.submitted import SCRIPT_LIMIT, Script, Submission

LISTED = "sacct -aXPn -o JobID,JobIDRaw"
"""Lists the jobs; options that say which may follow."""
PRINTED = "awk -F'[_+|]' '!seen[$1]++ { print $NF }' | xargs -n 1000 | tr ' ' , | xargs -n 1 sacct -B -j"
"""Prints the scripts of the jobs that it reads; one of an array or a heterogeneous job, which were submitted once."""

_HEADER = re.compile(r"Batch Script for (\d+)\S*\n")
_RULE = re.compile(r"-{20,}\n")
_NO_SCRIPT = "NONE"  # of a job of srun or salloc, and of any where Slurm keeps no scripts


def batch_scripts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The number of each submission with its script, cut soon after SCRIPT_LIMIT; jobs without a script are left out.

    `lines` end with "\\n". Of an array, each task that sacct printed is there, under the number of the array.
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
    text = "".join(lines).removesuffix("\n")  # sacct ends each with a line end of its own
    if number and text.strip() not in ("", _NO_SCRIPT):
        yield number, text


def submissions(accounted: Accounted, scripts: Iterable[tuple[str, str]]) -> Iterator[tuple[Submitted, str]]:
    """Each submission of which there is a script, with it; its command has the script as sbatch would have sent it."""
    by_number = {one.number: one for one in accounted.submitted}
    for number, text in scripts:
        if one := by_number.pop(number, None):
            yield dataclasses.replace(one, command=_with_script(one, text)), text


def _with_script(one: Submitted, text: str) -> Submission:
    if one.command is None:  # the accounting has no command lines
        return Submission.for_script(one.job.job_name, text, cwd=one.job.directory)
    given = parse_options(TABLES[one.command.command], one.command.argv[1:])
    if "wrap" in given.values:
        return one.command  # which holds all that runs
    path = given.rest[0] if given.rest else ""
    script = Script(path, text[:SCRIPT_LIMIT], truncated=len(text) > SCRIPT_LIMIT)
    return dataclasses.replace(one.command, script=script)
