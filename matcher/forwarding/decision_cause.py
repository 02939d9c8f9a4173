# SPDX-License-Identifier: Apache-2.0
"""The cause of a decision in a few words, for the log, the database and `reprise forwarders map`."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 3  # maximum number of jobs or forwarders that a cause names


def cause(started: Sequence[str], ended: Sequence[str], came: Sequence[str], went: Sequence[str]) -> str:
    """Return what a decision was made for: jobs that started or ended, and forwarders that came or went."""
    events = (
        (started, "job", "started"),
        (ended, "job", "ended"),
        (came, "forwarder", "works"),
        (went, "forwarder", "failed"),
    )
    return "; ".join(_event(names, kind, what) for names, kind, what in events if names)


def _event(names: Sequence[str], kind: str, what: str) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{kind}{'s' * (len(names) > 1)} {', '.join(names[:NAMED])}{more} {_plural(what, len(names))}"


def _plural(what: str, number: int) -> str:
    return "work" if what == "works" and number > 1 else what
