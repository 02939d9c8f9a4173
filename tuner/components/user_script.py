# SPDX-License-Identifier: Apache-2.0
"""Insert a component's shell lines at the top of a batch script, and detect settings that the script itself makes."""

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
WRAPPED = "REPRISE_WRAPPED"  # variable that is set when the wrapper runs the script


def with_lines(script: str, parts: Parts) -> str:
    """Return the script with the component's lines inserted at its top; unchanged if there are no lines.

    The component's lines are inserted before the first line that is neither empty nor a comment, so that sbatch still
    reads all directives, and variables and limits that the lines set apply to the rest of the script. If there is a
    wrapper, the first inserted line starts it with the script as an argument, and the wrapper runs the script again.
    The commands and checks follow, and then a line that adds the component's arguments to those of the script. Raise
    TunerError if the script is not a shell script.
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
    """Return whether a line of the script that is not a comment sets a variable, or overrides it with `--mca`."""
    ways = [rf"(?<![\w-]){re.escape(name)}="]
    if name.startswith(MCA):
        ways.append(rf"(?<!\S)--?g?o?mca[\s=]+{re.escape(name.removeprefix(MCA))}[\s=]")
    return any(re.search(rf"^(?!\s*#).*{way}", script, re.MULTILINE) for way in ways)


def of_its_own(script: str, options: Sequence[str], parts: Parts) -> Parts:
    """Return the component's options and directives that the script or the user's sbatch options already contain."""
    lines = (line.strip() for line in script.splitlines())
    head = list(takewhile(lambda line: not line or line.startswith("#"), lines))
    words = {*options, *(word for line in head if line.startswith("#SBATCH") for word in line.split())}
    return Parts(
        options=[word for word in parts.options if word in words],
        directives=[line for line in parts.directives if line in head],
    )


def _shell(script: str) -> list[str]:
    """Return the words of the interpreter in the script's first line. Raise TunerError if it is not a shell."""
    first = script.split("\n", 1)[0]
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    program = words[1] if len(words) > 1 and PurePath(words[0]).name == "env" else words[0] if words else ""
    if PurePath(program).name not in SHELLS:
        raise TunerError(
            f"the application's script begins with {first[:60]!r}, but the component adds shell commands at its top: "
            "start the program from a script that begins with #!/bin/bash"
        )
    return words
