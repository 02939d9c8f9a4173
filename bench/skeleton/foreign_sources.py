# SPDX-License-Identifier: Apache-2.0
"""Debian source packages, fetched and verified by apt with a configuration that is separate from the system's."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from tests.places import ROOT

FOLDER = ROOT / "build/bench-skeleton"
MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
FETCH_TIMEOUT_S = 600


class SourceError(RuntimeError):
    """A source package could not be fetched; the message contains the last line of apt's output."""


def fetched(package: str, folder: Path = FOLDER) -> Path:
    """Return the folder with a package's upstream source. The first call fetches the source.

    Raises:
        SourceError: apt cannot fetch the package.
    """
    place = folder / package
    if not place.exists():
        archives = folder / f"{package}-archives"
        archives.mkdir(parents=True, exist_ok=True)
        _apt(folder, archives, "source", "--download-only", "--tar-only", package)
        made = place.with_suffix(".new")
        made.mkdir(exist_ok=True)
        (archive,) = archives.glob("*.orig.tar.*")
        subprocess.run(
            ["tar", "-x", "--strip-components=1", "-C", made, "-f", archive], check=True, timeout=FETCH_TIMEOUT_S
        )
        made.rename(place)
    return place


def version(package: str, folder: Path = FOLDER) -> str:
    """Return the upstream version of a fetched package."""
    (archive,) = (folder / f"{package}-archives").glob("*.orig.tar.*")
    return archive.name.removeprefix(f"{package}_").partition(".orig.tar")[0]


def _apt(folder: Path, cwd: Path, *words: str) -> None:
    configuration = folder / "apt.conf"
    if not configuration.exists():
        (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
        (folder / "cache").mkdir(exist_ok=True)
        release = platform.freedesktop_os_release().get("VERSION_CODENAME", "stable")
        (folder / "sources.list").write_text(f"deb-src [signed-by={KEYS}] {MIRROR} {release} main\n")
        text = (
            f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "-";\n'
            f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\nAPT::Sandbox::User "root";\n'
        )
        new = configuration.with_suffix(".new")
        new.write_text(text)
        _run(["apt-get", "-c", str(new), "update"], cwd)
        new.rename(configuration)
    _run(["apt-get", "-c", str(configuration), *words], cwd)


def _run(words: list[str], cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise SourceError(f"{' '.join(words)}: {last}")
