# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the library that forwards reads and writes, and programs to load it into."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.forward.client.diod import Diod
from tests.once import built_once

HERE = Path(__file__).parent
CLIENT = HERE.parents[2] / "accelerators" / "forward" / "client"
SHARED = sorted(HERE.parents[2].glob("accelerators/*.*"))  # sources that all preloaded libraries share
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
COMPILER = os.environ.get("SPANK_CC", "cc")
SMALL = {"REPRISE_FORWARD_MIN_BYTES": "4096", "REPRISE_FORWARD_CHECK_MS": "0"}
"""Settings with which small calls are forwarded too, and a new map is noticed at the next call."""


def build(target: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    words = [COMPILER, *FLAGS, *flags, *map(str, sources), "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def programs() -> Path:
    """Return the directory of `libreprise_forward.so`, `pure.so`, `subject` and `mover`, built once and kept."""
    files = [*HERE.glob("*.[ch]"), *CLIENT.glob("*.[ch]"), CLIENT / "Makefile", *SHARED, Path(__file__)]
    return built_once("forward-programs", COMPILER, files, build_all)


def build_all(directory: Path) -> None:
    subprocess.run(["make", "-s", "-C", str(CLIENT), f"BUILD={directory}"], check=True, capture_output=True)
    striped = [
        f"BUILD={directory}/striped",
        "CPPFLAGS=-DBURST_STRIPE_BYTES=10000",
        f"{directory}/striped/libreprise_burst.so",
    ]
    subprocess.run(["make", "-s", "-C", str(CLIENT), *striped], check=True, capture_output=True)
    pure = [HERE / "pure.c", CLIENT / "map.c", CLIENT / "settings.c"]
    include = ("-iquote", str(CLIENT), "-iquote", str(CLIENT.parents[1]))
    build(directory / "pure.so", *pure, flags=("-shared", "-fPIC", *include))
    build(directory / "subject", HERE / "subject.c")
    build(directory / "mover", HERE / "mover.c")


@dataclass
class Ran:
    stdout: str
    stderr: str
    status: int
    reports: list[dict[str, Any]]

    def total(self, key: str) -> int:
        return sum(report[key] for report in self.reports)

    def report_of(self, program: str) -> dict[str, Any]:
        (one,) = (report for report in self.reports if report["program"] == program)
        return one


@dataclass
class Site:
    """A directory with a job's files, a map of forwarders, and programs that run with or without the library."""

    programs: Path
    directory: Path
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files.mkdir()
        self.map(*())

    @property
    def files(self) -> Path:
        """The prefix below which files are forwarded."""
        return self.directory / "files"

    @property
    def map_file(self) -> Path:
        return self.directory / "map"

    def map(self, *addresses: object) -> None:
        """Replace the map, as the arbiter does: write a new file and rename it."""
        new = self.directory / "map.new"
        new.write_text("".join(f"{line}\n" for line in ("reprise-forwarders 1", *addresses)))
        new.replace(self.map_file)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "LD_PRELOAD": str(self.programs / "libreprise_forward.so"),
            "REPRISE_FORWARD_MAP": str(self.map_file),
            "REPRISE_FORWARD_PREFIXES": str(self.files),
            "REPRISE_FORWARD_AUTH": "none",
            "REPRISE_FORWARD_REPORT": str(self.directory / "report"),
            "REPRISE_FORWARD_READ_MS": "30000",  # patience enough for a busy machine
            "SLURM_NODEID": "0",
            **self.settings,
            **(more or {}),
        }

    def start(self, *words: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        (self.directory / "report").unlink(missing_ok=True)
        return subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(env), cwd=self.directory,
        )  # fmt: skip

    def ended(self, process: subprocess.Popen[str]) -> Ran:
        try:
            stdout, stderr = process.communicate(timeout=120)
        finally:
            process.kill()
        report = self.directory / "report"
        lines = report.read_text().splitlines() if report.exists() else []
        return Ran(stdout, stderr, process.returncode, [json.loads(line) for line in lines])

    def run(self, *words: object, env: Mapping[str, str] | None = None) -> Ran:
        return self.ended(self.start(*words, env=env))

    def run_bare(self, *words: object) -> Ran:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True, text=True, timeout=120, check=False, env={"PATH": os.defpath}, cwd=self.directory,
        )  # fmt: skip
        return Ran(done.stdout, done.stderr, done.returncode, [])

    def subject(self, word: str, env: Mapping[str, str] | None = None) -> Ran:
        """Run `subject` with the library, check that it behaves as without the library, and return the run."""
        command = (self.programs / "subject", word, self.files / "subject")
        bare = self.run_bare(*command)
        self.empty()
        loaded = self.run(*command, env=env)
        assert (loaded.stdout, loaded.stderr, loaded.status) == (bare.stdout, bare.stderr, bare.status)
        assert loaded.stdout.endswith("done\n") and loaded.status == 0
        return loaded

    def plain(self, env: Mapping[str, str] | None = None) -> Ran:
        """Run `subject plain`, which checks each byte, result and errno itself, with the library."""
        self.empty()
        ran = self.run(self.programs / "subject", "plain", self.files / "subject", env=env)
        assert (ran.stdout, ran.stderr, ran.status) == ("0 0\ndone\n", "", 0)
        return ran

    def empty(self) -> None:
        for path in self.files.iterdir():
            path.unlink()


@pytest.fixture
def site(programs: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Yield a site whose files are in memory, where fsync is fast; those of slow tests are on a disk."""
    in_memory = Path("/dev/shm").is_dir() and not request.node.get_closest_marker("slow")
    directory = Path(mkdtemp(prefix="reprise-forward-", dir="/dev/shm" if in_memory else "/var/tmp"))
    directory.chmod(0o755)
    yield Site(programs, directory)
    shutil.rmtree(directory)


@pytest.fixture
def diod(site: Site) -> Iterator[Diod]:
    """Yield an unmodified diod that serves the site's files, as the map says."""
    if shutil.which("diod", path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        pytest.skip("diod is not installed")
    with Diod(site.directory / "diod.sock", site.files) as one:
        site.map(one.address)
        yield one
