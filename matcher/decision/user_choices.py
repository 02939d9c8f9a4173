# SPDX-License-Identifier: Apache-2.0
"""Variables that the user has set in the environment, in the script, on a launcher's command line, or by an option.

A job does not get a record whose `conflicts` match one of these variables. If in doubt, the user's choice takes
precedence. Therefore every text that may be an assignment counts, wherever it occurs, except in comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reprise.allowlist import ALLOW_LIST, REPORTED_LIST
from reprise.matcher.decision.user_options import BEFORE, chosen_by_options
from reprise.matcher.submission import Submission

# Each pattern begins with a literal prefix. Texts may have 256 KiB, and searching for a prefix takes a twentieth of the
# time that trying a pattern at every position takes.
_NAMED = sorted({pattern.split("*")[0] for pattern in (*ALLOW_LIST, *REPORTED_LIST)})
_FAMILIES = [name for name in _NAMED if not any(name != other and name.startswith(other) for other in _NAMED)]
# The patterns match NAME=value (sh, env, --export=, -x), NAME+=value, ${NAME:=value}, os.environ["NAME"] = value, and
# os.putenv("NAME", value). They do not match a name after a dollar sign, because the script only reads such a variable:
# [ "$NAME" = value ]. A name that contains a variable counts as all names that begin with the characters before this
# variable: OMPI_MCA_coll_tuned_${collective}_algorithm=3
_ASSIGNMENTS = {
    family: re.compile(
        rf"(?P<name>{family}(?<![A-Za-z0-9_$]{family})[A-Za-z0-9_]*)(?:[\"']?\]?\s*[=,]|:=|\+=|(?P<more>[$`]))"
    )
    for family in _FAMILIES
}
# Pattern of csh's `setenv NAME value`.
_SETENV = re.compile(rf"setenv(?<!\wsetenv)\s+(?P<name>(?:{'|'.join(_FAMILIES)})[A-Za-z0-9_]*)(?P<more>)")
_DASHES = [dashes + prefix for dashes in ("-", "--") for prefix in ("", "g", "o", "go")]


def _word(name: str, before: Iterable[str]) -> str:
    """Return a pattern that matches a name after one of the prefixes `before`.

    The prefix must follow a blank, or begin a variable's value or an array, as in `OPTIONS="--mca ..."`.
    """
    behind = "|".join(rf"(?<={BEFORE}{prefix}{name})" for prefix in before)
    return f"{name}(?:{behind})"


# mpirun --mca coll_tuned_bcast_algorithm 3; -mca, --gmca, --omca and similar options are equivalent. `=` may replace
# the space.
_MCA_OPTION = re.compile(_word("mca", _DASHES) + r"[\s=]+[\"']?([A-Za-z0-9_]+)")
# mpirun --tune FILE, --am FILE: the file sets parameters, and the matcher cannot read the file.
_MCA_FILES = [re.compile(_word(name, ("", "-")) + r"[\s=]+\S") for name in ("-tune", "-am")]
_HINTS = (*_FAMILIES, "mca", "-tune", "-am")  # a text that contains none of these strings has no match
# A burst buffer that the script or the option --bb asks for (accelerators/forward/slurm/burst_buffer.lua). Slurm gives
# the job these variables when it starts.
_BURST_DIRECTIVE = re.compile(r"^#(?:BB_LUA|SBB)\b.*\spool=(?:ram|flash)\b", re.MULTILINE)
_BURST_OPTION = re.compile(r"\bpool=(?:ram|flash)\b")
_OF_BURSTS = ("LD_PRELOAD", "REPRISE_FORWARD_*")
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r"^#SBATCH\b.*\s--export-f", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")
CHOSEN_LIMIT = 128
"""Maximum number of variable names that are compared with each record's names; twice as many as a decision may set.

The comparison must be fast, since there may be thousands of records. A job that sets more variables counts as setting
every name.
"""
_ANY_NAME = tuple(f"{family}*" for family in _FAMILIES)


def chosen_names(submission: Submission) -> tuple[str, ...]:
    """Return the names of the variables that the job's user has set, at most CHOSEN_LIMIT.

    A name that ends in `*` means all names with this prefix.
    """
    texts = [" ".join(submission.argv), " ".join(submission.env.values())]  # e.g. SBATCH_EXPORT
    if submission.script and _may_choose(submission.script.text):
        texts.append(_CONTINUED.sub(" ", _COMMENT.sub("", submission.script.text)))
    names = dict.fromkeys([*submission.set_names, *chosen_by_options(submission)])
    if _asks_for_burst_buffer(submission):
        names |= dict.fromkeys(_OF_BURSTS)
    for text in filter(_may_choose, texts):
        names |= dict.fromkeys(_assigned(text))
        spaced = f" {text}"
        names |= dict.fromkeys(f"OMPI_MCA_{name}" for name in _MCA_OPTION.findall(spaced))
        if any(file.search(spaced) for file in _MCA_FILES):
            names["OMPI_MCA_*"] = None
    return tuple(names) if len(names) <= CHOSEN_LIMIT else _ANY_NAME


def _asks_for_burst_buffer(submission: Submission) -> bool:
    script = submission.script.text if submission.script else ""
    in_script = "pool=" in script and _BURST_DIRECTIVE.search(script)
    return bool(in_script) or any(map(_BURST_OPTION.search, submission.argv))


def _assigned(text: str) -> list[str]:
    """Return the names of the variables to which a text assigns a value, in order."""
    patterns = [pattern for family, pattern in _ASSIGNMENTS.items() if family in text]
    found = [one for pattern in (*patterns, _SETENV) for one in pattern.finditer(text)]
    return [f"{one['name']}*" if one["more"] else one["name"] for one in sorted(found, key=re.Match.start)]


def _may_choose(text: str) -> bool:
    return any(hint in text for hint in _HINTS)


def hides_names(submission: Submission) -> bool:
    """Return whether the job's variables come from a file that the matcher cannot read (`sbatch --export-file`)."""
    directive = submission.script and _FILE_DIRECTIVE.search(submission.script.text)
    return bool(directive) or any(word.startswith("--export-f") for word in submission.argv)


def conflict(conflicts: Sequence[str], names: Iterable[str]) -> str | None:
    """Return the first of `names` that one of the patterns in `conflicts` matches; a final `*` matches any suffix."""
    return next((name for name in names if any(_meet(pattern, name) for pattern in conflicts)), None)


def _meet(one: str, other: str) -> bool:
    """Return whether some name matches both patterns."""
    a, b = one.removesuffix("*"), other.removesuffix("*")
    if one == a and other == b:
        return a == b
    if one == a:
        return a.startswith(b)
    if other == b:
        return b.startswith(a)
    return a.startswith(b) or b.startswith(a)
