# SPDX-License-Identifier: Apache-2.0
"""Run bench/fakeapp on this machine with an uncached file, with and without the Small Read Optimizer.

A run is cold if no part of the file is in the page cache when the run begins. Only this file is dropped from the cache:
`echo 3 >/proc/sys/vm/drop_caches` would also drop the files of other programs on the machine. The caches of the disk
itself and of a hypervisor are not dropped.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from reprise.tuner.model.space import Parametrization

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "bench/fakeapp/fakeapp"
LIBRARY = ROOT / "accelerators/sro/build/libreprise_sro.so"
DATA = ROOT / "build/fakeapp/data"
SIZE = 5 << 30
"""Size of the file in bytes, large enough that 220 leads (pattern c) are farther apart than the largest prefetch."""
PATTERNS = ("a", "b", "c", "d")
VARIABLES: Mapping[str, str] = {
    "cluster_threshold": "SRO_CLUSTER_THRESHOLD",
    "binsize": "SRO_DSC_BINSIZE",
    "prefetch_size": "SRO_PREFETCH_SIZE",
    "sequence_length": "SRO_SEQUENCE_LENGTH",
}
"""The accelerator's environment variables, by the names of the parameters in landscapes."""
WARM_SHARE = 0.001
"""Share (0 to 1) of the file that may remain in the page cache after the file was dropped from it."""
LONGEST_S = 300.0


class SmallReadsError(RuntimeError):
    """A run cannot be measured; the message contains a remedy."""


@dataclass(frozen=True)
class Run:
    """The result of a run: the duration of the read phase in seconds, and the checksum of the data read."""

    seconds: float
    checksum: str


def place_data(path: Path = DATA, size: int = SIZE) -> None:
    """Create the data file, unless a file of this size exists."""
    if path.exists() and path.stat().st_size == size:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    _call([PROGRAM, "--create", "--file", path, "--size", str(size)], {})


def make_cold(path: Path) -> None:
    """Drop a file from the page cache. Raises SmallReadsError if more than `WARM_SHARE` of it remains."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    left = int(_call(["fincore", "-bnro", "RES", path], {}))
    if left > WARM_SHARE * path.stat().st_size:
        raise SmallReadsError(
            f"{path}: {left} bytes stay in memory: end the program that maps the file, or move it to a disk (not tmpfs)"
        )


def environment(setting: Parametrization | None) -> dict[str, str]:
    """Return the variables that load the accelerator with a setting, or no variables for None (no accelerator)."""
    if setting is None:
        return {}
    return {"LD_PRELOAD": str(LIBRARY), **{VARIABLES[name]: str(value) for name, value in setting.items()}}


def cold_run(words: Sequence[str], setting: Parametrization | None, programs: int = 1, path: Path = DATA) -> Run:
    """Run fakeapp cold, as `programs` processes that share the reads as ranks would.

    Returns the time of the slowest process and the checksum of all processes' reads.
    `words` are arguments of fakeapp. Raises SmallReadsError if a process prints no result.
    """
    if setting is not None and not LIBRARY.exists():
        raise SmallReadsError(f"{LIBRARY}: there is no such library: build it with `make build`")
    make_cold(path)
    shares = [[PROGRAM, "--file", path, f"--share={number}/{programs}", *words] for number in range(1, programs + 1)]
    with ThreadPoolExecutor(programs) as pool:
        told = list(pool.map(lambda argv: _call(argv, environment(setting)), shares))
    found = [re.search(r"checksum ([0-9a-f]+), time ([0-9.]+) s$", one) for one in told]
    runs = [Run(float(one[2]), one[1]) for one in found if one]
    if len(runs) < programs:
        raise SmallReadsError(f"fakeapp {' '.join(words)} printed no time: {told[0].strip()}")
    checksum = sum(int(run.checksum, 16) for run in runs) % 2**64
    return Run(max(run.seconds for run in runs), f"{checksum:016x}")


def machine(path: Path = DATA) -> str:
    """Describe the machine and the disk of the data file in one line."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    device, kind = _call(["findmnt", "-no", "SOURCE,FSTYPE", "--target", path], {}).split()
    ahead = Path("/sys/class/block") / Path(device).name / "queue/read_ahead_kb"
    read_ahead = f", read-ahead {ahead.read_text().strip()} KiB" if ahead.exists() else ""
    return (
        f"{os.cpu_count()} cores of {model[1] if model else platform.processor()}, Linux {platform.release()}, "
        f"{kind} on {device}{read_ahead}"
    )


def _call(argv: Sequence[str | Path], variables: Mapping[str, str]) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SRO_", "LD_PRELOAD"))}
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            env={**inherited, **variables},
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except OSError as error:
        raise SmallReadsError(f"{argv[0]}: cannot be run ({error.strerror}): build it with `make build`") from error
    except subprocess.TimeoutExpired as error:
        raise SmallReadsError(
            f"{argv[0]}: not finished within {LONGEST_S:g} s: check what else uses the disk"
        ) from error
    if done.returncode:
        raise SmallReadsError((done.stderr or done.stdout).strip() or f"{argv[0]}: exit {done.returncode}")
    return done.stdout
