# SPDX-License-Identifier: Apache-2.0
"""The search space of one collective at one message size: algorithm, segment size, fan-out (Sartori 2024, table 2.1).

The default lists give (number of algorithm ids, 0 included) x 200 points, the size of the published spaces.
"""

from __future__ import annotations

from collections.abc import Sequence

from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.openmpi.algorithms import acts_as, heeds, is_unsafe, serves
from reprise.tuner.openmpi.installed_build import OpenMPIBuild

SEGMENTS: tuple[int, ...] = (0, *(2**i for i in range(2, 21)))  # bytes; 0 is no segmentation
FANOUTS: tuple[int, ...] = tuple(2**i for i in range(1, 11))
DEFAULT_FANOUT = 4  # Open MPI's; stands for every fan-out where the algorithm ignores it

# What a job without any setting has: the built-in rules decide.
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
    """The grid for messages of `size` bytes (as benchmarks state it) among `comm_size` ranks.

    With `unsafe`, as in the published spaces, also the algorithms that no file for jobs may hold.
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
    """The point that stands for all that behave alike: ignored parameters at their default, no segments where one holds
    the whole message, no more children than there are other ranks."""
    segment, fanout = int(point["segment"]), int(point["fanout"])
    heeds_segment, heeds_fanout = heeds(collective, algorithm)
    if not heeds_segment or segment >= size:
        segment = 0
    fanout = min(fanout, comm_size - 1) if heeds_fanout else DEFAULT_FANOUT
    return {"algorithm": int(point["algorithm"]), "segment": segment, "fanout": fanout}


def in_bytes(size: int, point: Parametrization) -> Parametrization:
    """A canonical point with the bytes that are sent at a time, the whole message where there are no segments: so it
    means the same at every size."""
    return {**point, "segment": point["segment"] or size}
