# SPDX-License-Identifier: Apache-2.0
"""Which variables the user has set already: in the environment, in the script, or on a launcher's command line.

A record whose `conflicts` meet one of them gives the job nothing. So this errs on the side of the user: whatever looks
like an assignment counts, wherever it stands, unless its line is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reprise.allowlist import ALLOW_LIST
from reprise.matcher.submission import Submission

_FAMILIES = "|".join(sorted({pattern.split("*")[0] for pattern in ALLOW_LIST}))
# NAME=value (sh, env, --export=, -x), `setenv NAME value` (csh), os.environ["NAME"] = value, os.putenv("NAME", value).
# What a variable completes may be any name: OMPI_MCA_coll_tuned_${collective}_algorithm=3
_ASSIGNMENT = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<name>(?:{_FAMILIES})[A-Za-z0-9_]*)(?:[\"']?\]?\s*[=,]|(?P<more>[$`]))"
    rf"|\bsetenv\s+(?P<csh>(?:{_FAMILIES})[A-Za-z0-9_]*)"
)
# mpirun --mca coll_tuned_bcast_algorithm 3; -mca, --gmca, --omca and the like mean the same, = may stand for the space
_MCA_OPTION = re.compile(r"(?<!\S)--?g?o?mca[\s=]+[\"']?([A-Za-z0-9_]+)")
# mpirun --tune FILE, --am FILE: parameters from a file that cannot be seen from here
_MCA_FILE = re.compile(r"(?<!\S)--?(?:tune|am)[\s=]+\S")
_HINTS = (*_FAMILIES.split("|"), "mca", "-tune", "-am")  # one of them is in whatever these find
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r"^#SBATCH\b.*\s--export-f", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")


def chosen_names(submission: Submission) -> tuple[str, ...]:
    """Names of the variables that the job's user has set; a name ending in `*` stands for any that begins so."""
    texts = [" ".join(submission.argv), " ".join(submission.env.values())]  # e.g. SBATCH_EXPORT
    if submission.script and _may_choose(submission.script.text):
        texts.append(_CONTINUED.sub(" ", _COMMENT.sub("", submission.script.text)))
    names = dict.fromkeys(submission.set_names)
    for text in filter(_may_choose, texts):
        for found in _ASSIGNMENT.finditer(text):
            names[f"{found['name']}*" if found["more"] else found["name"] or found["csh"]] = None
        names |= dict.fromkeys(f"OMPI_MCA_{name}" for name in _MCA_OPTION.findall(text))
        if _MCA_FILE.search(text):
            names["OMPI_MCA_*"] = None
    return tuple(names)


def _may_choose(text: str) -> bool:
    return any(hint in text for hint in _HINTS)


def hides_names(submission: Submission) -> bool:
    """Whether the job's variables come from a file that cannot be seen: `sbatch --export-file`, or as it may be cut."""
    directive = submission.script and _FILE_DIRECTIVE.search(submission.script.text)
    return bool(directive) or any(word.startswith("--export-f") for word in submission.argv)


def conflict(conflicts: Sequence[str], names: Iterable[str]) -> str | None:
    """The first of `names` that one of the patterns `conflicts` matches (`*` at the end: any that begins so)."""
    return next((name for name in names if any(_meet(pattern, name) for pattern in conflicts)), None)


def _meet(one: str, other: str) -> bool:
    """Whether a name exists that both match."""
    a, b = one.removesuffix("*"), other.removesuffix("*")
    if one == a and other == b:
        return a == b
    if one == a:
        return a.startswith(b)
    if other == b:
        return b.startswith(a)
    return a.startswith(b) or b.startswith(a)
