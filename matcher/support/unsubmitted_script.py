# SPDX-License-Identifier: Apache-2.0
"""Request for a decision about an unsubmitted script, equal to the request that its submission would send."""

from __future__ import annotations

import dataclasses
import getpass
import os
import pwd
import time
from collections.abc import Sequence
from pathlib import Path

from reprise.allowlist import is_reported
from reprise.matcher.decision.decide import Question
from reprise.matcher.errors import MatcherError, ProtocolError
from reprise.matcher.submission import SCRIPT_LIMIT, Script, Submission
from reprise.matcher.submission.option_tables import SBATCH
from reprise.matcher.submission.slurm_options import parse_options
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import preview_request

SUBMISSION_PREFIXES = ("SLURM_", "SBATCH_", "SALLOC_")  # prefixes of variables that the plugin sends with their values
CHARACTER_BYTES = 4
"""Bytes of the longest UTF-8 character. A script is read up to this number of bytes beyond SCRIPT_LIMIT, to detect that
it is longer than the limit (as in spank/collect.c).
"""
NEVER_SENT = (
    "SLURM_JWT",
    "SLURM_SPANK_",
)  # the variable with Slurm's credential, and the prefix of variables that plugins pass to jobs


def question(script: Path, words: Sequence[str], user: str | None, directory: Path | None) -> Question:
    """Return the request for a decision that would be sent if `user` submitted `script` in `directory` now.

    `user` defaults to the user of this process, and `directory` to the process's working directory. `words` are
    sbatch's options, followed by the script's own arguments. The environment is that of this process, just as sbatch
    would use its own environment.
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
    """Return a line that says why only a part of `script` is read; "" if the whole script is read."""
    if submission.script and not submission.script.truncated:
        return ""
    size = f"{script} has {(Path(submission.cwd) / script).stat().st_size:,} bytes"
    if submission.script:
        lines = submission.script.text.count("\n")
        return f"{size}: only its first {SCRIPT_LIMIT:,} are read, as at submission ({lines:,} whole lines)"
    return (
        f"{size}, many of them control characters: it does not fit into a request of {protocol.REQUEST_LIMIT:,} "
        "bytes, so it is not read; it would not be read at submission either"
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
        set_names=tuple(name for name in os.environ if is_reported(name)),
        script=Script(str(path), sent, truncated=len(sent) < len(text)),
    )
    try:
        protocol.body(preview_request(submission), protocol.REQUEST_LIMIT)
    except ProtocolError:  # too long: control characters take six bytes each in JSON (see spank/request.c)
        return dataclasses.replace(submission, script=None)
    return submission


def _is_sent(variable: str) -> bool:
    return variable.startswith(SUBMISSION_PREFIXES) and not variable.startswith(NEVER_SENT)


def _text(data: bytes) -> str:
    """Decode a script as the plugin does, replacing NUL and bytes that are not valid UTF-8."""
    return data.decode(errors="replace").replace("\0", "\ufffd")


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user has no entry in the password database
        return str(os.getuid())


def _uid_of(user: str) -> int:
    """Return the user's id; -1 if the name is unknown on this host."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return -1


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise MatcherError("the working directory no longer exists: change to another, or give --directory") from error
