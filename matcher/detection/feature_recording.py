# SPDX-License-Identifier: Apache-2.0
"""Record the features of forwarders, second by second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass
from reprise.matcher.detection.feature_source import Observed
from reprise.matcher.detection.recorded_features import Recorded

BEHIND_S = 0.4
"""Time after the begin of a second at which forwarders are asked for the one before, so that it is over at all."""


@dataclass(frozen=True)
class Recording:
    """Properties of a recording: the class of the pattern, if known, and the only job; None for all jobs.

    `run` is the name of the run; None for the names of the jobs.
    """

    known: AccessClass | None = None
    job: str | None = None
    run: str | None = None


def record(
    recording: Recording,
    addresses: Sequence[str],
    ask: Callable[[str], Sequence[Observed]],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    seconds: int,
) -> Iterator[Recorded]:
    """Yield features from these forwarders for some seconds, those of each second once.

    `clock` returns the Unix time. Metrics do not show when a second began; features that equal the last ones there are
    taken for those of the same second.
    """
    last: dict[tuple[str, str, Operation], Observed] = {}
    for _ in range(seconds):
        sleep(1 + BEHIND_S - clock() % 1)
        now = clock()
        for address in addresses:
            for one in ask(address):
                key = (address, one.job, one.features.operation)
                if (recording.job and one.job != recording.job) or last.get(key) == one:
                    continue
                last[key] = one
                yield _recorded(recording, replace(one, at=now // 1 - 1 if one.at is None else one.at))


def _recorded(recording: Recording, one: Observed) -> Recorded:
    return Recorded(recording.run or one.job, recording.known, one.at or 0.0, one.job, one.features)
