# SPDX-License-Identifier: Apache-2.0
"""Identification of programs by the contents of their files, with a cache of unchanged files."""

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
"""Maximum number of bytes that are read from one file, for two symbol tables with their names and the constants.

Large files usually reach the deadline before this limit.
"""
FEWEST = 4
"""Minimum number of items for a sketch; many different programs share fewer items, such as only `main.c`."""
MOST = 4096
"""Maximum number of items in a sketch; those with the lowest hashes are used, so that a program's builds use the
same."""
REMEMBERED = 4096
"""Maximum number of files whose identities are cached; each takes 1 KiB."""


class Identifier:
    """Identifier of programs by their files, with a cache. Thread-safe."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._known: OrderedDict[Version, ProgramIdentity] = OrderedDict()
        self._changing = threading.Lock()

    def identify(self, path: str, deadline: float) -> ProgramIdentity:
        """Return the identity of the program at an absolute path; UNKNOWN if the file cannot be read.

        No read begins after `deadline` (time.monotonic), but a file system that hangs blocks the calling thread.
        """
        try:
            with opened(path, BUDGET, deadline) as file:
                found = self._known.get(file.version)
                if found is None:
                    found = identity_of(file)
                    self._remember(file.version, found)
                return found
        except (OSError, ValueError, NotIdentifiedError) as error:  # a ValueError means that the path contains a NUL
            log.debug("%s is not identified: %s", path, error)
            return UNKNOWN

    def known(self, path: str) -> ProgramIdentity | None:
        """Return the cached identity of the program at an absolute path, without access to a file system.

        None means that the file must be read; UNKNOWN means that there is no readable file.
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
        """Return the metadata with the identity of the job's program added, if its script names the program's file."""
        path = program_file(job)
        return dataclasses.replace(job, **vars(self.identify(path, deadline))) if path else job

    def _remember(self, version: Version, found: ProgramIdentity) -> None:
        with self._changing:
            self._known[version] = found
            while len(self._known) > self._remembered:
                self._known.popitem(last=False)


def identity_of(file: BoundedFile) -> ProgramIdentity:
    """Return the identity of an executable or a script; UNKNOWN for other files.

    Raise NotIdentifiedError or OSError if the file cannot be read.
    """
    beginning = file.read(0, 512)
    if beginning.startswith(MAGIC):
        found = read_executable(file)
        return ProgramIdentity(
            build_id=found.build_id,
            functions=_sketch(found.names),
            imports=_sketch(found.imports),
            contents=_sketch(found.words),
            runtime=found.runtime,
            mpi_library=found.mpi_library,
        )
    if not beginning or b"\0" in beginning:
        return UNKNOWN
    return identity_of_script(file.read(0, SCRIPT_BYTES).decode(errors="replace"))


def identity_of_script(text: str) -> ProgramIdentity:
    """Return the identity of a script, given its text."""
    script = read_script(text)
    return ProgramIdentity("", _sketch(script.functions), _sketch(script.imports), script.contents)


def _sketch(items: npt.NDArray[np.uint64]) -> str:
    return "" if len(items) < FEWEST else set_sketch(np.unique(items)[:MOST])
