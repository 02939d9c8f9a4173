# SPDX-License-Identifier: Apache-2.0
"""Reader that takes batch scripts from the output of `sacct -B -j JOBS`, and joins them with accounting's job rows.

Slurm 21.08 and later stores scripts if `AccountingStoreFlags` contains `job_script`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from reprise.matcher.submission import JobFacts, parse
from reprise.matcher.submission.sacct import Accounted, Submitted
from reprise.matcher.submission.slurm_options import given_options
from reprise.matcher.submission.submitted import SCRIPT_LIMIT, Script, Submission

LISTED = "sacct -aXPn -o JobID,JobIDRaw"
"""Command that lists the jobs; users may append options that select jobs."""
PRINTED = "awk -F'[_+|]' '!seen[$1]++ { print $NF }' | xargs -n 1000 | tr ' ' , | xargs -n 1 sacct -B -j"
"""Command that reads the list and prints the jobs' scripts, one script per array or heterogeneous job."""

_HEADER = re.compile(r"Batch Script for (\d+)\S*\n")
_RULE = re.compile(r"-{20,}\n")
_NO_SCRIPT = "NONE"  # printed for jobs of srun and salloc, and for all jobs if Slurm stores no scripts


def batch_scripts(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Yield the number and script of each submission that has a script, truncated soon after SCRIPT_LIMIT characters.

    Each of `lines` ends with "\n". If sacct printed several tasks of an array, each task is yielded with the array's
    number.
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
    """Yield each submission that has a script, with the script added to its command, and the script itself."""
    by_number = {one.number: one for one in accounted.submitted}
    for number, text in scripts:
        if one := by_number.pop(number, None):
            yield dataclasses.replace(one, command=_with_script(one, text)), text


def with_scripts(accounted: Accounted, scripts: Iterable[tuple[str, str]]) -> Accounted:
    """Return the submissions in accounting, those that have a script with what the script says about the job.

    Name, account, partition, directory and number of nodes remain those of accounting, because Slurm decided them.
    """
    read = {one.number: _read(one) for one, _ in submissions(accounted, scripts)}
    return dataclasses.replace(accounted, submitted=tuple(read.get(one.number, one) for one in accounted.submitted))


def _read(one: Submitted) -> Submitted:
    job = one.job
    if one.command is None:
        return one
    told = parse(one.command, user=job.user, submit_time=job.submit_time, facts=JobFacts(job.nodes))
    kept = {
        name: getattr(job, name) for name in ("submit_time", "job_name", "nodes", "account", "partition", "directory")
    }
    return dataclasses.replace(one, job=dataclasses.replace(told, **kept))


def _with_script(one: Submitted, text: str) -> Submission:
    if one.command is None:  # accounting has no command lines
        return Submission.for_script(one.job.job_name, text, cwd=one.job.directory)
    given = given_options(one.command)
    if "wrap" in given.values:
        return one.command  # the command line already contains the commands that the job runs
    path = given.rest[0] if given.rest else ""
    script = Script(path, text[:SCRIPT_LIMIT], truncated=len(text) > SCRIPT_LIMIT)
    return dataclasses.replace(one.command, script=script)
