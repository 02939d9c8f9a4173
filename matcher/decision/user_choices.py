# SPDX-License-Identifier: Apache-2.0
"""Which variables the user has set already: in the environment, in the script, or on a launcher's command line, or by
an option that stands for one.

A record whose `conflicts` meet one of them gives the job nothing. So this errs on the side of the user: whatever looks
like an assignment counts, wherever it stands, unless its line is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reprise.allowlist import ALLOW_LIST, TOLD_LIST
from reprise.matcher.decision.user_options import BEFORE, chosen_by_options
from reprise.matcher.submission import Submission

# Each pattern begins with the letters that it is found by: texts have up to 256 KiB, and these are looked for in a
# twentieth of the time that it takes to try a pattern at every place.
_NAMED = sorted({pattern.split("*")[0] for pattern in (*ALLOW_LIST, *TOLD_LIST)})
_FAMILIES = [name for name in _NAMED if not any(name != other and name.startswith(other) for other in _NAMED)]
# NAME=value (sh, env, --export=, -x), NAME+=value, ${NAME:=value}, os.environ["NAME"] = value, and
# os.putenv("NAME", value). What follows a dollar is read: [ "$NAME" = value ].
# What a variable completes may be any name: OMPI_MCA_coll_tuned_${collective}_algorithm=3
_ASSIGNMENTS = {
    family: re.compile(
        rf"(?P<name>{family}(?<![A-Za-z0-9_$]{family})[A-Za-z0-9_]*)(?:[\"']?\]?\s*[=,]|:=|\+=|(?P<more>[$`]))"
    )
    for family in _FAMILIES
}
# setenv NAME value (csh)
_SETENV = re.compile(rf"setenv(?<!\wsetenv)\s+(?P<name>(?:{'|'.join(_FAMILIES)})[A-Za-z0-9_]*)(?P<more>)")
_DASHES = [dashes + prefix for dashes in ("-", "--") for prefix in ("", "g", "o", "go")]


def _word(name: str, before: Iterable[str]) -> str:
    """A pattern for a name that has one of these before it, and before that a blank, or what a variable's value or an
    array begins with: OPTIONS="--mca ..." """
    behind = "|".join(rf"(?<={BEFORE}{prefix}{name})" for prefix in before)
    return f"{name}(?:{behind})"


# mpirun --mca coll_tuned_bcast_algorithm 3; -mca, --gmca, --omca and the like mean the same, = may stand for the space
_MCA_OPTION = re.compile(_word("mca", _DASHES) + r"[\s=]+[\"']?([A-Za-z0-9_]+)")
# mpirun --tune FILE, --am FILE: parameters from a file that cannot be seen from here
_MCA_FILES = [re.compile(_word(name, ("", "-")) + r"[\s=]+\S") for name in ("-tune", "-am")]
_HINTS = (*_FAMILIES, "mca", "-tune", "-am")  # one of them is in whatever these find
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r"^#SBATCH\b.*\s--export-f", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")
CHOSEN_LIMIT = 128
"""Names that are compared with each record's, of which there may be thousands; twice what a decision may carry. A job
that sets more counts as one that sets any."""
_ANY_NAME = tuple(f"{family}*" for family in _FAMILIES)


def chosen_names(submission: Submission) -> tuple[str, ...]:
    """Names of the variables that the job's user has set, at most CHOSEN_LIMIT; one that ends in `*` stands for any
    name that begins so."""
    texts = [" ".join(submission.argv), " ".join(submission.env.values())]  # e.g. SBATCH_EXPORT
    if submission.script and _may_choose(submission.script.text):
        texts.append(_CONTINUED.sub(" ", _COMMENT.sub("", submission.script.text)))
    names = dict.fromkeys([*submission.set_names, *chosen_by_options(submission)])
    for text in filter(_may_choose, texts):
        names |= dict.fromkeys(_assigned(text))
        spaced = f" {text}"
        names |= dict.fromkeys(f"OMPI_MCA_{name}" for name in _MCA_OPTION.findall(spaced))
        if any(file.search(spaced) for file in _MCA_FILES):
            names["OMPI_MCA_*"] = None
    return tuple(names) if len(names) <= CHOSEN_LIMIT else _ANY_NAME


def _assigned(text: str) -> list[str]:
    """The names that are assigned to, in their order."""
    patterns = [pattern for family, pattern in _ASSIGNMENTS.items() if family in text]
    found = [one for pattern in (*patterns, _SETENV) for one in pattern.finditer(text)]
    return [f"{one['name']}*" if one["more"] else one["name"] for one in sorted(found, key=re.Match.start)]


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
