# SPDX-License-Identifier: Apache-2.0
"""Compare the communication of a proxy and its application, by running both under Open MPI's monitoring."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.monitoring_matrix import MonitoringMatrix, differences, monitoring_arguments, read_matrix

# Time limit of the proxy, as a multiple of the application's time; a slower proxy would be useless. The minimum in
# seconds allows for delays by the machine, which matter in short runs.
PROXY_TIME_FACTOR = 2
PROXY_TIME_MIN_S = 60

Launch = Callable[[Sequence[str], float], subprocess.CompletedProcess[str]]
"""Function that runs a command with a time limit in seconds; it raises subprocess.TimeoutExpired at the limit."""


@dataclass(frozen=True)
class Fidelity:
    """Result of comparing an application and its proxy with one number of ranks.

    `differences` has one sentence for each difference in communication and is empty if the communication is identical.
    `application_s` and `proxy_s` are the times of whole runs in seconds.
    """

    ranks: int
    differences: tuple[str, ...]
    application_s: float
    proxy_s: float

    @property
    def identical(self) -> bool:
        """Whether each rank sent the same messages to each other rank in both runs."""
        return not self.differences

    @property
    def saved(self) -> float:
        """Share of the application's time that a run of the proxy saves; negative if the proxy is slower."""
        return 1 - self.proxy_s / self.application_s


def launch(words: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command with a time limit in seconds, and return its result and output."""
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)


def fidelity(
    application: Sequence[str],
    proxy: Sequence[str],
    ranks: Sequence[int],
    *,
    mpirun: Sequence[str] = ("mpirun",),
    timeout_s: float = 3600,
    launch: Launch = launch,
) -> Iterator[Fidelity]:
    """Run an application and its proxy with each number of ranks, and compare the messages that they sent.

    Args:
        application: The command of the application, without a launcher.
        proxy: The command of the proxy, without a launcher.
        ranks: Numbers of ranks; both programs run once with each.
        mpirun: Open MPI's launcher, with additional options such as `--oversubscribe`.
        timeout_s: Time limit of the application in seconds. The proxy's limit is twice the time that the application
            took, but at least a minute.
        launch: Function that runs a command.

    Raises:
        ProxyError: The application failed, did not end in time, or wrote no monitoring files.
    """
    with tempfile.TemporaryDirectory(prefix="reprise-fidelity-") as name:
        folder = Path(name)
        for number in ranks:
            runner = _Runner([*mpirun, "-np", str(number)], number, launch)
            try:
                wanted, application_s = runner.run(application, folder / f"application-{number}", timeout_s)
            except subprocess.TimeoutExpired as error:
                raise ProxyError(
                    f"{application[0]}: did not end within {timeout_s:.0f} s on {number} ranks: allow it more time"
                ) from error
            allowed_s = max(PROXY_TIME_MIN_S, PROXY_TIME_FACTOR * application_s)
            try:
                found, proxy_s = runner.run(proxy, folder / f"proxy-{number}", allowed_s)
            except subprocess.TimeoutExpired:
                text = f"the proxy did not end within {allowed_s:.0f} s; the application took {application_s:.1f} s"
                yield Fidelity(number, (text,), application_s, allowed_s)
            except ProxyError as error:
                yield Fidelity(number, (str(error),), application_s, 0.0)
            else:
                yield Fidelity(number, tuple(differences(wanted, found)), application_s, proxy_s)


@dataclass(frozen=True)
class _Runner:
    mpirun: Sequence[str]
    ranks: int
    launch: Launch

    def run(self, program: Sequence[str], prefix: Path, timeout_s: float) -> tuple[MonitoringMatrix, float]:
        began = time.monotonic()
        done = self.launch([*self.mpirun, *monitoring_arguments(prefix), *program], timeout_s)
        elapsed_s = time.monotonic() - began
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
            raise ProxyError(f"{program[0]}: ended with status {done.returncode} on {self.ranks} ranks: {last[0]}")
        return read_matrix(prefix, self.ranks), elapsed_s
