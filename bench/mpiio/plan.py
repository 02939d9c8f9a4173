# SPDX-License-Identifier: Apache-2.0
"""The kernels and sizes that `make bench-mpiio` tunes, with their batch scripts and campaign files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MIB = 1024 * 1024
PARTS = ("write", "read")
LAYOUTS = ((2, 1), (4, 1), (2, 2))
"""Pairs of nodes and tasks per node, for the campaigns from which a model learns."""
SQUARES = ((1, 1), (2, 2), (4, 1))
"""As `LAYOUTS`, for kernels whose number of ranks must be a square, such as btio."""


@dataclass(frozen=True)
class Size:
    """A configuration of a kernel: a problem size and a layout of ranks.

    `words` are arguments of mpiio. `features` are the numbers that a model gets as input. The job has `nodes` nodes
    with `tasks_per_node` ranks on each.
    """

    kernel: str
    words: tuple[str, ...]
    features: Mapping[str, float]
    nodes: int
    tasks_per_node: int

    @property
    def name(self) -> str:
        """The name of the size's job, script and directory."""
        size = "-".join(f"{value:g}" for value in self.features.values())
        return f"{self.kernel}-{size}-{self.nodes}x{self.tasks_per_node}"


@dataclass(frozen=True)
class Kernel:
    """A kernel with the sizes that campaigns tune (`known`) and those for which a model chooses settings (`unseen`)."""

    name: str
    known: Sequence[Size]
    unseen: Sequence[Size]


def _grid(kernel: str, numbers: int, points: int, nodes: int, tasks: int) -> Size:
    volume = points**3 * numbers * 8 / 1e6
    return Size(kernel, ("--grid", f"{points},{points},{points}"), {"points": points, "volume": volume}, nodes, tasks)


def _strided(kib: int, nodes: int, tasks: int) -> Size:
    volume = 32 * MIB * nodes * tasks / 1e6
    words = ("--independent", "--block", "32M", "--transfer", f"{kib}k")
    return Size("strided", words, {"transfer": kib, "volume": volume}, nodes, tasks)


def _particles(millions: float, nodes: int, tasks: int) -> Size:
    words = ("--particles", str(int(millions * 1e6)))
    return Size("genericio", words, {"volume": millions * 38}, nodes, tasks)


def kernels() -> dict[str, Kernel]:
    """Return the kernels by name."""

    def family(name: str, make: Any, sizes: Sequence[Any], between: Sequence[Any], layouts: Any = LAYOUTS) -> Kernel:
        known = [make(size, *layout) for size in sizes for layout in layouts]
        return Kernel(name, known, [make(*one) for one in between])

    return {
        one.name: one
        for one in (
            family("strided", _strided, (4, 16, 64), ((8, 3, 1), (32, 2, 2))),
            family("s3d", lambda *of: _grid("s3d", 16, *of), (48, 64, 96), ((56, 3, 1), (80, 2, 2))),
            family("btio", lambda *of: _grid("btio", 5, *of), (64, 96, 128), ((80, 4, 1), (112, 2, 2)), SQUARES),
            family("genericio", _particles, (0.5, 1.5, 4), ((1, 3, 1), (2.5, 2, 2))),
        )
    }


def script(size: Size, program: str) -> str:
    """Return the user's batch script for a size. The script runs mpiio in the directory from which it is submitted."""
    words = " ".join((program, "--kernel", size.kernel, *size.words, "--file", "dump-$SLURM_JOB_ID"))
    return (
        f"#!/bin/bash\n#SBATCH --job-name={size.name} --nodes={size.nodes} "
        f"--ntasks-per-node={size.tasks_per_node} --output={size.name}-%j.out\nmpirun {words}\n"
    )


def campaign(
    size: Size, path: str, user: str, family: str, search: Mapping[str, Any], counted: Collection[str] = PARTS
) -> dict[str, Any]:
    """Return the definition of a campaign that minimizes the time of the `counted` parts (writing, reading).

    `family` names the group of models to which the campaign's measurements belong.
    """
    parts = {name: {"pattern": rf"^{name}: ([\d.]+) s", "weight": float(name in counted)} for name in PARTS}
    return {
        "name": f"{size.name} of {family}",
        "component": "romio",
        "settings": {"family": family, "features": dict(size.features), "objective": {"parts": parts}},
        "application": {"script": path, "user": user},
        "search": {"method": "tpe", "window": 0, **search},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 3, "final_pairs": 4, "more_pairs": 4},
        "executor": {"kind": "slurm", "max_trial_s": 120},
    }


def all_sizes(chosen: Sequence[Kernel]) -> Iterator[Size]:
    """Yield all sizes of these kernels."""
    for kernel in chosen:
        yield from (*kernel.known, *kernel.unseen)
