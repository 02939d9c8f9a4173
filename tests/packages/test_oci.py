# SPDX-License-Identifier: Apache-2.0
"""Build the image of the matcher and the pages, and run both from it, as docs/how-to/packages.md shows."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reprise import __version__
from reprise.matcher.errors import MatcherError
from reprise.matcher.wire.client import PING, ask, ask_over_tcp
from reprise.matcher.wire.munge import Munge
from tests.containers.runtime import LIMITS, Podman, apart, clean_environment
from tests.matrix.roots import RELEASES, Release, fill, proxies
from tests.munged import Munged
from tests.packages.systems import TEST_TIMEOUT_S
from tests.places import ROOT
from tests.waiting import wait_for

pytestmark = [pytest.mark.packages, pytest.mark.timeout(TEST_TIMEOUT_S)]

UID = 991
BUILD_S = 600.0
RUN = ["run", "--rm", "--network=host", "--cgroups=disabled", "--read-only", *LIMITS]


@pytest.fixture(scope="module")
def release() -> Release:
    return RELEASES[1]


@pytest.fixture(scope="module")
def podman(release: Release, built: list[Path]) -> Iterator[Podman]:
    """Yield podman with the image, which is based on a root of debootstrap instead of a downloaded image."""
    if missing := [name for name in ("podman", "crun", "munged") if not shutil.which(name, path="/usr/bin:/usr/sbin")]:
        pytest.skip(f"needs {', '.join(missing)}: run `make test-packages`")
    with TemporaryDirectory(prefix="rpr-", dir="/var/tmp") as directory:  # podman refuses longer paths
        one, context = Podman(Path(directory)), Path(directory, "context")
        context.mkdir()
        Path(directory).chmod(0o755)
        shutil.copy(next(path for path in built if path.name.startswith("reprise_")), context)
        one.load(fill(dataclasses.replace(release, groups=frozenset())), "base")
        how = ["--isolation=chroot", "--network=host", "--build-arg=BASE=localhost/base", f"--build-arg=UID={UID}"]
        file = ["--file", str(ROOT / "packaging/oci/Containerfile"), "--tag", "reprise"]
        one.run([*one.words, "build", "--pull-never", *how, *file, str(context)], proxies(), BUILD_S)
        yield one


@contextlib.contextmanager
def running(podman: Podman, name: str, words: list[str], *command: str) -> Iterator[Path]:
    """Run the image in the background, yield the file of its output, and stop the container at the end."""
    log = podman.directory / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            apart([*podman.words, *RUN, *words, "reprise", *command]),
            env=clean_environment(podman.directory),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield log
    finally:
        process.terminate()  # podman passes the signal on to the container's process
        assert process.wait(60) in (0, 143), log.read_text()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_the_image_serves_jobs_on_a_socket_and_over_tcp_and_pages_over_http(podman: Podman) -> None:
    place, tcp, http = podman.directory, free_port(), free_port()
    for name in ("state", "socket"):
        (place / name).mkdir()
        os.chown(place / name, UID, UID)
    with Munged() as munged:
        (place / "reprise.toml").write_text(
            f'[matcher]\nlisten = "127.0.0.1:{tcp}"\nmunge_socket = "{munged.socket}"\n'
            f'[web]\nlisten = "127.0.0.1:{http}"\n'
        )
        mounts = {place / "reprise.toml": "/etc/reprise/reprise.toml:ro", place / "socket": "/run/reprise"}
        mounts |= {place / "state": "/var/lib/reprise", munged.directory: str(munged.directory)}
        words = [f"--volume={outside}:{inside}" for outside, inside in mounts.items()]

        def answered(how: str) -> bool:
            with contextlib.suppress(MatcherError):
                if how == "socket":
                    return bool(ask(place / "socket/matcher.sock", PING, 1.0)["kind"] == "ok")
                munge = Munge(str(munged.socket))
                return bool(ask_over_tcp("127.0.0.1", tcp, PING, munge, matcher_uid=UID, timeout_s=1.0)["kind"] == "ok")
            return False

        with running(podman, "matcher", words) as log:
            wait_for("the socket", lambda: answered("socket"), 60)
            wait_for("TCP", lambda: answered("tcp"), 10)
            assert "created, schema version" in log.read_text()
            assert (place / "state/reprise.db").stat().st_uid == UID
            with running(podman, "pages", words, "reprise", "web", "serve"):

                def page() -> str:
                    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{http}/") as got:
                        return str(got.read().decode())
                    return ""

                assert "Reprise" in wait_for("a page", page, 60)


def test_the_image_runs_without_root(podman: Podman) -> None:
    said = podman.run([*podman.words, *RUN, "reprise", "sh", "-c", "id -u && reprise --version"], {})
    assert said == f"{UID}\nreprise, version {__version__}\n"
