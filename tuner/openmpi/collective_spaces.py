# SPDX-License-Identifier: Apache-2.0
"""Search space of one collective at one message size: algorithm, segment size, fan-out (Sartori 2024, table 2.1).

With the default segment sizes and fan-outs, a space has 200 points for each algorithm id (including 0), as many as the
published spaces.
"""

from __future__ import annotations

from collections.abc import Sequence

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.openmpi.algorithms import acts_as, heeds, is_unsafe, serves
from reprise.tuner.openmpi.installed_build import OpenMPIBuild

SEGMENTS: tuple[int, ...] = (0, *(2**i for i in range(2, 21)))  # bytes; 0 means no segmentation
FANOUTS: tuple[int, ...] = tuple(2**i for i in range(1, 11))
DEFAULT_FANOUT = 4  # Open MPI's default; represents all fan-outs if the algorithm ignores the fan-out

# Choice for jobs without a rules file, which leaves every decision to Open MPI's built-in rules.
DEFAULT: Parametrization = {"algorithm": 0, "segment": 0, "fanout": DEFAULT_FANOUT}


def space(
    collective: str,
    size: int,
    comm_size: int,
    build: OpenMPIBuild,
    segments: Sequence[int] = SEGMENTS,
    fanouts: Sequence[int] = FANOUTS,
    unsafe: bool = False,
) -> Space:
    """Return the grid for messages of `size` bytes, as benchmarks report it, on `comm_size` ranks.

    With `unsafe`, the grid also includes the algorithms that rules files for jobs must not contain. The published
    spaces include these algorithms.
    """
    known = {i: name for i, name in build.algorithms[collective].items() if serves(name, comm_size)}
    algorithms = {i: name for i, name in known.items() if unsafe or not is_unsafe(collective, name)}

    ids = {name: i for i, name in algorithms.items()}

    def canonical(point: Parametrization) -> Parametrization:
        named = algorithms[int(point["algorithm"])]
        name = acts_as(collective, named, size, int(point["segment"]))
        carried_out = {**point, "algorithm": ids.get(name, point["algorithm"])}
        return canonical_point(collective, name, size, comm_size, carried_out)

    return Space(
        (
            Parameter("algorithm", tuple(sorted(algorithms)), "category"),
            Parameter("segment", tuple(segments), "log"),
            Parameter("fanout", tuple(fanouts), "log"),
        ),
        canonical,
    )


def canonical_point(
    collective: str, algorithm: str, size: int, comm_size: int, point: Parametrization
) -> Parametrization:
    """Return the point that represents all points with the same effect.

    In the result, parameters that the algorithm ignores have their defaults, the segment size is 0 (no segmentation) if
    one segment holds the whole message, and the fan-out is at most the number of other ranks.
    """
    segment, fanout = int(point["segment"]), int(point["fanout"])
    heeds_segment, heeds_fanout = heeds(collective, algorithm)
    if not heeds_segment or segment >= size:
        segment = 0
    fanout = min(fanout, comm_size - 1) if heeds_fanout else DEFAULT_FANOUT
    return {"algorithm": int(point["algorithm"]), "segment": segment, "fanout": fanout}


def in_bytes(size: int, point: Parametrization) -> Parametrization:
    """Return a canonical point in which the message size replaces a segment size of 0 (no segmentation).

    The result has the same meaning at all message sizes.
    """
    return {**point, "segment": point["segment"] or size}
