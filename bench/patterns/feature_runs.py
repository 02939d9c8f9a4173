# SPDX-License-Identifier: Apache-2.0
"""Record the features of known patterns, with which detectors are trained and validated.

    .venv/bin/python -m bench.patterns.feature_runs OUTPUT [--seconds 24] [--at-once 9]

`reprise-forge` replays each pattern of the grid through real forwarders in front of diod, whose files are in memory,
and each forwarder is asked for its features in each second. OUTPUT has the rows of the centre of each run, compressed.
It takes about 20 minutes with all lanes at once. The machine needs diod, Open MPI, and 12 GB of memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from bench.patterns.feature_grid import Lane, Run, exploration, lanes, runs
from reprise.matcher.detection.feature_source import observed
from reprise.matcher.detection.recorded_features import HEADER, Recorded, line
from reprise.tuner.forge.forge_command import arguments

ROOT = Path(__file__).parents[2]
DIOD = "/usr/sbin/diod"
FORWARDER = ROOT / "accelerators/forward/forwarder/build/reprise-forwarder"
LIBRARY = ROOT / "accelerators/forward/client/build/libreprise_forward.so"
FORGE = ROOT / "tuner/programs/forge/reprise-forge"
PER_RUN = 16
"""Rows that are kept of each run."""
ATTEMPTS = 3
START_S = 120.0
"""Longest time of a program's start on a busy machine, in seconds."""
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
NODE = 'export SLURM_NODEID=$((OMPI_COMM_WORLD_RANK * {forwarders} / {processes})); exec "$@"'
"""Script that distributes processes to forwarders, as if they were on as many nodes. A process is forwarded by the
number of its node."""


class _FailedError(Exception):
    """A run failed."""


@contextmanager
def _daemon(words: Sequence[object], waits_for: Path) -> Iterator[None]:
    """Run a daemon until the end of the block, from when its socket exists."""
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_S
        while not waits_for.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{words[0]} does not start")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


class _Site:
    """Forwarders of a lane, and the environment of programs that use them."""

    def __init__(self, lane: Lane, place: Path, files: Path) -> None:
        self.lane = lane
        self.place = place
        self.files = files
        self.map = place / "map"
        self.map.write_text("".join(f"{text}\n" for text in ("reprise-forwarders 1", *map(self.clients, self.numbers))))

    @property
    def numbers(self) -> range:
        return range(self.lane.forwarders)

    def clients(self, number: int) -> Path:
        return self.place / f"clients{number}"

    def control(self, number: int) -> Path:
        return self.place / f"control{number}"

    def forwarder(self, number: int, diod: Path) -> list[object]:
        listen, control = f"--listen={self.clients(number)}", f"--control={self.control(number)}"
        return [FORWARDER, listen, f"--diod={diod}", control, f"--job={self.lane}"]

    def command(self, run: Run, seconds: float) -> list[str]:
        forge = [str(FORGE), *arguments(exploration(self.lane, run, str(self.files / f"{self.lane}"), seconds))]
        node = NODE.format(forwarders=self.lane.forwarders, processes=self.lane.processes)
        variables = {
            "REPRISE_FORWARD_MAP": self.map,
            "REPRISE_FORWARD_PREFIXES": self.files,
            "REPRISE_FORWARD_AUTH": "none",
            "REPRISE_FORWARD_MIN_BYTES": 4096,
            "REPRISE_FORWARD_READ_MS": 120_000,  # patience enough for a busy machine
            "REPRISE_FORWARD_REPORT": self.place / "report",
            "LD_PRELOAD": LIBRARY,
        }
        loaded = ["env", *(f"{name}={value}" for name, value in variables.items())]
        return [
            *("mpirun", "--oversubscribe", "-np", str(self.lane.processes), "sh", "-c", node, "sh"),
            *loaded,
            *forge,
        ]

    def direct_calls(self) -> int:
        """Return the number of calls of the last run that were not forwarded, and forget them."""
        report = self.place / "report"
        lines = report.read_text().splitlines()
        report.unlink()
        return sum(json.loads(text)["direct_calls"] for text in lines)


def _recorded(site: _Site, run: Run, seconds: float) -> list[Recorded]:
    """Replay a run and return its features."""
    found: dict[tuple[int, float], Recorded] = {}
    begun = time.time()
    process = subprocess.Popen(
        site.command(run, seconds), env={**os.environ, **MPI}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    while process.poll() is None:
        time.sleep(1.4 - time.time() % 1)
        for number in site.numbers:
            for one in observed(str(site.control(number))):
                if one.features.operation is run.operation and one.at is not None and one.at > begun:
                    name = f"{site.lane}/{run}"
                    found[number, one.at] = Recorded(name, run.known, one.at, one.job, one.features)
    said = process.stderr.read().decode() if process.stderr else ""
    if process.returncode or (direct := site.direct_calls()):
        raise _FailedError(said or f"{direct} calls were not forwarded")
    if len(found) < PER_RUN:
        raise _FailedError(f"only {len(found)} rows")
    return list(found.values())


def _centre(found: Sequence[Recorded]) -> list[Recorded]:
    """Return the rows that are nearest to the middle of a run."""
    middle = (min(one.at for one in found) + max(one.at for one in found)) / 2
    return sorted(found, key=lambda one: abs(one.at - middle))[:PER_RUN]


def _kept(site: _Site, run: Run, seconds: float) -> list[Recorded]:
    """Return the rows of the centre of a run, which is repeated if it fails."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _centre(_recorded(site, run, seconds))
        except _FailedError as error:
            sys.stderr.write(f"{site.lane}, {run}: {error}\n")
    return _centre(_recorded(site, run, seconds))


def _lane(lane: Lane, place: Path, files: Path, diod: Path, seconds: float, todo: Sequence[Run]) -> list[Recorded]:
    """Return the rows of a lane."""
    place.mkdir()
    site, rows = _Site(lane, place, files), []
    with ExitStack() as stack:
        for number in site.numbers:
            stack.enter_context(_daemon(site.forwarder(number, diod), site.control(number)))
        for index, run in enumerate(todo):
            begun = time.monotonic()
            kept = _kept(site, run, seconds)
            took = time.monotonic() - begun
            sys.stderr.write(f"{lane}: {index + 1} of {len(todo)}, {run}: {len(kept)} rows, {took:.0f} s\n")
            rows += kept
    return rows


def record(seconds: float, at_once: int, seed: int, most: int | None = None) -> list[Recorded]:
    """Return the rows of the centre of each run; with `most`, only this number of runs of each lane."""
    base = Path(mkdtemp(prefix="reprise-features-", dir="/dev/shm"))
    files, diod = base / "files", base / "diod"
    files.mkdir()
    try:
        # Without SIGPIPE, as systemd starts services: a client that ends would end diod otherwise.
        words = [
            "env",
            "--ignore-signal=PIPE",
            DIOD,
            "-f",
            "--no-auth",
            "--no-userdb",
            "-l",
            diod,
            "-e",
            files,
            "-L",
            "stderr",
        ]
        with _daemon(words, diod), ThreadPoolExecutor(at_once) as pool:
            jobs = [
                pool.submit(_lane, lane, base / str(lane), files, diod, seconds, runs(seed + number)[:most])
                for number, lane in enumerate(lanes())
            ]
            return [row for job in jobs for row in job.result()]
    finally:
        shutil.rmtree(base)


def write(rows: Sequence[Recorded], output: Path) -> None:
    """Write rows to a compressed file, whose bytes depend on the rows only."""
    text = "".join(f"{one}\n" for one in (HEADER, *map(line, rows)))
    output.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    """Record the features and write them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, default=24.0)
    parser.add_argument("--at-once", type=int, default=len(lanes()))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int)
    arguments_ = parser.parse_args()
    write(record(arguments_.seconds, arguments_.at_once, arguments_.seed, arguments_.most), arguments_.output)


if __name__ == "__main__":
    main()
