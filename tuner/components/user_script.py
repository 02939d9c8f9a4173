# SPDX-License-Identifier: Apache-2.0
"""An application's batch script with a component's lines at its top. Pure: text in, text out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePath

from reprise.tuner.components.trial_inputs import Parts
from reprise.tuner.errors import TunerError

SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
MCA = "OMPI_MCA_"
WRAPPED = "REPRISE_WRAPPED"  # the script runs in its wrapper already


def with_lines(script: str, parts: Parts) -> str:
    """The script with what has to stand at its top, as it is where there is nothing of that kind.

    The lines stand before the first line that is neither empty nor a comment, so that sbatch reads all directives, and
    what sets variables or limits holds for the rest. They are: the wrapper, which runs the script once more in itself;
    the commands and the checks; the arguments, behind those that the script has already. Raises TunerError for a script
    that is not in a shell's language.
    """
    lines = []
    if parts.wrapper:
        again = shlex.join([*parts.wrapper, *_shell(script)])
        lines.append(f'[ -n "${{{WRAPPED}:-}}" ] || {WRAPPED}=1 exec {again} "$0" "$@"')
    lines += [*parts.commands, *parts.checks]
    if parts.arguments:
        lines.append(f'set -- "$@" {shlex.join(parts.arguments)}')
    if not lines:
        return script
    _shell(script)
    own = script.splitlines(keepends=True)
    at = next((i for i, line in enumerate(own) if line.strip() and not line.startswith("#")), len(own))
    head = "".join(own[:at])
    if head and not head.endswith("\n"):
        head += "\n"
    return head + "".join(f"{line}\n" for line in lines) + "".join(own[at:])


def sets(script: str, name: str) -> bool:
    """Whether the script, comments aside, sets a variable of this name itself, or has `--mca` that goes before it."""
    ways = [rf"(?<![\w-]){re.escape(name)}="]
    if name.startswith(MCA):
        ways.append(rf"(?<!\S)--?g?o?mca[\s=]+{re.escape(name.removeprefix(MCA))}[\s=]")
    return any(re.search(rf"^(?!\s*#).*{way}", script, re.MULTILINE) for way in ways)


def of_its_own(script: str, options: Sequence[str], parts: Parts) -> Parts:
    """What of a component's options and directives a script has already, or its user gives sbatch in `options`."""
    lines = (line.strip() for line in script.splitlines())
    head = list(takewhile(lambda line: not line or line.startswith("#"), lines))
    words = {*options, *(word for line in head if line.startswith("#SBATCH") for word in line.split())}
    return Parts(
        options=[word for word in parts.options if word in words],
        directives=[line for line in parts.directives if line in head],
    )


def _shell(script: str) -> list[str]:
    """The interpreter that the first line names. Raises TunerError where that is no shell."""
    first = script.split("\n", 1)[0]
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    program = words[1] if len(words) > 1 and PurePath(words[0]).name == "env" else words[0] if words else ""
    if PurePath(program).name not in SHELLS:
        raise TunerError(
            f"the application's script begins with {first[:60]!r}, and the component puts lines of shell at its top: "
            "start the program from a script that begins with #!/bin/bash"
        )
    return words
