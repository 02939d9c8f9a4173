# SPDX-License-Identifier: Apache-2.0
"""Error of a notification that could not be sent, and what may be said of it."""

from __future__ import annotations

from reprise.errors import RepriseError
from reprise.output import on_one_line


class NotifyError(RepriseError):
    """A notification could not be sent; the message has the reason, and no secret."""


def without(words: str, *secrets: str) -> str:
    """Return words of a server on one line, without the secrets, which the server may have repeated."""
    for secret in filter(None, secrets):
        words = words.replace(secret, "***")
    return on_one_line(words[:300])
