# SPDX-License-Identifier: Apache-2.0
"""Measure landscapes on a virtual cluster on this machine: `make landscapes-measured` (needs root; takes 15 minutes).

    python -m bench.measured [NAME...]

A landscape has the measured times of all points of a search space. Each landscape is measured by several campaigns, one
after the other. Each campaign tries every point of the space once, in random order, so that slow changes of the machine
affect all points.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.emulated import path_of
from reprise.database.entities import Trial, TrialRole
from reprise.database.facade import Database
from reprise.tuner.model.landscape import Landscape
from reprise.tuner.model.space import Space
from reprise.tuner.openmpi import collective_spaces
from reprise.tuner.openmpi.installed_build import OpenMPIBuild, describe
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import install, tune

NODES = 4
REPETITIONS = 3
DEFAULT_RUNS = 5  # number of runs of the default in each campaign
SEGMENTS = (0, *(2**power for power in range(10, 20)))
FANOUTS = (2, 3)
DATABASE = "/var/lib/reprise/reprise.db"


@dataclass(frozen=True)
class Measured:
    """A collective at one message size (in bytes), with one rank on each node."""

    collective: str
    size: int

    def space(self, build: OpenMPIBuild) -> Space:
        """Return the search space of the collective at this size."""
        return collective_spaces.space(self.collective, self.size, NODES, build, SEGMENTS, FANOUTS, unsafe=True)

    def campaign(self, budget: int, seed: int) -> dict[str, object]:
        """Return the definition of a campaign that tries every point of the space; `budget` is the number of points."""
        return {
            "name": f"{self.collective} {seed}",
            "component": "openmpi-collectives",
            "scope": "cluster",
            "settings": {
                "collectives": [self.collective],
                "sizes": [self.size],
                "nodes": NODES,
                "segments": list(SEGMENTS),
                "fanouts": list(FANOUTS),
                "unsafe": True,
                "warmup": 3,
                "repetitions": 20,
                "max_seconds": 1,
            },
            "search": {"method": "random", "budget": budget, "window": 0, "seed": seed},
            "noise": {"policy": "none"},
            "repetitions": {"default_runs": DEFAULT_RUNS, "final_pairs": 2},
            "executor": {"kind": "allocation", "max_trial_s": 30},
        }


MEASURED: Mapping[str, Measured] = {
    "bcast-1m": Measured("bcast", 1 << 20),
    "reduce-256k": Measured("reduce", 1 << 18),
}


def measure(cluster: VirtualCluster, name: str) -> Landscape:
    """Run the campaigns that measure `MEASURED[name]`, and return the landscape."""
    measured = MEASURED[name]
    build = describe("ompi_info")
    space = measured.space(build)
    trials: list[Trial] = []
    for seed in range(1, REPETITIONS + 1):
        path = f"/home/reprise/{name}-{seed}.yaml"
        _say(f"{name}: campaign {seed} of {REPETITIONS}, {len(space.points)} points")
        told = tune(cluster, path, measured.campaign(len(space.points), seed), timeout_s=3600)
        trials += trials_of(cluster, told["campaign"])
    return assemble(name, space, trials, _source(build))


def trials_of(cluster: VirtualCluster, campaign_id: int) -> Sequence[Trial]:
    """Return a finished campaign's trials, from a copy of the database, which is in the cluster's mount namespace."""
    with TemporaryDirectory() as directory:
        for file in cluster.path(DATABASE).parent.glob(f"{Path(DATABASE).name}*"):
            shutil.copy(file, directory)
        with Database.open(Path(directory) / Path(DATABASE).name) as database:
            return database.trials(campaign_id)


def assemble(name: str, space: Space, trials: Sequence[Trial], source: str) -> Landscape:
    """Combine the trials of all campaigns into a landscape; `Landscape` raises an exception if a point has no value."""
    found: dict[tuple[object, ...], list[float]] = {space.key(point): [] for point in space.points}
    for trial in trials:
        if trial.value is not None and trial.role in (TrialRole.SEARCH, TrialRole.DEFAULT):
            found[space.key(trial.parametrization)].append(float(f"{trial.value:.6g}"))
    return Landscape(
        name, space, collective_spaces.DEFAULT, [found[space.key(point)] for point in space.points], "s", source
    )


def _source(build: OpenMPIBuild) -> str:
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    processor = model[1] if model else platform.processor()
    return (
        f"measured: Open MPI {build.version}, {NODES} nodes of a virtual cluster with one rank each "
        f"(links of 1 Gbit/s), {processor}, Linux {platform.release()}"
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> None:
    """Measure the landscapes named in the arguments, or all."""
    names = sys.argv[1:] or list(MEASURED)
    with VirtualCluster(nodes=NODES) as cluster:
        install(cluster)
        for name in names:
            landscape = measure(cluster, name)
            landscape.save(path_of(name))
            point, best = landscape.optimum
            _say(f"{name}: {len(landscape.samples)} points, best {best:.3g} s at {dict(point)}")


if __name__ == "__main__":
    main()
