# SPDX-License-Identifier: Apache-2.0
"""Test that only a job's user, and root, get at a job's burst buffer, with real credentials of munge."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.forward.forwarder.conftest import Place
from tests.forward.forwarder.nine import BURST, NO_TAG, RLERROR, TVERSION, UNKNOWN, VERSION, Nine, text
from tests.forward.forwarder.test_bursts import LATER, Bursts
from tests.munged import Munged
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("munged"), reason="needs root, for mounts and other users, and munge"
)
USER, OTHER = 30001, 30002
NO_PROOF = "it has no proof"
REFUSED = "munge refuses its credential"
OTHER_PURPOSE = "the credential was made for another purpose"
OTHER_USER = "the credential is not of this user, nor of root"


class Proofs(Bursts):
    """A forwarder that asks for proofs."""

    def __init__(self, place: Place, munged: Munged) -> None:
        super().__init__(place)
        self.munged = munged
        for directory in (place.directory, self.bursts, self.caches):
            directory.chmod(0o711)  # burst buffers run as the jobs' users
        (place.directory / "diod").chmod(0o777)

    def begin(self, *options: str) -> None:
        self.start_with(*options, munge=self.munged.socket)

    def proof(self, version: str, by: int) -> str:
        """Return the word that proves that a user asks for a version."""
        return "proof=" + self.munged.credential(version.encode(), user=by).decode()

    def proven(self, version: str, by: int) -> Nine:
        """Return a connection for which a user asks."""
        return self.connected(f"{version} {self.proof(version, by)}")

    def connected(self, version: str) -> Nine:
        self.place.clients.append(Nine(self.place.directory / "clients", self.place.export, version=version))
        return self.place.clients[-1]

    def sent(self, version: str) -> Nine:
        """Return a connection that has asked, without waiting for the answer."""
        client = Nine(self.place.directory / "clients")
        client.send(TVERSION, struct.pack("<I", 65536) + text(version), NO_TAG)
        self.place.clients.append(client)
        return client

    def refused(self) -> float:
        return self.place.metrics()["reprise_forwarder_burst_buffers_refused_total"]


@pytest.fixture
def proofs(place: Place) -> Iterator[Proofs]:
    with Munged() as munged:
        found = Proofs(place, munged)
        yield found
        found.kill()


@pytest.mark.parametrize(("user", "by"), [(USER, USER), (USER, 0), (0, 0)])
def test_a_user_and_root_get_the_users_burst_buffer(proofs: Proofs, user: int, by: int) -> None:
    proofs.begin()
    version = f"{BURST} 7 {user} write-back=ram"
    assert [proofs.proven(version, by).version for _ in range(2)] == [BURST, BURST]
    (pid,) = proofs.pids()
    assert Path(f"/proc/{pid}").stat().st_uid == user and proofs.refused() == 0


@pytest.mark.parametrize(("user", "by"), [(USER, OTHER), (0, OTHER)])
def test_another_user_does_not_start_it(proofs: Proofs, user: int, by: int) -> None:
    proofs.begin()
    assert proofs.proven(f"{BURST} 7 {user} write-back=ram", by).version == UNKNOWN
    assert not proofs.pids() and not list(proofs.bursts.iterdir())
    assert OTHER_USER in proofs.place.log() and proofs.refused() == 1


@pytest.mark.parametrize(
    ("proof", "cause"),
    [
        ("", NO_PROOF),
        ("proof=MUNGE:AAAA:", REFUSED),
        ("proof=MUNGE:", REFUSED),
        ("proof=" + "x" * 1023, REFUSED),
        ("proof=\x01%s%n", REFUSED),
        # These are no requests.
        ("proof=", ""),
        ("proof=" + "x" * 1024, ""),
        ("proof=x proof=y", ""),
        ("proof=x workers=2", ""),
    ],
)
def test_a_malformed_proof_is_refused(proofs: Proofs, proof: str, cause: str) -> None:
    proofs.begin()
    version = f"{BURST} 7 {USER} write-back=ram"
    assert proofs.connected(f"{version} {proof}").version == UNKNOWN
    assert cause in proofs.place.log() and proofs.refused() == (cause != "") and not proofs.pids()
    assert proofs.proven(version, USER).version == BURST, "others are served"


@pytest.mark.parametrize(
    "other",
    [
        "",
        f"{BURST} 8 {USER} write-back=ram",
        f"{BURST} 7 {USER}",
        f"{BURST} 7 {USER} write-back=ram drain",
        f"{BURST} 7 {USER} write-back=ram ",
        '{"version": 1}',
    ],
)
def test_a_credential_for_another_purpose_is_refused(proofs: Proofs, other: str) -> None:
    proofs.begin()
    stolen = proofs.proof(other, USER) if other else "proof=" + proofs.munged.credential(b"", "-n", user=USER).decode()
    assert proofs.connected(f"{BURST} 7 {USER} write-back=ram {stolen}").version == UNKNOWN
    assert OTHER_PURPOSE in proofs.place.log() and not proofs.pids()


def test_a_credential_serves_once(proofs: Proofs) -> None:
    proofs.begin()
    version = f"{BURST} 7 {USER} write-back=ram"
    proof = proofs.proof(version, USER)
    assert proofs.connected(f"{version} {proof}").version == BURST
    with pytest.raises(ConnectionError):
        proofs.connected(f"{version} {proof}")
    assert REFUSED in proofs.place.log()


def delayed(proofs: Proofs) -> Nine:
    """Return a connection to the burst buffer of job 7 of root, which has data of file f."""
    one = proofs.proven(f"{BURST} 7 0 write-back=ram {LATER}", 0)
    one.write(one.create("f"), 0, b"x" * 100_000)
    return one


def test_a_stranger_neither_drains_nor_joins_a_running_burst_buffer(proofs: Proofs, place: Place) -> None:
    proofs.begin()
    one = delayed(proofs)
    for version in (f"{BURST} 7 0 drain", f"{BURST} 7 0 write-back=ram"):
        for proof in (proofs.proof(version, OTHER), ""):
            # an answer would mean that nothing is delayed
            with pytest.raises(ConnectionError):
                proofs.connected(f"{version} {proof}")
    assert (place.export / "f").stat().st_size == 0 and len(proofs.pids()) == 1 and proofs.refused() == 4
    proofs.proven(f"{BURST} 7 0 drain", 0)
    assert (place.export / "f").read_bytes() == b"x" * 100_000
    begun = one.call(TVERSION, struct.pack("<I", 65536) + text(f"{BURST} 7 0 drain"), NO_TAG)
    assert begun[6:].decode() == BURST, "a connection that was handed over needs no further proof"


def test_a_stranger_cannot_keep_a_job_from_its_burst_buffer(proofs: Proofs) -> None:
    proofs.begin("--burst-jobs=1")
    version = f"{BURST} 7 {USER} write-back=ram"
    for _ in range(3):
        assert proofs.proven(version, OTHER).version == proofs.connected(version).version == UNKNOWN
    assert proofs.proven(version, USER).version == BURST
    assert [proofs.place.log().count(cause) for cause in (OTHER_USER, NO_PROOF)] == [1, 1], "one line for each cause"


def taken(proofs: Proofs, user: int, jobs: range) -> list[bool]:
    """Let a user ask for burst buffers of jobs; return which ones he gets."""
    return [proofs.proven(f"{BURST} {job} {user} write-back=ram", user).version == BURST for job in jobs]


def test_a_user_who_invents_jobs_leaves_places_to_others(proofs: Proofs) -> None:
    proofs.begin("--burst-jobs=8")
    assert taken(proofs, USER, range(1, 9)) == [True] * 4 + [False] * 4, "half of the places"
    assert taken(proofs, OTHER, range(1, 5)) == [True] * 2 + [False] * 2, "half of the rest"
    assert taken(proofs, 0, range(1, 3)) == [True, False]
    assert taken(proofs, USER, range(9, 11)) == taken(proofs, OTHER, range(9, 11)) == [False] * 2
    assert taken(proofs, OTHER + 1, range(1, 3)) == [True, False], "the last place is for a user who has none"
    assert taken(proofs, OTHER + 2, range(1, 2)) == [False] and len(proofs.pids()) == 8
    assert taken(proofs, USER, range(1, 5)) == [True] * 4, "who has a burst buffer keeps it"


def test_a_share_is_of_the_user_and_not_of_others_with_similar_numbers(proofs: Proofs) -> None:
    proofs.begin("--burst-jobs=4")
    assert taken(proofs, 1, range(1, 3)) == [True] * 2
    assert taken(proofs, 11, range(1, 3)) == [True, False]


def test_the_user_of_slurmctld_may_drain_but_not_start(proofs: Proofs, place: Place) -> None:
    proofs.begin(f"--burst-uid={OTHER}")
    delayed(proofs)
    proofs.proven(f"{BURST} 7 0 drain", OTHER)
    assert (place.export / "f").read_bytes() == b"x" * 100_000
    assert proofs.proven(f"{BURST} 8 0 write-back=ram", OTHER).version == UNKNOWN
    with pytest.raises(ConnectionError):
        proofs.proven(f"{BURST} 7 0 drain", USER)


def test_connections_that_ask_at_once_share_a_burst_buffer(proofs: Proofs) -> None:
    proofs.begin()
    version = f"{BURST} 7 {USER} write-back=ram"
    words = [f"{version} {proofs.proof(version, USER)}" for _ in range(5)]
    assert [client.next().body[6:].decode() for client in [proofs.sent(word) for word in words]] == [BURST] * 5
    wait_for("the end of further ones, which started at the same time", lambda: len(proofs.pids()) == 1)


WITHOUT = "munged does not answer, so the job works without: restart munged"


def without_burst_buffer(client: Nine) -> bool:
    """Return whether a client that has asked works without burst buffer, since diod answers that it knows none."""
    return client.next().kind == RLERROR


def resume(proofs: Proofs) -> None:
    """Let munged continue, and wait until new jobs get burst buffers again."""
    proofs.munged.signal(signal.SIGCONT)
    jobs = itertools.count(1000)
    wait_for("munged", lambda: proofs.proven(f"{BURST} {next(jobs)} {OTHER}", OTHER).version == BURST)


def test_jobs_work_without_burst_buffer_while_munged_hangs(proofs: Proofs, place: Place) -> None:
    proofs.begin()
    version = f"{BURST} 7 {USER} write-back=ram"
    words = [f"{version} {proofs.proof(version, USER)}" for _ in range(8)]
    proofs.munged.signal(signal.SIGSTOP)
    waiting = [proofs.sent(word) for word in words]
    flood = [proofs.sent(f"{version} proof=x{number}") for number in range(300)]  # more than may be examined
    assert place.client().version == VERSION
    for client in [*waiting[:3], *flood[::2]]:
        client.close()
    assert all(without_burst_buffer(client) for client in waiting[3:])
    assert place.client().version == VERSION and not proofs.pids()
    assert place.log().count(WITHOUT) == 1
    resume(proofs)
    assert proofs.proven(version, USER).version == UNKNOWN, "its processes must see the same data"


def test_a_job_with_a_burst_buffer_waits_while_munged_hangs(proofs: Proofs, place: Place) -> None:
    proofs.begin()
    delayed(proofs)
    versions = [f"{BURST} 7 0 drain", f"{BURST} 7 0 write-back=ram {LATER}"]
    words = [f"{version} {proofs.proof(version, 0)}" for version in versions]
    other = f"{BURST} 8 0 write-back=ram"
    word = f"{other} {proofs.proof(other, 0)}"
    proofs.munged.signal(signal.SIGSTOP)
    hanging = [proofs.sent(one) for one in words]
    assert without_burst_buffer(proofs.sent(word))
    proofs.munged.signal(signal.SIGCONT)
    for client in hanging:
        try:
            answer = client.next().body[6:].decode()
        except ConnectionError:  # the client tries again
            continue
        assert answer == BURST
    resume(proofs)
    proofs.proven(f"{BURST} 7 0 drain", 0)
    assert (place.export / "f").read_bytes() == b"x" * 100_000


def test_a_drain_finds_nothing_to_drain_while_munged_hangs(proofs: Proofs) -> None:
    proofs.begin()
    version = f"{BURST} 7 {USER} drain"
    word = f"{version} {proofs.proof(version, USER)}"
    proofs.munged.signal(signal.SIGSTOP)
    assert without_burst_buffer(proofs.sent(word))
    resume(proofs)
    assert proofs.proven(f"{BURST} 7 {USER}", USER).version == BURST, "a drain keeps no job from its burst buffer"


def test_without_munged_the_client_tries_again_for_a_while(proofs: Proofs, place: Place) -> None:
    proofs.start_with(munge=place.directory / "no munged")
    version = f"{BURST} 7 {USER} write-back=ram"
    with pytest.raises(ConnectionError):
        proofs.proven(version, USER)
    assert "is munged running?" in place.log() and not proofs.pids() and place.client().version == VERSION

    def works_without() -> bool:
        with suppress(ConnectionError):
            return proofs.proven(version, USER).version == UNKNOWN
        return False

    wait_for("the job without burst buffer", works_without)
    assert WITHOUT in place.log()


def test_a_forwarder_that_believes_everybody_ignores_proofs(proofs: Proofs) -> None:
    proofs.begin("--burst-auth=none")
    assert proofs.connected(f"{BURST} 7 {USER} write-back=ram proof=x").version == BURST
    assert proofs.refused() == 0
