# SPDX-License-Identifier: Apache-2.0
"""Gains that `reprise tune application` promises for real programs, and the gains that users' jobs then get."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.real.catalogue import Program
from bench.real.communication import communicating, only_communicates
from bench.real.comparing import Environment
from bench.real.proxy_loss import Loss, proxy_loss
from bench.real.running import OFF, ProgramError, directory, run_program
from reprise.tuner.model.statistics import paired_gain
from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon

Bounds = tuple[float, float, float]
"""A gain with its 95 % bounds."""
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
    proxy, and `proxy_loss` is the loss by the proxy's best setting (see `bench.real.proxy_loss`). `campaign_id` is the
    number of the campaign. `off` and `on` are the seconds of the jobs with `--reprise=off` and with Reprise.

    If the record has settings of communication and others, `communicating` has the variables of the former, `part` the
    seconds of jobs with only these variables, and `kept_part` the gain of these jobs over those with `--reprise=off`.
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
    proxy_loss: Loss | None = None
    campaign_id: int = 0
    off: Sequence[float] = ()
    on: Sequence[float] = ()
    communicating: Mapping[str, str] = dataclasses.field(default_factory=dict)
    kept_part: Bounds | None = None
    part: Sequence[float] = ()

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Promise:
        """Convert the result of `to_json` to a promise."""
        bounds = {name: found[name] and tuple(found[name]) for name in ("promised", "kept", "kept_part", "proxy_loss")}
        return cls(**{**found, **bounds, **{name: tuple(found[name]) for name in ("off", "on", "part")}})

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

    @property
    def by_communication(self) -> Bounds | None:
        """The gain that the record's settings of communication have alone; None without such settings."""
        return self.kept if self.communication else self.kept_part


def promise(cluster: VirtualCluster, program: Program, pairs: int, later_s: float) -> Promise:
    """Tune a program, and measure its proxy's loss; if there is a record, measure the gain of the user's jobs."""
    found = tune(cluster, program, later_s)
    found = dataclasses.replace(found, proxy_loss=proxy_loss(cluster, program, found.campaign_id, found.proxy, pairs))
    if not found.promised:
        return found
    with Daemon(cluster):
        seconds = remeasured(cluster, program, pairs, found.communicating)
    off, on, part = (seconds[name] for name in ("off", "on", "part"))
    kept_part = paired_gain(off, part) if part else None
    return dataclasses.replace(found, kept=paired_gain(off, on), off=off, on=on, kept_part=kept_part, part=part)


def tune(cluster: VirtualCluster, program: Program, later_s: float) -> Promise:
    """Tune a program's batch script as an administrator does. Raises ProgramError if the command prints no result."""
    # Trials run as the user `reprise`, and programs write to their own directories, so `reprise` needs write access
    # there.
    cluster.run(["chmod", "-R", "a+rwX", directory(program)])
    words = ["reprise", "tune", "application", f"{directory(program)}/job.sh", f"--timeout={program.timeout_s}"]
    done = cluster.run([*words, f"--later={later_s:g}", "--yes", "--json"], user="reprise", timeout_s=TUNE_S)
    try:
        told = json.loads(done.stdout.splitlines()[-1])
        return read(program, told, given_to_jobs(cluster, told["record"]) if told.get("record") else {})
    except (ValueError, LookupError) as error:
        said = f"{done.stdout[-500:]} {done.stderr[-500:]}"
        raise ProgramError(
            f"{program.name}: `reprise tune application` printed no result ({error!r}): {said}"
        ) from error


def given_to_jobs(cluster: VirtualCluster, record: int) -> Environment:
    """Return the variables that a record gives to jobs."""
    shown = cluster.run(["reprise", "records", "show", str(record), "--json"], user="reprise").stdout
    found: Environment = json.loads(shown)["record"]["environment"]
    return found


def read(program: Program, told: Mapping[str, Any], given: Environment) -> Promise:
    """Read the promise from the JSON object of `reprise tune application --json`.

    `given` has the variables that the record gives to jobs.
    """
    runs, proxy, trials = told["runs"], told["proxy"], told.get("trials", 0)
    each = told["node_hours"] / trials if trials else 0.0
    on_proxy = proxy.get("node_hours", 0.0) / each if proxy and each else 0.0
    found = Promise(
        program.kind, runs, bool(trials), round(runs + on_proxy, 1), proxy=proxy, campaign_id=told.get("campaign", 0)
    )
    if not told.get("record"):
        return found
    gain, parts = told["gain"], told["parametrization"]["parts"]
    communication = only_communicates(parts)
    return dataclasses.replace(
        found,
        settings={name: part["parametrization"]["parameters"] for name, part in parts.items()},
        communication=communication,
        communicating={} if communication else communicating(given, parts),
        promised=(gain["gain"], gain["low"], gain["high"]),
    )


def remeasured(
    cluster: VirtualCluster, program: Program, pairs: int, communicating: Environment
) -> dict[str, list[float]]:
    """Run the user's jobs in rounds, and return the seconds of each kind of job. Needs a running matcher.

    Jobs of the kind `off` have `--reprise=off`, and those of the kind `on` get the record. Jobs of the kind `part` have
    `--reprise=off` and the variables in `communicating`; without variables, there are none of these jobs.
    """
    kinds: dict[str, tuple[Environment, tuple[str, ...]]] = {"on": ({}, ()), "off": ({}, (OFF,))}
    if communicating:
        kinds["part"] = (communicating, (OFF,))
    order = random.Random(pairs)  # noqa: S311 - not used for security
    seconds: dict[str, list[float]] = {"on": [], "off": [], "part": []}
    for _ in range(pairs):
        for kind in order.sample(list(kinds), len(kinds)):
            environment, options = kinds[kind]
            seconds[kind].append(run_program(cluster, program, environment, *options))
    return seconds
