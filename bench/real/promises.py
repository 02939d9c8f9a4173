# SPDX-License-Identifier: Apache-2.0
"""Gains that `reprise tune application` promises for real programs, and the gains that users' jobs then get."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.real.catalogue import Program
from bench.real.running import ProgramError, directory, run_program
from reprise.tuner.model import touched_names
from reprise.tuner.model.statistics import paired_gain
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon

Bounds = tuple[float, float, float]
"""A gain with its 95 % bounds."""
COMPONENTS = Path(__file__).parents[2] / "etc/components"
COMMUNICATION = ("mpi.collective", "mpi.p2p")
TUNE_S = 3600
WORTH = 0.1
"""Smallest gain with which a program counts in `gained` in the final JSON object."""


@dataclass(frozen=True)
class Promise:
    """A program's promised gain and the gain measured afterwards.

    `promised` is the gain that users are shown. `kept` is the gain measured in pairs of jobs with Reprise and with
    `--reprise=off`. Both are None if there is no record. `runs` is the cost in runs of the application, including
    profile and recording. `campaign` says whether there was a campaign; without one, the profile found nothing to tune.
    `all_runs` is `runs` plus the runs of the proxy, converted to runs of the application. `communication` says whether
    all settings belong to components that only touch communication. `proxy` is the report on the proxy, None without a
    proxy. `off` and `on` are the seconds of the jobs with `--reprise=off` and with Reprise.
    """

    kind: str
    runs: int
    campaign: bool = False
    all_runs: float = 0.0
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    communication: bool = False
    promised: Bounds | None = None
    kept: Bounds | None = None
    proxy: Mapping[str, Any] | None = None
    off: Sequence[float] = ()
    on: Sequence[float] = ()

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Promise:
        """Convert the result of `to_json` to a promise."""
        bounds = {name: found[name] and tuple(found[name]) for name in ("promised", "kept")}
        return cls(**{**found, **bounds, "off": tuple(found["off"]), "on": tuple(found["on"])})

    def to_json(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        return dataclasses.asdict(self)

    @property
    def is_held(self) -> bool:
        """Whether the promised interval contains the gain measured afterwards."""
        return bool(self.promised and self.kept and self.promised[1] <= self.kept[0] <= self.promised[2])

    @property
    def is_false(self) -> bool:
        """Whether a gain was promised, but the gain measured afterwards is 0 or less."""
        return bool(self.kept and self.kept[0] <= 0)

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the lower bound of the gain measured afterwards is over 0."""
        return bool(self.kept and self.kept[1] > 0)


def promise(cluster: VirtualCluster, program: Program, pairs: int, later_s: float) -> Promise:
    """Tune a program; if the campaign leaves a record, measure the gain of the user's jobs."""
    found = tune(cluster, program, later_s)
    if not found.promised:
        return found
    with Daemon(cluster):
        off, on = remeasured(cluster, program, pairs)
    return dataclasses.replace(found, kept=paired_gain(off, on), off=off, on=on)


def tune(cluster: VirtualCluster, program: Program, later_s: float) -> Promise:
    """Tune a program's batch script as an administrator does. Raises ProgramError if the command prints no result."""
    # Trials run as the user `reprise`, and programs write to their own directories, so `reprise` needs write access
    # there.
    cluster.run(["chmod", "-R", "a+rwX", directory(program)])
    words = ["reprise", "tune", "application", f"{directory(program)}/job.sh", f"--timeout={program.timeout_s}"]
    done = cluster.run([*words, f"--later={later_s:g}", "--yes", "--json"], user="reprise", timeout_s=TUNE_S)
    try:
        return read(program, json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, LookupError) as error:
        said = f"{done.stdout[-500:]} {done.stderr[-500:]}"
        raise ProgramError(
            f"{program.name}: `reprise tune application` printed no result ({error!r}): {said}"
        ) from error


def read(program: Program, told: Mapping[str, Any]) -> Promise:
    """Read the promise from the JSON object of `reprise tune application --json`."""
    runs, proxy, trials = told["runs"], told["proxy"], told.get("trials", 0)
    each = told["node_hours"] / trials if trials else 0.0
    on_proxy = proxy.get("node_hours", 0.0) / each if proxy and each else 0.0
    found = Promise(program.kind, runs, bool(trials), round(runs + on_proxy, 1), proxy=proxy)
    if not told.get("record"):
        return found
    gain, parts = told["gain"], told["parametrization"]["parts"]
    return dataclasses.replace(
        found,
        settings={name: part["parametrization"]["parameters"] for name, part in parts.items()},
        communication=only_communicates(parts),
        promised=(gain["gain"], gain["low"], gain["high"]),
    )


def only_communicates(components: Iterable[str], files: Path = COMPONENTS) -> bool:
    """Return whether all these components, according to their files, touch only MPI messages and collectives."""
    touched = [
        name for one in components for name in yaml.safe_load((files / f"{one}.yaml").read_text()).get("touches", [""])
    ]
    return all(any(touched_names.touches(one, name) for one in COMMUNICATION) for name in touched)


def remeasured(cluster: VirtualCluster, program: Program, pairs: int) -> tuple[list[float], list[float]]:
    """Run pairs of the user's jobs; return the seconds with `--reprise=off` and without it. Needs a running matcher."""
    order = random.Random(pairs)  # noqa: S311 - not used for security
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(pairs):
        for given in order.sample((True, False), 2):
            options = () if given else ("--reprise=off",)
            seconds[given].append(run_program(cluster, program, {}, *options))
    return seconds[False], seconds[True]
