# SPDX-License-Identifier: Apache-2.0
"""Properties of MPICH's collectives and their algorithms, read from mpich_algorithms.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

NONBLOCKING = "nb"  # the algorithm that calls the nonblocking collective and waits


@dataclass(frozen=True)
class Collective:
    """Properties of a collective that selection files can tune.

    `size` is the quantity that MPICH compares ("part", "whole", "parts" or "none"), and `key` is the word for this
    quantity in selection files; see mpich_algorithms.toml. `algorithms` maps the name of each algorithm to its
    conditions. `not_in_place`: the file may decide only calls whose send buffer is not MPI_IN_PLACE.
    """

    size: str
    algorithms: Mapping[str, Sequence[str]]
    key: str = ""
    not_in_place: bool = False

    def compared_bytes(self, size: int, ranks: int) -> int:
        """Return the bytes that MPICH compares with the file's bounds, for a `size` as benchmarks report it.

        Return 0 if MPICH compares no size.
        """
        return {"part": size, "whole": size, "parts": size * ranks, "none": 0}[self.size]


CATALOGUE: Mapping[str, Collective] = {
    name: Collective(**properties)
    for name, properties in tomllib.loads(
        resources.files("reprise.tuner.mpich").joinpath("mpich_algorithms.toml").read_text("utf-8")
    ).items()
}


def full_name(collective: str, algorithm: str) -> str:
    """Return the name that selection files use for an algorithm, such as MPIR_Bcast_intra_binomial."""
    kind = "allcomm" if algorithm == NONBLOCKING else "intra"
    return f"MPIR_{collective.capitalize()}_{kind}_{algorithm}"


ELEMENT_BYTES = 4  # size of a float, the type that benchmarks reduce


def least_long(ranks: int) -> int:
    """Return the minimum size in bytes of a reduction of floats that fulfills the condition "long"."""
    return ELEMENT_BYTES << (ranks.bit_length() - 1)


def can_decide(collective: str, algorithm: str, size: int, ranks: int) -> bool:
    """Return whether a message of `size` bytes is long enough for an algorithm, so that a rule for it has an effect."""
    return "long" not in CATALOGUE[collective].algorithms[algorithm] or size >= least_long(ranks)


def serves(collective: str, algorithm: str, ranks: int) -> bool:
    """Return whether an algorithm works on a communicator of `ranks` ranks."""
    return "power of two" not in CATALOGUE[collective].algorithms[algorithm] or ranks & (ranks - 1) == 0
