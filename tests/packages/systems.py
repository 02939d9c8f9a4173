# SPDX-License-Identifier: Apache-2.0
"""Systems on which packages are built and installed. Each is a copy of a cached root directory."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.matrix.roots import GROUPS, SOURCE, STABLE, Release, fill, proxies

WITH_PACKAGES = STABLE[1:]  # all except Debian 11, whose Python is too old
BUILDING = GROUPS | {"deb", "rpm"}
RUNNING = frozenset({"slurm", "nodes"})  # the software of a site, without Reprise
TIMEOUT_S = 1800.0
"""Limit for one command. The longest, a build, takes two minutes on two idle cores, and eight on busy ones."""
TEST_TIMEOUT_S = 2 * TIMEOUT_S
"""Limit for one test, which may build the packages first."""


class System:
    """A system for a test, in a separate root directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(
        self, argv: Sequence[str], *, check: bool = True, source: bool = False, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the system, with this machine's network. `source`: mount the checkout read-only at /src."""
        script = 'mount --bind "$1" "$2/src" && mount -o remount,bind,ro "$2/src" && ' if source else ""
        if source:
            (self.root / "src").mkdir(exist_ok=True)
        script += 'mount --rbind "$2" "$2" && mount --rbind /sys "$2/sys" && '  # rpm requires / to be a mount point
        # The root of the namespace, unlike that of chroot, may make user namespaces.
        script += 'cd "$2" && pivot_root . . && umount -l . && cd / && shift 2 && exec "$@"'
        apart = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        command = [
            *apart,
            f"--mount-proc={self.root}/proc",
            "sh",
            "-c",
            script,
            "sh",
            str(SOURCE),
            str(self.root),
            *argv,
        ]
        kept = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
        basics = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            command,
            env={**kept, **basics, **proxies(), "DEBIAN_FRONTEND": "noninteractive", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(
                f"{' '.join(argv)}: exit {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")

    def files(self) -> set[str]:
        """Return the paths of all files and directories, except caches and files of apt, dpkg and similar programs."""
        found = set()
        for directory, names, files in os.walk(self.root):
            inside = directory.removeprefix(str(self.root)) or "/"
            if inside.startswith(
                ("/proc", "/sys", "/dev", "/tmp", "/var/lib/dpkg", "/var/lib/apt", "/var/cache", "/var/log")
            ):
                names.clear()
                continue
            found |= {f"{inside.rstrip(chr(47))}/{name}" for name in (*names, *files)}
        return found


@contextmanager
def system(release: Release, groups: frozenset[str], place: Path, name: str = "root") -> Iterator[System]:
    """Copy a cached root directory with these package groups to `place`, yield the system, and remove the copy."""
    kept = fill(dataclasses.replace(release, groups=groups))
    root = place / f"{release.suite}-{len(groups)}-{name}"
    subprocess.run(["cp", "-a", "--reflink=auto", str(kept), str(root)], check=True)
    for name in ("PIP_CERT", "SSL_CERT_FILE"):  # certificates for a package index behind a proxy
        if (given := os.environ.get(name)) and Path(given).is_file():
            (root / given.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(given, root / given.lstrip("/"))
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    shutil.copy("/etc/hosts", root / "etc/hosts")
    try:
        yield System(root)
    finally:
        shutil.rmtree(root)
