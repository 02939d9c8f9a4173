# SPDX-License-Identifier: Apache-2.0
"""Make a replay's batch script from the application's, by replacing the MPI program with the replay.

The new script keeps the `#SBATCH` lines, the lines that set up the environment (modules, variables, limits), and the
launcher with its options. Other commands before and after the MPI program are omitted, since the replay needs none of
the program's files. This module reads and writes no files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from reprise.matcher.submission.launchers import LAUNCHERS
from reprise.matcher.submission.option_tables import SRUN
from reprise.matcher.submission.slurm_options import parse_options
from reprise.tuner.errors import ProxyError

PROGRAM = "reprise-replay"
"""Name of the replay's executable, in the directory that `libexec` in section [tuner] of the configuration names."""
OBJECTIVE = {"pattern": r'"slowest_s": ([0-9.]+)', "take": "sum", "unit": "s"}
"""Objective of campaigns that run a replay; the replay prints the slowest rank's time in seconds."""

SETS_UP = re.compile(r"(?:module|ml|export|source|\.|ulimit|unset|umask|spack|conda)\s|[A-Za-z_]\w*=\S*\s*$|export$")
WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\\.|[^\s"'])+""")
_WORDS = "then|do|else|exec|time|if|while"  # keywords and commands of the shell that may precede a command
STARTS = re.compile(rf"(?:^|[;&|(!]\s*|\b(?:{_WORDS})\s+)(?!(?:{_WORDS})\s)((?:\w+=\S*\s+)*)((?:\S*/)?([\w.-]+))(?=\s)")


def replay_script(script: str, command: Sequence[str], launch: str = "") -> str:
    """Return a batch script that starts `command` as `script` starts its MPI program.

    Args:
        script: The text of the application's batch script, which is a shell script.
        command: The command of the replay, with its arguments.
        launch: The launcher with its options; if empty, the launcher in the script is used.

    Raises:
        ProxyError: `launch` is empty, and no line of the script starts a program with a known launcher.
    """
    lines = script.splitlines()
    head = [lines[0]] if lines and lines[0].startswith("#!") else ["#!/bin/bash"]
    directives = [line for line in lines if re.match(r"#\s?SBATCH\b", line)]
    set_up: list[str] = []
    for line in _joined(lines):
        if started := _launch(line):
            launch = launch or started
            break
        if SETS_UP.match(line):
            set_up.append(line)
    if not launch:
        raise ProxyError(
            "the script starts no program with mpirun, srun or another launcher on a separate line: specify the "
            "launcher and its options (--launch 'mpirun -np 8')"
        )
    return "\n".join([*head, *directives, *set_up, f"{launch} {shlex.join(command)}", ""])


def _joined(lines: Sequence[str]) -> list[str]:
    """Return the lines without indentation and comments, with continued lines joined."""
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return [line.strip() for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines()]


def _launch(line: str) -> str:
    """Return the launcher in a line, with its options and variables, or an empty string if there is no launcher."""
    for found in STARTS.finditer(line):
        launcher = LAUNCHERS.get(found[3])
        if launcher is None:
            continue
        rest_of_line = line[found.end() :]
        spans = [one.span() for one in WORD.finditer(rest_of_line)]
        words = [rest_of_line[start:end] for start, end in spans]
        if launcher.called == "srun":
            count = len(words) - len(parse_options(SRUN, words).rest)
        else:
            count = _options(words, launcher.options)
        rest = words[count:]
        if (
            not rest
            or rest[0] in (";", "&", "|")
            or PurePath(rest[0].rstrip(";&|")).name in ("hostname", "true", "--version")
        ):
            continue
        options = rest_of_line[: spans[count - 1][1]] if count else ""
        return f"{found[1]}{found[2]}{options}"
    return ""


def _options(words: Sequence[str], takes: Mapping[str, int]) -> int:
    """Return the number of leading words that are options or their values."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name = words[at].lstrip("-")
        at += 1 + (0 if "=" in name else takes.get(name, 0))
    return at
