# SPDX-License-Identifier: Apache-2.0
"""The algorithms of releases that are not installed here, and what is known of an algorithm by its name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TypeAlias

from reprise.tuner.openmpi.catalogue import CATALOGUE

# collective: {id: name}; id 0 leaves it to the built-in rules
Algorithms: TypeAlias = Mapping[str, Mapping[int, str]]

SPLIT_BINARY, PIPELINE = "split_binary_tree", "pipeline"
FOR_TWO_RANKS = "two_proc"  # in every collective that has it


@cache
def known_algorithms(component: str, series: str) -> Algorithms:
    """The algorithms of `tuned` or `han` in a series of releases (as "5.0"); empty for one without such names."""
    text = resources.files("reprise.tuner.openmpi").joinpath("algorithms.toml").read_text("utf-8")
    found = tomllib.loads(text)[component].get(series, {})
    return {name: dict(enumerate(names)) for name, names in found.items()}


def heeds(collective: str, algorithm: str) -> tuple[bool, bool]:
    """Whether an algorithm (by its name) makes use of the segment size and of the fan-out of a rules file.

    One that 4.1 does not have is taken to heed both: that costs runs, and never a result.
    """
    if _is_new(collective, algorithm):
        return True, True
    return algorithm in CATALOGUE[collective].segment, algorithm in CATALOGUE[collective].fanout


def acts_as(collective: str, algorithm: str, size: int, segment: int) -> str:
    """The algorithm that carries a call out: a broadcast in two halves, of which one is smaller than a segment, goes by
    a chain with one branch (ompi_coll_base_bcast_intra_split_bintree, 4.1 and 5.0)."""
    if (collective, algorithm) == ("bcast", SPLIT_BINARY) and (segment > size // 2 or size < 2):
        return PIPELINE
    return algorithm


def is_unsafe(collective: str, algorithm: str) -> bool:
    """Whether no file for jobs may hold an algorithm (see `Collective.unsafe`), or, in a reduction, it is not known."""
    kind = CATALOGUE[collective]
    return algorithm in kind.unsafe or (kind.sums and _is_new(collective, algorithm))


def serves(algorithm: str, comm_size: int) -> bool:
    """Whether an algorithm (by its name) can be called among so many ranks at all: the others fail with
    MPI_ERR_UNSUPPORTED_OPERATION, which ends a job."""
    return algorithm != FOR_TWO_RANKS or comm_size == 2


def _is_new(collective: str, algorithm: str) -> bool:
    return algorithm not in known_algorithms("tuned", "4.1")[collective].values()
