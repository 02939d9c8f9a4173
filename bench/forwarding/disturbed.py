# SPDX-License-Identifier: Apache-2.0
"""Random programs while their map changes, and while forwarders, diods and burst buffers are killed.

A program plays random sequences of calls on a file, and prints a digest of all results, error numbers and bytes for
each sequence. It runs with the library and without; each sequence whose digests differ is an error.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from tests.forward.client import conftest as client
from tests.forward.client.conftest import SMALL, Site
from tests.forward.client.diod import Diod
from tests.forward.forwarder import conftest as forwarder
from tests.forward.forwarder.burst_processes import kill_bursts
from tests.forward.forwarder.nine import connects
from tests.once import built_once
from tests.waiting import wait_for

SEQUENCES = 20
"""Sequences that a program plays before it is started again."""
EVERY_S = 0.02
BURST = {
    "REPRISE_FORWARD_BURST": "flash",
    "REPRISE_FORWARD_BURST_DESTAGE_AFTER": "2000",
    "SLURM_JOB_ID": "4711",
}


class Server:
    """A forwarder in front of a diod of its own, which can be killed and started again."""

    def __init__(self, program: Path, place: Path, files: Path, *options: str) -> None:
        place.mkdir()
        self.diod = Diod(place / "diod", files)
        self.address = place / "clients"
        self._words = [str(program), f"--listen={self.address}", f"--diod={place}/diod", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start what does not run."""
        if self.diod.process is None:
            self.diod.start()
        self._process = subprocess.Popen(self._words, stderr=subprocess.DEVNULL)
        wait_for("the forwarder", connects(self.address))

    def kill(self) -> None:
        """Kill the forwarder."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self, with_diod: bool) -> None:
        """Kill the forwarder, or also its diod, and start both again."""
        self.kill()
        if with_diod:
            self.diod.kill()
        self.start()

    def end(self) -> None:
        """Kill both."""
        self.kill()
        self.diod.kill()


@contextmanager
def site() -> Iterator[tuple[Site, Path]]:
    """Yield a directory with the programs and the library, and the path of the forwarder; both are built if need be."""
    files = [*forwarder.SOURCE.glob("*.[ch]"), forwarder.SOURCE / "Makefile"]
    program = built_once("bench-forwarder", "cc", files, forwarder.build) / "reprise-forwarder"
    sources = [*client.HERE.glob("*.[ch]"), *client.CLIENT.glob("*.[ch]"), client.CLIENT / "Makefile", *client.SHARED]
    programs = built_once("bench-forward-programs", client.COMPILER, sources, client.build_all)
    directory = Path(mkdtemp(prefix="reprise-forwarding-", dir="/dev/shm"))
    try:
        yield Site(programs, directory), program
    finally:
        shutil.rmtree(directory)


def errors_until(found: Site, disturb: Callable[[], int], enough: int) -> tuple[int, int]:
    """Play sequences until `disturb` has done enough; return the number of its acts and of different sequences.

    `disturb` is called again and again while a program runs, and returns the number of acts that it has just done.
    """
    acts = errors = first = 0
    while acts < enough:
        command = (found.programs / "mover", found.files / "file", first, SEQUENCES)
        bare = found.run_bare(*command)
        found.empty()
        running = found.start(*command, env=SMALL)
        while running.poll() is None:
            try:
                running.wait(EVERY_S)
            except subprocess.TimeoutExpired:
                acts += disturb()
        ran = found.ended(running)
        pairs = zip(bare.stdout.splitlines(), ran.stdout.splitlines(), strict=False)
        errors += sum(one != other for one, other in pairs) + (ran.status != 0)
        errors += abs(bare.stdout.count("\n") - ran.stdout.count("\n"))
        found.empty()
        first += SEQUENCES
    return acts, errors


def started(count: int, found: Site, program: Path, ends: ExitStack) -> list[Server]:
    """Start servers of the site's files, which end with `ends`."""
    servers = [Server(program, found.directory / f"server{number}", found.files) for number in range(count)]
    for one in servers:
        ends.callback(one.end)
        one.start()
    return servers


def remaps(enough: int) -> tuple[int, int]:
    """Change the map while a program runs; return the number of changes and of errors."""
    choice = random.Random(1)  # noqa: S311 - no secret
    with site() as (found, program), ExitStack() as ends:
        servers = started(3, found, program, ends)

        def remap() -> int:
            found.map(*choice.sample([one.address for one in servers], choice.randrange(4)))
            return 1

        return errors_until(found, remap, enough)


def kills(enough: int) -> tuple[int, int]:
    """Kill forwarders and diods while a program runs; return the number of kills and of errors."""
    choice = random.Random(2)  # noqa: S311 - no secret
    with site() as (found, program), ExitStack() as ends:
        servers = started(2, found, program, ends)
        found.map(*(one.address for one in servers))

        def kill() -> int:
            choice.choice(servers).restart(with_diod=choice.random() < 0.3)
            found.map(*choice.sample([one.address for one in servers], 2))
            return 1

        return errors_until(found, kill, enough)


def burst_kills(enough: int) -> tuple[int, int]:
    """Kill burst buffers with a journal while a program runs; return the number of kills and of errors."""
    with site() as (found, program), ExitStack() as ends:
        bursts, caches = found.directory / "bursts", found.directory / "caches"
        for directory in (bursts, caches):
            directory.mkdir()
        server = Server(
            program,
            found.directory / "server",
            found.files,
            f"--bursts={bursts}",
            f"--burst-flash={caches}",
            "--burst-auth=none",
        )
        ends.callback(server.end)
        ends.callback(kill_bursts, bursts)
        server.start()
        found.map(server.address)
        found.settings |= {"LD_PRELOAD": str(found.programs / "libreprise_burst.so"), **BURST}
        return errors_until(found, lambda: len(kill_bursts(bursts)), enough)
