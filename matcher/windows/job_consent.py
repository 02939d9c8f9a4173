# SPDX-License-Identifier: Apache-2.0
"""Jobs on which the council may explore.

Forwarders know a job by the name that its processes give: the forwarding library gives the job's number. A name is a
claim of its user. It can only stop exploring: a job is explored on if all names at its forwarders allow that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from reprise.matcher.detection.job_name import STEADY, job_number

Explore = Literal["known", "all", "none"]

OPTED_OUT = frozenset(("off", "observe"))
"""Verdicts of jobs whose users (or whose site) want nothing to be changed."""
OTHERS = "other"
"""Name under which a forwarder counts jobs for which it has no place."""
REMEMBERED_S = 60.0
"""Seconds for which a job that no forwarder names any more is looked up again and again."""


class Consents:
    """Knowledge about the jobs at the forwarders. With `explore` "none", no job is explored on."""

    def __init__(self, explore: Explore) -> None:
        self._explore = explore
        self._seen: dict[int, float] = {}
        self._verdicts: Mapping[int, AbstractSet[str]] = {}
        self._asked: Collection[int] = ()

    def opted_out(self, names: Sequence[str], now: float) -> bool:
        """Return whether any of the jobs at a forwarder must not be explored on; `now` is time.monotonic."""
        numbers = {name: job_number(name) for name in names}
        self._seen.update({number: now for number in numbers.values() if number is not None})
        return self._explore == "none" or not all(self._allows(name, number) for name, number in numbers.items())

    def _allows(self, name: str, number: int | None) -> bool:
        if name.endswith(STEADY) or name == OTHERS:
            return False
        if number is None:
            return self._explore == "all"
        if number not in self._asked:
            return False
        verdicts = self._verdicts.get(number, frozenset())
        return not verdicts & OPTED_OUT and (bool(verdicts) or self._explore == "all")

    def wanted(self, now: float) -> Sequence[int]:
        """Return the numbers of the jobs to look up in the database."""
        self._seen = {number: at for number, at in self._seen.items() if now - at < REMEMBERED_S}
        return list(self._seen) if self._explore != "none" else []

    def learned(self, asked: Collection[int], verdicts: Mapping[int, AbstractSet[str]]) -> None:
        """Take the verdicts of the jobs that were looked up; a job without any is unknown to the matcher."""
        self._asked, self._verdicts = frozenset(asked), verdicts
