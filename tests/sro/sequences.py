# SPDX-License-Identifier: Apache-2.0
"""Compare random sequences of file operations, which `player.c` plays, with and without the library."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

BIG_BYTES = 9 << 20
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"SRO_CLUSTER_THRESHOLD": "1", "SRO_DSC_BINSIZE": "65536", "SRO_PREFETCH_SIZE": "262144"},
    {"SRO_CLUSTER_THRESHOLD": "3", "SRO_DSC_BINSIZE": "4096", "SRO_PREFETCH_SIZE": "1", "SRO_SEQUENCE_LENGTH": "7"},
)


def prepare(directory: Path) -> None:
    """Write the file that `player` reads."""
    big = directory / "big"
    big.write_bytes(random.Random(7).randbytes(BIG_BYTES))  # noqa: S311
    big.chmod(0o444)


def play(player: Path, directory: Path, first: int, count: int, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [player, directory, str(first), str(count)],
        capture_output=True,
        text=True,
        check=True,
        timeout=1200,
        env={"PATH": os.defpath, **environment},
    )
    return done.stdout.splitlines()


def different(player: Path, library: Path, directory: Path, sequences: int, batch: int = 100) -> Iterator[int]:
    """Yield the number of each sequence whose results the library changes.

    Each batch uses other settings of the library.
    """
    for first in range(0, sequences, batch):
        count = min(batch, sequences - first)
        settings = SETTINGS[first // batch % len(SETTINGS)]
        bare = play(player, directory, first, count, {})
        with_it = play(player, directory, first, count, {"LD_PRELOAD": str(library), **settings})
        assert len(bare) == len(with_it) == count
        yield from (first + i for i, (one, other) in enumerate(zip(bare, with_it, strict=True)) if one != other)
