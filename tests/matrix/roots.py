# SPDX-License-Identifier: Apache-2.0
"""The systems for `make test-matrix`: root directories of Debian releases, created by debootstrap and cached."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import debian

SOURCE = Path(__file__).resolve().parents[2]
PACKAGES = debian.LIST
# The groups of etc/packages.debian that a cluster's root needs.
GROUPS = frozenset({"build", "slurm", "nodes"})
CACHE = Path(os.environ.get("MATRIX_CACHE") or "/var/cache/reprise-matrix")
# The second mirror has the releases that have been removed from the first.
MIRRORS = ("http://deb.debian.org/debian", "http://archive.debian.org/debian")
STEP_TIMEOUT_S = 900.0
PROBE_TIMEOUT_S = 20
# Prefix for a command, so that the command's mounts and child processes end with it, however it ends.
APART = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")


class RootError(RuntimeError):
    """A root cannot be created or used; the message contains the remedy."""


@dataclass(frozen=True)
class Release:
    """A Debian release, and the release of Slurm that it contains."""

    suite: str
    name: str
    slurm: str
    groups: frozenset[str] = GROUPS

    def __str__(self) -> str:
        return f"{self.name}, Slurm {self.slurm}"

    @property
    def root(self) -> Path:
        """Return the root's path. It contains a digest of the package list, so that a changed list gets a new root."""
        packages_key = hashlib.sha256(" ".join(wanted(self.groups)).encode()).hexdigest()[:8]
        return CACHE / f"{self.suite}-{packages_key}"

    @property
    def log(self) -> Path:
        return CACHE / f"{self.suite}.log"

    def described(self) -> tuple[str, str]:
        """Return the exact release of Slurm, and the system with the releases of what the plugin is built with."""
        gcc, json_c = self.version_of("libgcc-s1"), self.version_of("libjson-c5")
        return f"Slurm {self.version_of('slurmctld')}", f"{self.name} (gcc {gcc}, json-c {json_c})"

    def version_of(self, package: str) -> str:
        """Return the upstream version of a package in the root, such as "6.0.0rc2" if it has "6.0.0~rc2-2"."""
        return _upstream_version(fill(self), package)


@cache
def _upstream_version(root: Path, package: str) -> str:
    words = ["dpkg-query", f"--root={root}", "--show", "--showformat=${source:Upstream-Version}\n", package]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return said.split()[0].rpartition("+really")[2].partition("+")[0].replace("~", "")


STABLE = (
    Release("bullseye", "Debian 11", "20.11"),
    Release("bookworm", "Debian 12", "22.05"),
    Release("trixie", "Debian 13", "24.11"),
)
# Debian's development branch, for the newest Slurm and Open MPI. Its packages change from day to day.
SID = Release("sid", "Debian sid", "26.05")
RELEASES = (*STABLE, SID)


def wanted(groups: frozenset[str] = GROUPS) -> list[str]:
    """Return the Debian packages of a root with these groups."""
    return debian.packages(PACKAGES.read_text(), sorted(groups))


def fill(release: Release) -> Path:
    """Return the release's root. Create it (about a minute) if it is not cached; raise RootError on failure.

    A cached root is complete, because `_make` renames it last. So a run that needs no other roots does not wait for one
    that creates some.
    """
    if not release.root.exists():
        with _lock():
            if not release.root.exists():
                _make(release)
    return release.root


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    """Hold a lock, so that no two runs create a root at the same time."""
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(CACHE / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RootError(f"{CACHE}: {error.strerror}: run this as root, or give MATRIX_CACHE=DIRECTORY") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make(release: Release) -> None:
    env = {**os.environ, **proxies(), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    mirror = _mirror_with(release, env)
    new = CACHE / f"{release.suite}.new"
    shutil.rmtree(new, ignore_errors=True)  # may be left over from an interrupted run
    release.log.unlink(missing_ok=True)
    bootstrap = ["debootstrap", "--variant=minbase", "--include=ca-certificates", release.suite, str(new), mirror]
    _step(release, bootstrap, env)
    denied = new / "usr/sbin/policy-rc.d"  # prevents packages from starting their daemons
    denied.write_text("#!/bin/sh\nexit 101\n")
    denied.chmod(0o755)
    # accept expired lists of packages, because those of an archived release have expired
    apt = ["chroot", str(new), "apt-get", "-q", "-o", "Acquire::Check-Valid-Until=false"]
    _step(release, [*apt, "update"], env)
    _step(release, [*apt, "install", "-y", "--no-install-recommends", *wanted(release.groups)], env)
    _step(release, [*apt, "clean"], env)
    new.rename(release.root)


def _step(release: Release, argv: Sequence[str], env: Mapping[str, str]) -> None:
    with release.log.open("a") as log:
        try:
            done = subprocess.run(
                [*APART, *argv],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=STEP_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RootError(
                f"{release.name}: {argv[0]}: {error}: `make deps-matrix`, and look into {release.log}"
            ) from error
    if done.returncode:
        words = release.log.read_text(errors="replace").strip().splitlines()
        raise RootError(f"{release.name}: {argv[0]} failed ({words[-1] if words else 'no reason'}): see {release.log}")


def _mirror_with(release: Release, env: Mapping[str, str]) -> str:
    tried = mirrors()
    for mirror in tried:
        probe = ["wget", "--spider", "--quiet", "--tries=2", f"--timeout={PROBE_TIMEOUT_S}"]
        address = f"{mirror}/dists/{release.suite}/Release"
        if subprocess.run([*probe, address], env=env, capture_output=True, check=False).returncode == 0:
            return mirror
    raise RootError(
        f"{release.name} ({release.suite}) is on no mirror that can be reached ({', '.join(tried)}): "
        "give one that has it, MATRIX_MIRROR=URL"
    )


def mirrors() -> list[str]:
    """Return the addresses of mirrors to try: MATRIX_MIRROR if set, otherwise this machine's and Debian's mirrors."""
    if given := os.environ.get("MATRIX_MIRROR"):
        return [given.rstrip("/")]
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return list(dict.fromkeys((*main_archives(said), *MIRRORS)))


def main_archives(targets: str) -> list[str]:
    """Return the addresses in apt's index targets (lines "URI RELEASE COMPONENT"), except those for updates."""
    rows = [line.split() for line in targets.splitlines()]
    return [
        row[0].rstrip("/")
        for row in rows
        if len(row) == 3 and row[0].startswith("http") and row[2] == "main" and not set("-/") & set(row[1])
    ]


def proxies() -> dict[str, str]:
    """Return apt's proxies, as environment variables that debootstrap's wget and the root's apt read."""
    found = {}
    for scheme in ("http", "https"):
        words = ["apt-config", "--format", "%v%n", "dump", f"Acquire::{scheme}::Proxy"]
        value = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        if value and value != "DIRECT":
            found[f"{scheme}_proxy"] = value
    return found
