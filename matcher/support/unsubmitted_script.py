# SPDX-License-Identifier: Apache-2.0
"""A script that nobody has submitted, as the question that its submission would be."""

from __future__ import annotations

import dataclasses
import getpass
import os
import pwd
import time
from collections.abc import Sequence
from pathlib import Path

from reprise.allowlist import is_told
from reprise.matcher.decision.decide import Question
from reprise.matcher.errors import MatcherError, ProtocolError
from reprise.matcher.submission import SCRIPT_LIMIT, Script, Submission
from reprise.matcher.submission.slurm_options import SBATCH, parse_options
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import preview_request

SUBMISSION_PREFIXES = ("SLURM_", "SBATCH_", "SALLOC_")  # variables that the plugin sends with their values
CHARACTER_BYTES = 4
"""Read beyond the limit, as the plugin does (spank/collect.c), so that a script that is cut is seen to be."""
NEVER_SENT = ("SLURM_JWT", "SLURM_SPANK_")  # of these: a credential, and what plugins hand to jobs


def question(script: Path, words: Sequence[str], user: str | None, directory: Path | None) -> Question:
    """As if `user` (None: who runs this) submitted `script` now, in `directory` (None: here).

    `words` are sbatch's options, then the script's own arguments. Variables of this process count, as they would for
    sbatch.
    """
    return Question(
        submission=_submission(script, tuple(words), (directory or _here()).absolute()),
        user=user or _me(),
        uid=_uid_of(user) if user else os.geteuid(),
        point="submit",
        mode="on",
        at=time.time(),
    )


def unread_part(script: Path, submission: Submission) -> str:
    """Say in one line that only a part of `script` is read, and why; "" where all of it is."""
    if submission.script and not submission.script.truncated:
        return ""
    size = f"{script} has {(Path(submission.cwd) / script).stat().st_size:,} bytes"
    if submission.script:
        lines = submission.script.text.count("\n")
        return f"{size}: only its first {SCRIPT_LIMIT:,} are read, as at submission ({lines:,} whole lines)"
    return (
        f"{size}, many of them control characters: it does not fit a request of {protocol.REQUEST_LIMIT:,} bytes, and "
        "nothing of it is read, as at submission"
    )


def _submission(script: Path, words: tuple[str, ...], directory: Path) -> Submission:
    path = directory / script
    try:
        with path.open("rb") as file:
            data = file.read(SCRIPT_LIMIT + CHARACTER_BYTES)
    except OSError as error:
        raise MatcherError(f"{path}: cannot be read ({error.strerror}): give the path of a batch script") from error
    arguments = parse_options(SBATCH, words).rest
    given = words[: len(words) - len(arguments)]
    text = _text(data)
    sent = text.encode()[:SCRIPT_LIMIT].decode(errors="ignore")
    submission = Submission(
        command="sbatch",
        argv=("sbatch", *given, str(script), *arguments),
        cwd=str(directory),
        env={name: value for name, value in os.environ.items() if _is_sent(name)},
        set_names=tuple(name for name in os.environ if is_told(name)),
        script=Script(str(path), sent, truncated=len(sent) < len(text)),
    )
    try:
        protocol.body(preview_request(submission), protocol.REQUEST_LIMIT)
    except ProtocolError:  # as in spank/request.c: a script of control characters grows sixfold in JSON
        return dataclasses.replace(submission, script=None)
    return submission


def _is_sent(variable: str) -> bool:
    return variable.startswith(SUBMISSION_PREFIXES) and not variable.startswith(NEVER_SENT)


def _text(data: bytes) -> str:
    """As the plugin reads a script: what is no text is replaced, and so is NUL."""
    return data.decode(errors="replace").replace("\0", "\ufffd")


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account that no directory knows
        return str(os.getuid())


def _uid_of(user: str) -> int:
    """-1 for a name that nobody knows here."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return -1


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise MatcherError("the working directory is gone: change to another, or give --directory") from error
