# SPDX-License-Identifier: Apache-2.0
"""Batch scripts in a folder, either as files OWNER/PROJECT/PATH or in the files JOBS and SCRIPTS with sacct's output.

A site's home directories, or a copy of them, contain files named OWNER/PROJECT/PATH.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from reprise.matcher.errors import MatcherError
from reprise.matcher.submission import Submission, parse, sacct, sacct_scripts
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.submitted import SCRIPT_LIMIT

ENDINGS = (".md", ".txt", ".j2", ".tpl", ".rst", ".html", ".py")
"""File name suffixes of documentation, templates and programs, which are never submitted as batch scripts."""
JOBS, SCRIPTS = "jobs.txt", "scripts.txt"
"""Names of the files in a folder that contain the output of the command `sacct.COMMAND`, and of the command
`sacct_scripts.LISTED` piped into `sacct_scripts.PRINTED`."""
LEAST_SCRIPTS = 20
_TEMPLATE = re.compile(r"\{\{|<%")
_DIRECTIVE = re.compile(r"^#SBATCH\s", re.MULTILINE)


@dataclass(frozen=True)
class FoundScript:
    """A batch script that belongs to `owner`.

    `path` consists of the owner, the project and a unique name: the file's path in the project, or the job's number.
    `submitted` is the submission if the script comes from sacct's output.
    """

    owner: str
    project: str
    path: str
    text: str
    submitted: Submission | None = None

    @property
    def directory(self) -> str:
        """Directory of the submission; for a script from a file, the file's directory below /home."""
        return self.submitted.cwd if self.submitted else "/home/" + self.path.rpartition("/")[0]

    @cached_property
    def metadata(self) -> JobMetadata:
        """The parser's result for the submission, which is `sbatch SCRIPT` in `directory` for a script from a file."""
        submission = self.submitted or Submission.for_script(
            self.path.rpartition("/")[2], self.text, cwd=self.directory
        )
        return parse(submission, user=self.owner, submit_time=0.0)


def scripts_in(folder: Path) -> list[FoundScript]:
    """Return the batch scripts in `folder`, from sacct's output if SCRIPTS exists, else from the files, sorted by path.

    Raises MatcherError if there are fewer than LEAST_SCRIPTS scripts, or if a file with sacct's output cannot be read.
    """
    if (folder / SCRIPTS).is_file():
        found, of = list(_accounted(folder)), f"scripts in {SCRIPTS} with jobs in {JOBS}"
        remedy = ": check that Slurm keeps scripts (AccountingStoreFlags=job_script)"
    else:
        found, of = list(_files(folder)), "batch scripts as OWNER/PROJECT/PATH"
        remedy = f", or sacct's output in {JOBS} and {SCRIPTS} (docs/how-to/calibrate.md)"
    if len(found) < LEAST_SCRIPTS:
        raise MatcherError(f"{folder}: contains {len(found)} {of}: {LEAST_SCRIPTS} or more are needed{remedy}")
    return found


def _accounted(folder: Path) -> Iterator[FoundScript]:
    """Yield the scripts in sacct's output; a script that its owner submitted repeatedly in a project occurs once."""
    seen = set()
    for one, text in _submissions(folder):
        project = f"{one.job.user}/{_project(one.job)}"
        if (project, text) not in seen:
            seen.add((project, text))
            yield FoundScript(one.job.user, project, f"{project}/{one.number}", text, one.command)


def _submissions(folder: Path) -> Iterator[tuple[sacct.Submitted, str]]:
    try:
        accounted = sacct.read((folder / JOBS).read_text(encoding="utf-8-sig", errors="replace"))
        with (folder / SCRIPTS).open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from sacct_scripts.submissions(accounted, sacct_scripts.batch_scripts(lines))
    except OSError as error:
        raise MatcherError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except sacct.SacctError as error:
        raise MatcherError(f"{folder / JOBS}: {error}") from error


def _project(job: JobMetadata) -> str:
    """Return the name of the first directory below the one named after the user, with each number replaced by 0.

    If the path has no such directory, return the account.
    """
    below = PurePosixPath(job.directory).parts
    if job.user in below[:-1]:
        return re.sub(r"\d+", "0", below[below.index(job.user) + 1])
    return job.account


def _files(folder: Path) -> Iterator[FoundScript]:
    for file in sorted(folder.glob("*/*/**/*")):
        if file.suffix.lower() in ENDINGS or file.is_symlink() or not file.is_file():
            continue
        try:
            text = file.read_bytes()[: 4 * SCRIPT_LIMIT].decode(errors="replace")
        except OSError:
            continue
        if _DIRECTIVE.search(text) and not _TEMPLATE.search(text):
            relative = file.relative_to(folder)
            yield FoundScript(relative.parts[0], "/".join(relative.parts[:2]), str(relative), text)
