# SPDX-License-Identifier: Apache-2.0
"""Test that a job gets its whole decision or none if calls fail, descriptors or memory run out, or signals arrive."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.life import BOUND_MS, DEADLINE_MS, Job, Life, assert_unharmed, slow_hooks
from tests.faults.test_peer import hear, peer_at, wait_for_the_end
from tests.munged import Munged
from tests.spank.conftest import COVERAGE, FAILING_CALLS
from tests.spank.daemon import FakeDaemon, decision, say_nothing
from tests.spank.tcp_daemon import TcpDaemon

GIVEN = {"SRO_A": "one", "OMPI_MCA_b": "two"}
MARK = {"REPRISE_DECISION": "d-1"}
ERRORS = [errno.EIO, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EMFILE]
KIB = 1024


@pytest.fixture
def daemon(job: Job) -> Iterator[FakeDaemon]:
    with FakeDaemon(job.stub.socket, reply=decision("apply", GIVEN)).listening() as listening:
        yield listening


def assert_all_or_nothing(life: Life, without: Life) -> None:
    """Check that the job got its whole decision or none, and that no hook took long."""
    assert life.environment in (without.environment, without.environment | GIVEN | MARK)
    assert life.log == []
    assert slow_hooks(life, DEADLINE_MS + 4 * BOUND_MS) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in FAILING_CALLS if n not in ("fork", "waitpid", "socketpair", "getrandom")])
def test_a_failing_call(job: Job, daemon: FakeDaemon, name: str) -> None:
    """For each call of a function and each error in `ERRORS`, run the job with only that call failing."""
    settled = {"SLURM_SUBMIT_DIR": "/home/a"}
    job.env = settled
    without = job.live(plugin=False)
    at = failing = 1
    while at <= failing:
        for error in ERRORS:
            job.env = {**settled, "FAIL_CALL": name, "FAIL_AT": str(at), "FAIL_ERRNO": str(error)}
            life = job.live()
            assert_all_or_nothing(life, without)
        failing = life.failing
        at += 1


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_variable_that_cannot_be_set(job: Job, daemon: FakeDaemon, at: int) -> None:
    """If one variable of a job or of salloc's shell cannot be set, none of the decision's variables is set."""
    job.env = {"FAIL_CALL": "asprintf", "FAIL_AT": str(at)}  # the stub's spank_setenv calls asprintf
    assert_all_or_nothing(job.live(), job.live(plugin=False))
    played = job.stub.submit(["salloc"], env={"FAIL_CALL": "setenv", "FAIL_AT": str(at), "OMPI_MCA_b": "mine"})
    given = {name: value for name, value in played.own.items() if name.startswith(("SRO_", "OMPI_", "REPRISE"))}
    mine = {"OMPI_MCA_b": "mine"}
    assert given == (mine if at <= 2 else {**GIVEN, **mine, **MARK})


@pytest.mark.parametrize("name", ["malloc", "calloc", "strdup", "socket", "connect", "sendmsg", "recv", "access"])
def test_calls_that_all_fail(job: Job, daemon: FakeDaemon, name: str) -> None:
    job.env = {"FAIL_CALL": name, "FAIL_AT": "1", "FAIL_AFTER": "1"}
    assert_unharmed(job)


@pytest.fixture(params=["unix", "tcp"])
def served(request: pytest.FixtureRequest, job: Job, daemon: FakeDaemon, munged: Munged) -> Iterator[Job]:
    """Return a job that gets its settings from a daemon, on a Unix socket or over TCP."""
    if request.param == "unix":
        yield job
        return
    with TcpDaemon(munged, decision("apply", GIVEN)).listening() as tcp:
        job.settings = tcp.settings
        job.stub = dataclasses.replace(job.stub, socket=Path("/nowhere"))
        yield job


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(served: Job, closed: str) -> None:
    says = "" if closed.startswith(">") or " >" in closed else served.stub.says
    served.stub = dataclasses.replace(served.stub, prefix=("sh", "-c", f'exec "$@" {closed}', "-"), says=says)
    served.deadline_ms = 1000
    assert served.live().environment == served.live(plugin=False).environment | GIVEN | MARK


@pytest.mark.parametrize("limit", range(4, 10))
def test_too_few_descriptors(served: Job, limit: int, binaries: Path) -> None:
    if COVERAGE:
        pytest.skip("counting takes descriptors too")
    served.stub.prefix = ("prlimit", f"--nofile={limit}", "--")
    assert_all_or_nothing(served.live(), served.live(plugin=False))


def test_no_descriptor_at_all(job: Job, daemon: FakeDaemon) -> None:
    job.env = {"FAIL_CALL": "socket", "FAIL_AT": "1", "FAIL_AFTER": "1", "FAIL_ERRNO": str(errno.EMFILE)}
    assert_unharmed(job)


@pytest.mark.parametrize("hangs", [False, True])
def test_a_storm_of_signals(job: Job, daemon: FakeDaemon, hangs: bool) -> None:
    daemon.converse = say_nothing if hangs else None
    job.env = {"STUB_STORM": "1"}
    if hangs:
        assert_unharmed(job, waits=True)
    else:
        assert_all_or_nothing(job.live(), job.live(plugin=False))


@pytest.mark.parametrize("limit", ["--stack=65536", "--nproc=1", "--memlock=0", "--locks=0", "--sigpending=0"])
def test_a_limit_on(job: Job, daemon: FakeDaemon, limit: str) -> None:
    job.stub.prefix = ("prlimit", limit, "--")
    assert job.live().environment == job.live(plugin=False).environment | GIVEN | MARK


@pytest.mark.slow
@pytest.mark.skipif(COVERAGE, reason="counting takes memory too")
def test_too_little_memory(job: Job, daemon: FakeDaemon, binaries: Path) -> None:
    """The limit on memory grows in steps, from the least with which the command runs to enough for the decision."""
    daemon.reply = decision("apply", {f"SRO_{i}": "x" * 500 for i in range(64)}, reason="x" * 500)
    (job.stub.directory / "job.sh").write_text("#\n" * 60_000)
    job.stub.program = binaries / "stub_oom"

    def submit(limit: int, plugin: bool) -> str:
        job.stub.prefix = ("prlimit", f"--as={limit * KIB}", "--")
        hooks = ["call init", "call init_post_opt"] if plugin else []
        played = job.stub.play("context allocator", *job.stub.settings(), *hooks)
        return str((played.carried or {}).get("verdict"))

    def runs(limit: int) -> bool:
        with contextlib.suppress(AssertionError):
            submit(limit, plugin=False)
            return True
        return False

    least = next(limit for limit in range(12_000, 40_000, 100) if runs(limit))
    verdicts = [submit(limit, True) for limit in range(least, least + 20_000, 250)]
    assert "apply" in verdicts[1:] and verdicts[0] != "apply"
    assert verdicts[-5:] == ["apply"] * 5


@pytest.mark.parametrize("name", ["read", "open", "access", "getcwd"])
def test_a_file_system_so_slow_that_the_deadline_passes(job: Job, daemon: FakeDaemon, name: str) -> None:
    """The plugin cannot interrupt the wait for the file system. After the deadline, it sends no request."""
    job.env = {"FAIL_CALL": name, "FAIL_AT": "1", "FAIL_DELAY_MS": str(DEADLINE_MS + 20)}
    job.settings = ["kill_switch=/nowhere"]
    played = job.stub.submit(env=job.env, settings=[f"deadline_ms={DEADLINE_MS}"])
    assert played.carried is None
    assert daemon.asked == []


@pytest.mark.parametrize(("name", "bytes_"), [("sendmsg", b""), ("recv", b"\0\0")], ids=["sendmsg", "recv"])
def test_a_conversation_that_is_half_done_at_the_deadline(job: Job, name: str, bytes_: bytes) -> None:
    (job.stub.directory / "job.sh").write_text("\n" * 120_000)
    job.env = {"FAIL_CALL": name, "FAIL_AT": "1", "FAIL_AFTER": "1", "FAIL_DELAY_MS": str(DEADLINE_MS + 20)}

    def converse(peer: socket.socket) -> None:
        if bytes_:
            hear(peer)
            peer.sendall(bytes_)
        wait_for_the_end(peer)

    with peer_at(job.stub.socket, converse):
        assert_unharmed(job, waits=True)
