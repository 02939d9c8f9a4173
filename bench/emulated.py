# SPDX-License-Identifier: Apache-2.0
"""Regenerate the landscapes (run times at all points of a search space) of the emulators: `make landscapes`.

The landscapes are in bench/landscapes/. The command takes about a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from bench.emulators import sbb, sro
from reprise.tuner.model.landscape import Landscape

DIRECTORY = Path(__file__).parent / "landscapes"
SEED = 1
EMULATED: Mapping[str, Callable[[], Landscape]] = {
    **{name: partial(sro.landscape, name, SEED) for name in sro.WORKLOADS},
    **{name: partial(sbb.landscape, name, SEED) for name in sbb.BENCHES},
}


def path_of(name: str) -> Path:
    """Return the path of the stored landscape with this name."""
    return DIRECTORY / f"{name}.json.gz"


def main() -> None:
    """Compute and store all emulated landscapes."""
    DIRECTORY.mkdir(exist_ok=True)
    for name, make in EMULATED.items():
        landscape = make()
        landscape.save(path_of(name))
        point, best = landscape.optimum
        sys.stderr.write(f"{name}: {len(landscape.samples)} points, best {best:.2f} s at {dict(point)}\n")


if __name__ == "__main__":
    main()
