# SPDX-License-Identifier: Apache-2.0
"""Features of made-up patterns, to test detectors."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reprise.matcher.council.access_pattern import Operation
from reprise.matcher.council.pattern_detector import AccessClass, Features
from reprise.matcher.detection.detector_scores import LEAF, Tree, Trees
from reprise.matcher.detection.learned_detector import LearnedDetector
from reprise.tuner.detection.labelled_rows import Row

KIB = 1024
CLIENTS = (4, 8, 16, 32)


def features(known: AccessClass, size: int, clients: int, rng: Random) -> Features:
    """Return the features of a second in which some clients have requests of equal size."""
    if known is AccessClass.INDIVIDUAL:
        return Features(Operation.WRITE, clients, size, size, size, 0.0)
    requests = clients if known is AccessClass.SHARED_STRIDED else 2000
    return Features(Operation.WRITE, 1, size, size, size, requests * size / 3 * rng.uniform(0.7, 1.5))


def rows(sizes: Sequence[int], seconds: int = 8, seed: int = 1) -> list[Row]:
    """Return rows of runs of each class, size and number of clients."""
    rng = Random(seed)  # noqa: S311 - not used for security
    return [
        Row(f"{known}-{size}-{clients}", known, features(known, size, clients, rng))
        for known in AccessClass
        for size in sizes
        for clients in CLIENTS
        for _ in range(seconds)
    ]


def detector() -> LearnedDetector:
    """Return a tree: several files, or one file with small or large distances."""
    leaf = [[0.98, 0.01, 0.01], [0.01, 0.01, 0.98], [0.01, 0.98, 0.01]]
    tree = Tree(
        inputs=[0, 1, LEAF, LEAF, LEAF],
        thresholds=[0.5, 7.0, 0, 0, 0],
        below=[1, 3, LEAF, LEAF, LEAF],
        above=[2, 4, LEAF, LEAF, LEAF],
        values=[[], [], *leaf],
    )
    ranges = {
        AccessClass.INDIVIDUAL: [(1, 10), (0, 1)],
        AccessClass.SHARED_CONTIGUOUS: [(0, 0), (7, 20)],
        AccessClass.SHARED_STRIDED: [(0, 0), (2, 7)],
    }
    names = ["log2_files", "log2_distance"]
    return LearnedDetector("tree", names, list(AccessClass), Trees([tree], add=False), 1.0, 0.9, ranges, {"rows": 12})
