# SPDX-License-Identifier: Apache-2.0
"""Batch scripts in a folder: OWNER/PROJECT/PATH, as a site has them in home directories or in a copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reprise.matcher.errors import MatcherError
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.submitted import SCRIPT_LIMIT

ENDINGS = (".md", ".txt", ".j2", ".tpl", ".rst", ".html", ".py")
"""Of documentation and templates, which no one submits."""
LEAST_SCRIPTS = 20
_TEMPLATE = re.compile(r"\{\{|<%")
_DIRECTIVE = re.compile(r"^#SBATCH\s", re.MULTILINE)


@dataclass(frozen=True)
class FoundScript:
    """A script of `owner`; `path` is relative to the folder and has the owner and the project in front."""

    owner: str
    project: str
    path: str
    text: str

    @property
    def directory(self) -> str:
        """Where its owner would stand to submit it."""
        return "/home/" + self.path.rpartition("/")[0]

    @cached_property
    def metadata(self) -> JobMetadata:
        """What the parser makes of `sbatch SCRIPT`, submitted by its owner in its own directory."""
        submission = Submission.for_script(self.path.rpartition("/")[2], self.text, cwd=self.directory)
        return parse(submission, user=self.owner, submit_time=0.0)


def scripts_in(folder: Path) -> list[FoundScript]:
    """The batch scripts below `folder`, by path. Raises MatcherError where there are fewer than LEAST_SCRIPTS."""
    found = list(_scripts_in(folder))
    if len(found) < LEAST_SCRIPTS:
        raise MatcherError(
            f"{folder}: holds {len(found)} batch scripts as OWNER/PROJECT/PATH: {LEAST_SCRIPTS} or more are needed"
        )
    return found


def _scripts_in(folder: Path) -> Iterator[FoundScript]:
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
