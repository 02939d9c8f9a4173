# SPDX-License-Identifier: Apache-2.0
"""Collective algorithms of Open MPI's releases, whether installed or not, and properties of the algorithms by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TypeAlias

from reprise.tuner.openmpi.catalogue import CATALOGUE

# Maps a collective to its algorithms as {id: name}; with id 0, Open MPI's built-in rules decide.
Algorithms: TypeAlias = Mapping[str, Mapping[int, str]]

SPLIT_BINARY, PIPELINE = "split_binary_tree", "pipeline"
FOR_TWO_RANKS = "two_proc"  # name of the algorithm for exactly two ranks, the same in all collectives


@cache
def known_algorithms(component: str, series: str) -> Algorithms:
    """Return the algorithms of a component, `tuned` or `han`, in a series of releases, such as "5.0".

    The result is empty if the series is unknown.
    """
    text = resources.files("reprise.tuner.openmpi").joinpath("algorithms.toml").read_text("utf-8")
    found = tomllib.loads(text)[component].get(series, {})
    return {name: dict(enumerate(names)) for name, names in found.items()}


def heeds(collective: str, algorithm: str) -> tuple[bool, bool]:
    """Return two flags: whether an algorithm uses a rule's segment size, and whether it uses a rule's fan-out.

    Algorithms that Open MPI 4.1 does not have are assumed to use both. If that is wrong, the search makes unnecessary
    runs but misses no setting.
    """
    if _is_new(collective, algorithm):
        return True, True
    return algorithm in CATALOGUE[collective].segment, algorithm in CATALOGUE[collective].fanout


def acts_as(collective: str, algorithm: str, size: int, segment: int) -> str:
    """Return the algorithm that Open MPI uses for a call if a rule selects `algorithm`.

    A split-binary-tree broadcast becomes a pipeline if half of the message is smaller than a segment
    (ompi_coll_base_bcast_intra_split_bintree, 4.1 and 5.0).
    """
    if (collective, algorithm) == ("bcast", SPLIT_BINARY) and (segment > size // 2 or size < 2):
        return PIPELINE
    return algorithm


def is_unsafe(collective: str, algorithm: str) -> bool:
    """Return whether rules files for jobs must not contain an algorithm (see `Collective.unsafe`).

    Reduction algorithms that Open MPI 4.1 does not have count as unsafe.
    """
    kind = CATALOGUE[collective]
    return algorithm in kind.unsafe or (kind.sums and _is_new(collective, algorithm))


def serves(algorithm: str, comm_size: int) -> bool:
    """Return whether an algorithm supports communicators of `comm_size` ranks.

    If not, a call that uses the algorithm fails with MPI_ERR_UNSUPPORTED_OPERATION, which ends the job.
    """
    return algorithm != FOR_TWO_RANKS or comm_size == 2


def _is_new(collective: str, algorithm: str) -> bool:
    return algorithm not in known_algorithms("tuned", "4.1")[collective].values()
