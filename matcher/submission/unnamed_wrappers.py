# SPDX-License-Identifier: Apache-2.0
"""Wrappers that no table knows, people's own `bind_gpu.sh python train.py`: told by what they are given to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import basename

from reprise.matcher.submission import interpreters
from reprise.matcher.submission.launchers import LAUNCHERS

WORDS = 24
"""Words of a command among which an interpreter or a launcher is looked for."""
# Endings of files that are no wrapper: an interpreter's scripts, and a program's data.
_NO_WRAPPER = re.compile(r".*\.(?:py|R|r|jl|pl|jar|m|nf|ipynb|rb|sif|simg|img|exe|x)\Z")
_WRAPS = re.compile(
    r"bind|select|wrap|affinity|gpu|numa|prof|cpu[-_]|pin|with[-_]|launch|container|docker|exec", re.IGNORECASE
)
_EXECUTABLE = re.compile(r"(?:\.{0,2}|~|\$\{?\w+\}?)/(?:[^ ]*/)?[\w$][\w.+-]*?(?:\.(?:exe|x|out|sh))?\Z")
# What the script beside a compiled MATLAB program, run_NAME.sh, is given first: a directory.
_MATLAB_RUNTIME = re.compile(r"matlab|mcr|runtime", re.IGNORECASE)
_PROGRAM = re.compile(r".*\.(?:exe|x|out|sh)\Z")
_DATA = re.compile(r".*\.(?!exe\Z|x\Z|out\Z|sh\Z|bin\Z)[A-Za-z]\w*\Z")
_SCRIPT = re.compile(r"[^-].*\.(?:py|R|r|jl|pl|sh|jar)\Z")


def wrapped(argv: Sequence[str]) -> list[str]:
    """What a command that no table knows is given to run; [] where it is no wrapper."""
    name = basename(argv[0])
    if not argv[1:] or _NO_WRAPPER.match(name):
        return []
    is_unknown = argv[0][0] in "$`" and "/" not in argv[0]
    return (is_unknown and _script_of_unknown(argv)) or _known_inside(argv) or _executable_inside(name, argv)


def _script_of_unknown(argv: Sequence[str]) -> list[str]:
    """`$PYTHON -u x.py`: the script."""
    for position, word in enumerate(argv[1:4], start=1):
        if _SCRIPT.match(word):
            return list(argv[position:])
        if word[:1] != "-":
            break
    return []


def _known_inside(argv: Sequence[str]) -> list[str]:
    """From a launcher on, or from an interpreter that is given a script."""
    for position, word in enumerate(argv[1:WORDS], start=1):
        file = basename(word)
        if file in LAUNCHERS and argv[position + 1 :] and argv[position - 1][:1] != "-":
            return list(argv[position:])
        if (interpreters.PYTHON.match(file) or file in interpreters.INTERPRETERS) and _is_given_script(argv, position):
            return list(argv[position:])
    return []


def _executable_inside(name: str, argv: Sequence[str]) -> list[str]:
    """`bind_gpu.sh ./app`, `run.sh ./app.exe`: the first argument, or what follows `--`, where it looks executable."""
    is_told = "--" in argv[:WORDS]
    after = argv[argv.index("--") + 1 :] if is_told else argv[1:]
    if not after or not _EXECUTABLE.match(after[0]) or _DATA.match(after[0]) or _MATLAB_RUNTIME.search(after[0]):
        return []
    is_wrapper = is_told or _WRAPS.search(name) or (name.endswith(".sh") and _PROGRAM.match(after[0]))
    return list(after) if is_wrapper else []


def _is_given_script(argv: Sequence[str], position: int) -> bool:
    """Whether the word here is an interpreter that runs something, not the value of an option or a directory."""
    words = argv[position + 1 : position + 4]
    return bool(words) and (words[0] in ("-m", "-c") or any(_SCRIPT.match(word) for word in words))
