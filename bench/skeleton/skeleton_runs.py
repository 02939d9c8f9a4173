# SPDX-License-Identifier: Apache-2.0
"""Run programs and their skeletons, measure their times, and compute the benchmark's results."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.tuner.profile.job_profile import profile_of
from reprise.tuner.profile.process_report import LIBRARY, VARIABLE
from reprise.tuner.profile.profile_values import Profile
from tests.places import ROOT

Environment = Mapping[str, str]
DEFAULT = "default"
DYNAMIC = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
SETTINGS: Mapping[str, Environment] = {
    DEFAULT: {},
    "allreduce-linear": DYNAMIC | {"OMPI_MCA_coll_tuned_allreduce_algorithm": "1"},
    "bcast-linear": DYNAMIC | {"OMPI_MCA_coll_tuned_bcast_algorithm": "1"},
    "alltoall-linear": DYNAMIC | {"OMPI_MCA_coll_tuned_alltoall_algorithm": "1"},
    "basic": {"OMPI_MCA_coll": "^tuned"},
}
"""The settings with which an application and its skeleton run, to see whether the same setting is best for both."""
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RUN_TIMEOUT_S = 1800
SPEED_UP_MIN = 5
# Amdahl's bound: if computing takes a smaller share of a run than this, omitting it cannot make the run SPEED_UP_MIN
# times faster.
COMPUTING_SHARE_MIN = 1 - 1 / SPEED_UP_MIN
COMPUTING = ("compute", "threads", "memory")
"""Names of those shares of time in a profile in which a rank computes; `memory` is the time of page faults."""
WITNESS = ROOT / "tuner/programs/witness" / LIBRARY


@dataclass(frozen=True)
class Took:
    """The wall time of a run, and the CPU time of its ranks and the launcher, in seconds."""

    seconds: float
    cpu_s: float


def timed_run(words: Sequence[str], ranks: int, environment: Environment) -> Took:
    """Run a program on `ranks` ranks and return its times. Raises RuntimeError if it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [*MPIRUN, "-np", str(ranks), *words],
        env={**os.environ, **AS_ROOT, **environment},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise RuntimeError(f"{words[0]}: ended with status {done.returncode} on {ranks} ranks: {last}")
    return Took(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def witnessed_run(words: Sequence[str], ranks: int, reports: Path) -> tuple[Took, Profile]:
    """Run a program with the witness (profiling library), which writes to `reports`; return the times and the profile.

    The folder `reports` must not exist. Raises RuntimeError if the program fails, TunerError if the witness recorded
    nothing.
    """
    reports.mkdir()
    took = timed_run(words, ranks, {"LD_PRELOAD": str(WITNESS), VARIABLE: str(reports)})
    return took, profile_of(reports)


def computing_share(took: Took, profile: Profile) -> float:
    """Return the share of a run that a skeleton can save: the slowest rank computes, or waits for ranks that compute.

    It is a share of the wall time including the launcher, because speed-ups are ratios of that time.
    """
    share = sum(profile.share(name) for name in COMPUTING) + profile.waiting
    return share * profile.elapsed_s / took.seconds


def speed_up(application: Sequence[Took], skeleton: Sequence[Took]) -> tuple[float, float]:
    """Return a skeleton's speed-up in wall time and in CPU time, computed from medians over the runs."""
    return (
        statistics.median(run.seconds for run in application) / statistics.median(run.seconds for run in skeleton),
        statistics.median(run.cpu_s for run in application) / statistics.median(run.cpu_s for run in skeleton),
    )


def bar(
    golden: Mapping[str, bool],
    identical: Mapping[str, bool],
    speed_ups: Mapping[str, float],
    computing: Mapping[str, float],
) -> dict[str, bool]:
    """Return which of the three conditions of the benchmark are met; a condition without measurements is not met.

    A speed-up counts only if the program computes for at least COMPUTING_SHARE_MIN of its runs.
    """
    fast = [times for name, times in speed_ups.items() if computing[name] >= COMPUTING_SHARE_MIN]
    return {
        "golden": len(golden) > 0 and all(golden.values()),
        "identical": len(identical) > 0 and all(identical.values()),
        "fast": len(fast) > 0 and min(fast) >= SPEED_UP_MIN,
    }
