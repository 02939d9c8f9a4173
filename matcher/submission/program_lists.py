# SPDX-License-Identifier: Apache-2.0
"""Reader of lists of programs that a launcher starts together, if the job's script itself writes the list.

The list is the file in `srun --multi-prog FILE`, `mpirun --app FILE` or `mpiexec -configfile FILE`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import basename

_LIST_OPTIONS = frozenset({"--multi-prog", "--app", "-app", "--configfile", "-configfile"})
_WORDS = 32
"""Maximum number of words on a launcher's command line that are searched for the option and its file."""
_CHARACTERS = 2_048
"""Maximum number of characters of a list that are read; ample, since lists have one or two lines."""


def listed_commands(launcher: str, argv: Sequence[str], files: Mapping[str, str]) -> str:
    """Return the commands in a launcher's list, one per line; "" if there is no list or its text is unknown.

    `files` maps the base names of the files that the script has written to their text.
    """
    words = argv[:_WORDS]
    if not files or _LIST_OPTIONS.isdisjoint(words):
        return ""
    text = next((files[basename(word)] for word in words if basename(word) in files), "")
    lines = [line.strip() for line in text[:_CHARACTERS].splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if launcher == "srun":  # `0-3 ./program ARGUMENTS`
        return "\n".join(line.partition(" ")[2] for line in lines)
    return "\n".join(f"{launcher} {line}" for line in lines)  # `-np 4 ./program ARGUMENTS`
