# SPDX-License-Identifier: Apache-2.0
"""The bandwidth curve in a record: its place, its form, and the functions that read and write it.

A record of the component `forwarders` has in its parametrization, under the key `SAMPLES`, the bandwidths of all runs
by number of forwarders, such as `{"0": [210.5, 214.0], "4": [902.1, 895.7]}`, in MB/s (10^6 bytes a second). JSON's
keys are strings. In a combination, the component's part has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.database.entities import Json
from reprise.database.forwarding import COMPONENT
from reprise.database.joint_component import PARTS
from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve, measured
from reprise.matcher.errors import ArbiterError

SAMPLES = "bandwidth_mb_s"
MOST_RUNS = 10_000  # maximum number of runs with one number of forwarders; more are a mistake, and slow to read
LARGEST = 2.0**63  # limit of numbers that are looked at further


def with_samples(parametrization: Json, samples: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """Return the component's parametrization with the bandwidths of runs in MB/s, by number of forwarders.

    Raise ArbiterError if they are no curve.
    """
    measured(samples)
    return {**parametrization, SAMPLES: {str(number): list(samples[number]) for number in sorted(samples)}}


def curve_in(parametrization: Json) -> BandwidthCurve | None:
    """Return the curve in a record's parametrization; None if the application was not measured.

    Raise ArbiterError if there is something else in its place.
    """
    stored = _part(parametrization).get(SAMPLES)
    return None if stored is None else measured(samples_from(stored))


def samples_from(stored: Any) -> dict[int, Sequence[float]]:
    """Return the bandwidths of runs, by number of forwarders, from their form in JSON.

    Raise ArbiterError for anything else.
    """
    if not isinstance(stored, Mapping):
        raise ArbiterError(f"{SAMPLES}: state bandwidths in MB/s by number of forwarders, such as {{'4': [902.1]}}")
    samples: dict[int, Sequence[float]] = {}
    for number, runs in stored.items():
        if not isinstance(number, str) or not re.fullmatch(r"0|[1-9][0-9]{0,5}", number):
            raise ArbiterError(f"{SAMPLES}: {str(number)[:40]!r} is not a number of forwarders")
        if not isinstance(runs, list | tuple) or len(runs) > MOST_RUNS or not all(map(_is_number, runs)):
            raise ArbiterError(f"{SAMPLES}: with {number} forwarders: state a list of at most {MOST_RUNS} bandwidths")
        samples[int(number)] = runs
    return samples


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def _part(parametrization: Json) -> Json:
    """Return the parametrization of the component in a record, which may be that of a combination."""
    parts = parametrization.get(PARTS)
    part = parts.get(COMPONENT) if isinstance(parts, Mapping) else None
    own = part.get("parametrization") if isinstance(part, Mapping) else parametrization
    return own if isinstance(own, Mapping) else {}
