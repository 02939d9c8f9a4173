# SPDX-License-Identifier: Apache-2.0
"""Reader of commands behind users' own wrappers, such as `bind_gpu.sh` in `bind_gpu.sh python train.py`.

Since the names of such wrappers are unknown, wrappers are recognized by the command that follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import basename

from reprise.matcher.submission import interpreters
from reprise.matcher.submission.launchers import LAUNCHERS
from reprise.matcher.submission.runners import is_known
from reprise.matcher.submission.submitted import TEXT_LIMIT
from reprise.matcher.submission.utilities import UTILITIES

WORDS = 24
"""Maximum number of words of a command that are searched for an interpreter or a launcher."""
# Pattern of files that are not wrappers, such as an interpreter's scripts, containers and executables.
_NO_WRAPPER = re.compile(r".*\.(?:py|R|r|jl|pl|jar|m|nf|ipynb|rb|sif|simg|img|exe|x)\Z")
_WRAPS = re.compile(
    r"bind|select|wrap|measure|affinity|gpu|numa|prof|cpu[-_]|pin|with[-_]|launch|container|docker|exec", re.IGNORECASE
)
_EXECUTABLE = re.compile(r"(?:\.{0,2}|~|\$\{?\w+\}?)/(?:[^ ]*/)?[\w$][\w.+-]*?(?:\.(?:exe|x|out|sh))?\Z")
# Pattern of the MATLAB runtime's directory, which is the first argument of a compiled MATLAB program's run_NAME.sh.
_MATLAB_RUNTIME = re.compile(r"matlab|mcr|runtime", re.IGNORECASE)
_PROGRAM = re.compile(r".*\.(?:exe|x|out|sh)\Z")
_DATA = re.compile(r".*\.(?!exe\Z|x\Z|out\Z|sh\Z|bin\Z)[A-Za-z]\w*\Z")
_ENGINES = frozenset({"nextflow", "snakemake", "torchrun", "accelerate", "deepspeed"})
_SCRIPT = re.compile(r"[^-].*\.(?:py|R|r|jl|pl|sh|jar)\Z")


def wrapped(argv: Sequence[str]) -> list[str]:
    """Return the command that a wrapper with an unknown name runs; [] if `argv` does not seem to be a wrapper."""
    name = basename(argv[0])
    if not argv[1:] or len(name) > TEXT_LIMIT or _NO_WRAPPER.match(name):
        return []
    words = [word if len(word) <= TEXT_LIMIT else "" for word in argv[:WORDS]]
    is_unknown = argv[0][0] in "$`" and "/" not in argv[0]
    first = (is_unknown and _script_of_unknown(words)) or _known_inside(words) or _executable_inside(name, words)
    return list(argv[first:]) if first else []


def quoted_command(argv: Sequence[str]) -> str:
    """Return the command that is passed as one word, as in `run_or_die "mpirun ./x a"`; "" if there is none."""
    if len(argv) != 2 or " " not in argv[1]:
        return ""
    first = argv[1][:TEXT_LIMIT].split(maxsplit=1)[:1]
    return argv[1] if first and is_known(first[0]) else ""


def _script_of_unknown(words: Sequence[str]) -> int:
    """Return the position of the script in a command such as `$PYTHON -u x.py`; 0 if there is none."""
    for position, word in enumerate(words[1:4], start=1):
        if _SCRIPT.match(word):
            return position
        if word[:1] != "-":
            break
    return 0


def _known_inside(words: Sequence[str]) -> int:
    """Return the position of the first launcher, engine or interpreter with a script; 0 if there is none."""
    for position, word in enumerate(words[1:], start=1):
        file = basename(word)
        if (file in LAUNCHERS or file in _ENGINES) and words[position + 1 :] and words[position - 1][:1] != "-":
            return position
        if (interpreters.PYTHON.match(file) or file in interpreters.INTERPRETERS) and _is_given_script(words, position):
            return position
    return 0


def _executable_inside(name: str, words: Sequence[str]) -> int:
    """Return the position of the executable that a wrapper runs; 0 if there is none.

    The executable is the word after `--` or, without `--`, the first argument.

    Examples are `bind_gpu.sh ./app` and `run.sh ./app.exe`.
    """
    is_told = "--" in words
    first = words.index("--") + 1 if is_told else 1
    word = words[first] if first < len(words) else ""
    if not _EXECUTABLE.match(word) or _DATA.match(word) or _MATLAB_RUNTIME.search(word):
        return 0
    is_wrapper = is_told or _WRAPS.search(name) or (name.endswith(".sh") and _PROGRAM.match(word))
    return first if is_wrapper or (word.endswith(".sh") and name not in UTILITIES) else 0


def _is_given_script(words: Sequence[str], position: int) -> bool:
    """Return whether the word at `position`, which names an interpreter, is followed by a script, module or code.

    If not, the word may be a directory or an option's value that only has an interpreter's name.
    """
    following = words[position + 1 : position + 4]
    return bool(following) and (following[0] in ("-m", "-c") or any(map(_SCRIPT.match, following)))
