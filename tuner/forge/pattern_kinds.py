# SPDX-License-Identifier: Apache-2.0
"""Kinds of accesses in an I/O pattern, as records keep them."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.matcher.council.access_pattern import Files, Spatiality
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Operation

_PLACES = {
    Layout.INDIVIDUAL: (Files.PER_PROCESS, Spatiality.CONTIGUOUS),
    Layout.SHARED_CONTIGUOUS: (Files.SHARED, Spatiality.CONTIGUOUS),
    Layout.SHARED_STRIDED: (Files.SHARED, Spatiality.STRIDED),
}


def kinds(exploration: Exploration) -> Sequence[str]:
    """Return `OPERATION/FILES/SPATIALITY` of all reads and writes of a pattern, each once."""
    steps = [step for phase in exploration.phases for step in phase.steps]
    moving = [step for step in steps if step.operation in (Operation.READ, Operation.WRITE)]
    return list(dict.fromkeys("/".join((step.operation, *_PLACES[step.layout])) for step in moving))
