# SPDX-License-Identifier: Apache-2.0
"""Landscapes of the emulated burst buffer: the grids and workloads of Robert 2021, sections 4.2 and 5.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.emulators.burst import Node, Pool, Traffic, Vector, run_time
from bench.emulators.shared_file_system import repeated
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.space import Parameter, Parametrization, Space

POWERS = (1, 2, 4, 8, 16)
REPETITIONS = 16  # of every point under noise (section 5.4.1)


@dataclass(frozen=True)
class Bench:
    """One landscape. `fixed` are settings outside the grid; the field `alike` lists the settings that an axis sets."""

    name: str
    parameters: Sequence[Parameter]
    default: Parametrization
    traffic: Traffic
    node: Node
    fixed: Mapping[str, float]
    alike: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def settings(self, points: Sequence[Parametrization]) -> Mapping[str, Vector]:
        """Return the emulator's settings, with an entry for each point; on the grid, thresholds are percent."""
        found: dict[str, Vector] = {name: np.full(len(points), value) for name, value in self.fixed.items()}
        for parameter in self.parameters:
            column = np.array([float(point[parameter.name]) for point in points])
            scale = 100.0 if parameter.name.endswith("threshold") else 1.0
            for name in self.alike.get(parameter.name, (parameter.name,)):
                found[name] = column / scale
        return found

    def run_times(self, points: Sequence[Parametrization]) -> Vector:
        """Return the undisturbed run times of the points, in seconds."""
        return run_time(self.settings(points), self.traffic, self.node)


BANDWIDTH = Bench(
    "sbb.1",
    (
        Parameter("workers", POWERS, "log"),
        Parameter("ram_destagers", POWERS, "log"),
        Parameter("ram_threshold", (10, 30, 50, 70, 90)),
        Parameter("flash_destagers", POWERS, "log"),
        Parameter("flash_threshold", (10, 30, 50, 70, 90)),
    ),
    {"workers": 10, "ram_destagers": 10, "ram_threshold": 80, "flash_destagers": 10, "flash_threshold": 80},
    Traffic(volume=200.0, processes=8, block=0.01, latency=2e-3),
    Node(cores=8.0),
    {"polling": 2, "ram_gb": 40.0, "flash_gb": 150.0},
)

LATENCY = Bench(
    "sbb.2",
    (
        Parameter("polling", (1, 2, 4, 8), "log"),
        Parameter("workers", (4, 8, 12, 16)),
        Parameter("ram_destagers", (4, 8, 12, 16)),
        Parameter("ram_gb", (10, 20, 30, 40, 50, 60, 70, 80)),
        Parameter("ram_threshold", (50, 90)),
    ),
    {"polling": 2, "workers": 10, "ram_destagers": 10, "ram_gb": 80, "ram_threshold": 80},
    Traffic(volume=40.0, processes=32, block=4e-6, reads=0.75, working_set=40.0, latency=1e-4, miss=4e-4),
    Node(cores=16.0, needed=1.0),
    {"flash_destagers": 4, "flash_gb": 150.0, "flash_threshold": 0.8},
)

NOISY = Bench(
    "sbb-noise",
    (
        Parameter("workers", (2, 4, 6, 8, 10, 12)),
        Parameter("destagers", (2, 4, 6, 8, 10, 12)),
        Parameter("ram_gb", (40, 50, 60)),
        Parameter("ram_threshold", (50, 60, 70, 80, 90)),
    ),
    {"workers": 10, "destagers": 10, "ram_gb": 60, "ram_threshold": 90},
    Traffic(volume=174.0, processes=32, block=0.001),
    # Fitted, so that run times spread as in table 5.8 with its best point: 60 GB, 10, 8, 50 %.
    Node(
        polling=Pool(1.98, 0.05),
        workers=Pool(0.707, 0.198, 0.00802),
        ram=Pool(0.381, 0.2, 0.0125),
        flash=Pool(0.229, 0.2, 0.0125),
        roomy=0.403,
        crammed=0.698,
        eviction=3.49,
        file_system=1.214,
        flash_device=4.0,
    ),
    {"polling": 2, "flash_gb": 57.9, "flash_threshold": 0.1},
    {"destagers": ("ram_destagers", "flash_destagers")},
)

BENCHES: Mapping[str, Bench] = {bench.name: bench for bench in (BANDWIDTH, LATENCY, NOISY)}


def landscape(name: str, seed: int) -> Landscape:
    """Return the exhaustive landscape of one of `BENCHES`, with one sample for each point, or 16 noisy ones."""
    bench = BENCHES[name]
    space = Space(bench.parameters)
    run_times = bench.run_times([*space.points, bench.default])
    rng = np.random.default_rng(seed)
    rows = repeated(run_times, REPETITIONS, rng) if bench is NOISY else run_times[:, None]
    *samples, default = np.round(rows, 3).tolist()
    source = f"emulated: {name}, seed {seed}"
    return Landscape(name, space, bench.default, samples, "s", source, default)
