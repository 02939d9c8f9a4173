# SPDX-License-Identifier: Apache-2.0
"""Test that the library, and the command that drains, prove to the forwarder who the user is, with a real munged."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.matcher.forwarding.burst_drain import DrainError
from tests.forward.client.conftest import Site
from tests.forward.client.diod import Diod
from tests.forward.client.test_bursts import JOB, PRELUDE, BurstSite
from tests.forward.forwarder.conftest import program as program  # a fixture
from tests.forward.forwarder.conftest import within
from tests.munged import Munged

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("munged"), reason="needs root, for mounts and other users, and munge"
)
USER = 30001
MUNGE = {"REPRISE_FORWARD_AUTH": "munge", "LD_PRELOAD": ""}
WRITES = PRELUDE + "fd = begin(); print(os.stat('files/f').st_size, os.pread(fd, 3, 0)); os.close(fd)"
WRITTEN = "50000 b'nnn'\n"


@pytest.fixture
def munged() -> Iterator[Munged]:
    with Munged() as one:
        yield one


@pytest.fixture
def burst(site: Site, diod: Diod, program: Path, munged: Munged) -> Iterator[BurstSite]:
    found = BurstSite(site, diod, program, munge=munged.socket)
    for directory in (found.bursts, found.caches):
        directory.chmod(0o711)  # burst buffers run as the jobs' users
    Path(diod.address).chmod(0o777)
    found.addresses[0].chmod(0o777)
    site.files.chmod(0o777)
    try:
        yield found
    finally:
        found.end()
        sys.stdout.write(log(found))  # pytest shows it if the test failed


def inside(burst: BurstSite, munge: Path, *become: str) -> list[str]:
    """Return the beginning of a command line that loads the library into a program that reaches a munged."""
    return [*within(munge), *become, "env", f"LD_PRELOAD={burst.site.settings['LD_PRELOAD']}"]


LARGE = PRELUDE + "fd = begin(); os.pwrite(fd, b'm' * 200000, 0); print(os.pread(fd, 3, 0)); os.close(fd)"


@pytest.mark.parametrize("auth", [False, True], ids=["burst-buffers", "burst-buffers-and-diod"])
def test_a_program_works_while_munged_hangs_on_the_io_node(
    burst: BurstSite, diod: Diod, munged: Munged, auth: bool
) -> None:
    if auth:
        diod.kill()
        diod.options, diod.inside = ("--no-userdb",), within(munged.socket)
        diod.start()
        Path(diod.address).chmod(0o777)
    munged.signal(signal.SIGSTOP)
    with Munged(munged.key) as other:
        ran = burst.site.run(*inside(burst, other.socket), "/usr/bin/python3", "-c", LARGE, env=MUNGE)
    assert (ran.stdout, ran.stderr) == ("b'mmm'\n", "")
    assert ran.total("failures") <= 1 and ran.total("other_files") == 0
    assert not burst.pids() and "munged does not answer, so the job works without" in log(burst)
    assert (burst.site.files / "f").read_bytes() == b"m" * 200000


def log(burst: BurstSite) -> str:
    return (burst.site.directory / "forwarder.log").read_text()


@pytest.mark.parametrize("user", [0, USER])
def test_a_program_gets_the_burst_buffer_of_its_user(burst: BurstSite, munged: Munged, user: int) -> None:
    begin = inside(burst, munged.socket, "setpriv", f"--reuid={user}", "--clear-groups")
    ran = burst.site.run(*begin, "/usr/bin/python3", "-c", WRITES, env=MUNGE)
    assert (ran.stdout, ran.stderr) == (WRITTEN, "")
    assert [one.name for one in burst.caches.iterdir()] == [f"{JOB}.{user}"] and "not believed" not in log(burst)
    assert (burst.site.files / "f").read_bytes() == b"n" * 50000


def test_a_program_whose_process_changes_its_user_keeps_its_burst_buffer(burst: BurstSite, munged: Munged) -> None:
    text = f"{PRELUDE}fd = begin(); os.setuid({USER}); os.pwrite(fd, b'm', 0); os.fsync(fd); os.close(fd)"
    ran = burst.site.run(*inside(burst, munged.socket), "/usr/bin/python3", "-c", text, env=MUNGE)
    assert (ran.stdout, ran.stderr) == ("", "")
    assert (burst.site.files / "f").read_bytes() == b"m" + b"n" * 49999


@pytest.mark.parametrize("reason", ["auth", "key", "stopped"])
def test_a_program_without_proof_works_without_burst_buffer(burst: BurstSite, munged: Munged, reason: str) -> None:
    with Munged() as other:
        socket = {"auth": munged.socket, "key": other.socket, "stopped": burst.site.directory / "none"}[reason]
        auth = "none" if reason == "auth" else "munge"
        environment = {**MUNGE, "REPRISE_FORWARD_AUTH": auth}
        ran = burst.site.run(*inside(burst, socket), "/usr/bin/python3", "-c", WRITES, env=environment)
    assert (ran.stdout, ran.stderr) == (WRITTEN, "")
    assert not burst.pids() and not list(burst.caches.iterdir()) and "not believed" in log(burst)
    assert (burst.site.files / "f").read_bytes() == b"n" * 50000


def drain(burst: BurstSite, munged: Munged, auth: str) -> BaseException | None:
    """Run the command that drains; return its error."""
    config = burst.site.directory / "reprise.toml"
    config.write_text(
        f'[matcher]\nmunge_socket = "{munged.socket}"\n'
        f'[forwarding]\nforwarders = ["{burst.addresses[0]}"]\nauth = "{auth}"\n'
    )
    words = ["--config", str(config), "forwarders", "drain", JOB, "--user", "0", "--timeout", "30"]
    return CliRunner().invoke(reprise, words).exception


def test_only_a_command_that_proves_its_user_drains(burst: BurstSite, munged: Munged) -> None:
    text = "fd = begin(); wait(); os._exit(0)"
    process = burst.begin(text, env=MUNGE, inside=inside(burst, munged.socket))
    error = drain(burst, munged, "none")
    assert isinstance(error, DrainError) and "it ended the connection" in str(error)
    with Munged() as other:
        assert isinstance(drain(burst, other, "munge"), DrainError)
    assert (burst.site.files / "f").read_bytes() != b"n" * 50000
    assert drain(burst, munged, "munge") is None
    assert (burst.site.files / "f").read_bytes() == b"n" * 50000
    process.kill()
    process.wait()
