# SPDX-License-Identifier: Apache-2.0
"""Secrets of the site, such as passwords and tokens, each alone in a file that other users cannot read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from reprise.errors import RepriseError

LIMIT = 4096  # maximum size of a secret in bytes; tokens of mail services have up to some 2,000


class SecretError(RepriseError):
    """A secret cannot be used; the message has the setting, the file and the remedy, and no secret."""


def secret_in(path: Path, setting: str) -> str:
    """Return the secret in a file, without white space around it.

    Raise SecretError if the file cannot be read, if other users may read or write it, or if it has no secret of one
    line.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(LIMIT + 1)
    except OSError as error:
        raise SecretError(
            f"{setting}: {path} cannot be read ({error.strerror}): make it readable for the service user"
        ) from error
    if not stat.S_ISREG(mode) or mode & 0o027:
        raise SecretError(f"{setting}: {path} is open to other users: chmod 640 or 600")
    try:
        secret = content.decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise SecretError(f"{setting}: {path} is not plain ASCII text: write the secret into it") from error
    if not secret or len(content) > LIMIT or not secret.isprintable():
        raise SecretError(f"{setting}: {path} does not consist of one line: write only the secret into it")
    return secret
