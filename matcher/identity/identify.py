# SPDX-License-Identifier: Apache-2.0
"""Identify a program by its file, and remember files that have not changed."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from reprise.matcher.identity.bounded_file import BoundedFile, NotIdentifiedError, Version, opened, require_readable
from reprise.matcher.identity.cached_look import cached_look
from reprise.matcher.identity.elf_file import MAGIC, read_executable
from reprise.matcher.identity.script_file import SCRIPT_BYTES, read_script
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import UNKNOWN, ProgramIdentity
from reprise.matcher.submission.sketch import set_sketch

log = logging.getLogger(__name__)

BUDGET = 64 << 20
"""Bytes read of one file at most: two tables of symbols with their names, and its constants. The deadline is nearer."""
FEWEST = 4
"""Items of which a sketch is made. `main.c` alone is in the programs of many."""
MOST = 4096
"""Items of which a sketch is made: those with the lowest numbers, the same of every build."""
REMEMBERED = 4096
"""Files whose identity is kept: 1 KiB each."""


class Identifier:
    """Identifies files. Any thread may ask."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._known: OrderedDict[Version, ProgramIdentity] = OrderedDict()
        self._changing = threading.Lock()

    def identify(self, path: str, deadline: float) -> ProgramIdentity:
        """Return the identity of the program at an absolute path, UNKNOWN where it cannot be read.

        Nothing is begun after `deadline` (of time.monotonic), but a file system that hangs holds the thread.
        """
        try:
            with opened(path, BUDGET, deadline) as file:
                found = self._known.get(file.version)
                if found is None:
                    found = identity_of(file)
                    self._remember(file.version, found)
                return found
        except (OSError, ValueError, NotIdentifiedError) as error:  # ValueError: a NUL in the path
            log.debug("%s is not identified: %s", path, error)
            return UNKNOWN

    def known(self, path: str) -> ProgramIdentity | None:
        """Return the identity of the program at an absolute path, where no file system has to be asked for it.

        None: it has to be looked at. UNKNOWN is an answer: nothing that can be read lies there.
        """
        try:
            look = cached_look(path)
            if look is None:
                return None
            require_readable(look.mode)
            return self._known.get(look.version)
        except (OSError, ValueError, NotIdentifiedError):
            return UNKNOWN

    def identified(self, job: JobMetadata, deadline: float) -> JobMetadata:
        """Return the job with the identity of its program, where its script says which file that is."""
        path = program_file(job)
        return dataclasses.replace(job, **vars(self.identify(path, deadline))) if path else job

    def _remember(self, version: Version, found: ProgramIdentity) -> None:
        with self._changing:
            self._known[version] = found
            while len(self._known) > self._remembered:
                self._known.popitem(last=False)


def identity_of(file: BoundedFile) -> ProgramIdentity:
    """Read who an executable or a script is; UNKNOWN of any other file. Raises NotIdentifiedError or OSError."""
    beginning = file.read(0, 512)
    if beginning.startswith(MAGIC):
        found = read_executable(file)
        return ProgramIdentity(
            build_id=found.build_id,
            functions=_sketch(found.names),
            imports=_sketch(found.imports),
            contents=_sketch(found.words),
            runtime=found.runtime,
        )
    if not beginning or b"\0" in beginning:
        return UNKNOWN
    return identity_of_script(file.read(0, SCRIPT_BYTES).decode(errors="replace"))


def identity_of_script(text: str) -> ProgramIdentity:
    """Return who a script is by its text."""
    script = read_script(text)
    return ProgramIdentity("", _sketch(script.functions), _sketch(script.imports), script.contents)


def _sketch(items: npt.NDArray[np.uint64]) -> str:
    return "" if len(items) < FEWEST else set_sketch(np.unique(items)[:MOST])
