# SPDX-License-Identifier: Apache-2.0
"""Test a real daemon: its replies, how it starts and stops, and its socket."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from reprise.config import SOCKET_PATH_LIMIT
from reprise.config import load as load_config
from reprise.database import Database
from reprise.matcher.daemon import service as service_module
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.listener import listen
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.decision.decide import Decided, answered
from reprise.matcher.errors import ServiceError
from reprise.matcher.linkage.engine import Engine
from reprise.matcher.wire.client import PING
from tests.unit.matcher_daemon import ME, RULES, SCRIPT, Daemon, job, mine, record, request, text_of
from tests.waiting import wait_for


def outcome(decision: str | None, state: str = "started", job_id: int = 12, uid: int | None = None) -> dict[str, Any]:
    message = {"v": 1, "kind": "outcome", "state": state, "decision": decision, "verdict": "apply", "applied": 2}
    more: dict[str, dict[str, Any]] = {"ended": {"elapsed_s": 3.5, "exit_status": 256}, "step": {"present": 1}}
    return {
        **message,
        **more.get(state, {}),
        "job": {"id": job_id, "array_task": None, "uid": os.getuid() if uid is None else uid},
    }


def test_a_job_is_decided_linked_and_completed_in_the_journal(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    reply = daemon.ask(request())
    assert (reply["verdict"], reply["env"], reply["record"]) == ("apply", RULES, 1)
    started = daemon.ask(outcome(reply["id"]))
    assert started == {"v": 1, "kind": "ok", "identify": "/home/alice/bin/lattice"}, (
        "the daemon cannot read the program's file, so it asks the job"
    )
    assert daemon.ask(outcome(reply["id"], "step")) == {"v": 1, "kind": "ok"}
    assert daemon.ask(outcome(reply["id"], "ended")) == {"v": 1, "kind": "ok"}
    assert daemon.stop() == 0, "stopping writes the remaining entries"
    with Database.open(daemon.database, read_only=True) as database:
        (decision,) = database.decisions_of_job("test", 12)
        (run,) = database.outcomes_of_job("test", 12)
    assert (decision.id, decision.user, decision.uid, decision.job_id) == (reply["id"], ME, os.getuid(), 12)
    assert decision.injected == RULES and 0 < decision.elapsed_ms < 5000
    assert (run.decision_id, run.elapsed_s, run.exit_status, run.applied) == (reply["id"], 3.5, 256, 2)
    assert (run.present, run.unreadable) == (1, 0)
    assert daemon.log_contains(
        rf"event=decision id={reply['id']} user={ME} point=submit verdict=apply score=\S+ record=1 ms="
    )


def test_equal_job_ids_on_several_clusters_are_different_jobs(daemon: Daemon) -> None:
    daemon.start()
    for cluster in (None, "far"):
        message = outcome(daemon.ask(request())["id"])
        message["job"]["cluster"] = cluster
        daemon.ask(message)
    started = {"id": 12, "array_task": None, "nodes": 1, "tasks": None, "restarts": 0, "cluster": "further"}
    daemon.ask(request(point="start", job=started))
    daemon.stop()
    with Database.open(daemon.database, read_only=True) as database:
        for cluster in ("test", "far", "further"):
            (decision,) = database.decisions_of_job(cluster, 12)
            reported = [run.decision_id for run in database.outcomes_of_job(cluster, 12)]
            assert reported == ([decision.id] if cluster != "further" else [])


def test_the_reply_to_a_ping_has_version_records_and_uptime(daemon: Daemon) -> None:
    daemon.add(mine(), mine())
    daemon.start()
    reply = daemon.ask(PING)
    assert reply["records"] == 2 and reply["uptime_s"] >= 0 and reply["version"]


def test_everyone_may_connect_and_the_socket_is_removed_at_the_end(daemon: Daemon) -> None:
    daemon.start()
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o666
    daemon.stop()
    assert not daemon.socket.exists()
    assert [path.name for path in daemon.socket.parent.iterdir()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to switch to another user")
def test_another_users_lock_does_not_prevent_the_daemon_from_binding_its_socket(daemon: Daemon) -> None:
    """Any user who can open a directory can lock it, so the daemon must not wait for a lock on its directory."""
    for directory in (daemon.socket.parent, daemon.socket.parent.parent):
        directory.chmod(0o755)
    holds = (
        "import fcntl, os, sys; descriptor = os.open(sys.argv[1], os.O_RDONLY); os.setuid(65534)\n"
        "fcntl.flock(descriptor, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holds, str(daemon.socket.parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        daemon.start()
        assert daemon.ask(PING)["kind"] == "ok"
        process.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as several users")
def test_users_may_report_only_their_own_jobs_and_root_all_jobs(daemon: Daemon) -> None:
    daemon.add(record(metadata=job("nobody").to_json()))
    daemon.start()
    Path(daemon.config).parent.chmod(0o755)
    nobody = pwd.getpwnam("nobody").pw_uid
    program = (
        "import json, os, sys; sys.path.insert(0, sys.argv[1]); os.setuid(int(sys.argv[2]))\n"
        "import socket; s = socket.socket(socket.AF_UNIX); os.chdir(sys.argv[3]); s.connect('matcher.sock')\n"
        "data = sys.argv[4].encode(); s.sendall(len(data).to_bytes(4, 'big') + data); f = s.makefile('rb')\n"
        "print(f.read(int.from_bytes(f.read(4), 'big')).decode())"
    )

    def ask_as_nobody(message: dict[str, Any]) -> dict[str, Any]:
        enter = [sys.executable, "-c", program, str(Path.cwd()), str(nobody), str(daemon.socket.parent)]
        descriptor = os.open(daemon.socket.parent, os.O_PATH)  # other users cannot enter pytest's directories
        try:
            enter[5] = f"/proc/self/fd/{descriptor}"
            done = subprocess.run(
                [*enter, json.dumps(message)], capture_output=True, text=True, check=False, pass_fds=(descriptor,)
            )
        finally:
            os.close(descriptor)
        assert done.returncode == 0, done.stderr
        reply = json.loads(done.stdout)
        assert isinstance(reply, dict)
        return reply

    decided = ask_as_nobody(request())
    assert decided["verdict"] == "apply", "the kernel reports the client's uid"
    mine_too = daemon.ask(request())
    assert ask_as_nobody(outcome(decided["id"], uid=0))["kind"] == "error"
    assert ask_as_nobody(outcome(mine_too["id"], job_id=13, uid=nobody))["kind"] == "ok", (
        "users may report their own jobs"
    )
    assert ask_as_nobody(outcome(decided["id"], job_id=14, uid=nobody))["kind"] == "ok"
    assert daemon.ask(outcome(None, job_id=15, uid=nobody))["kind"] == "ok"
    daemon.stop()
    with Database.open(daemon.database, read_only=True) as database:
        assert database.decision(mine_too["id"]).job_id is None, "no job is linked to another user's decision"
        assert database.decision(decided["id"]).job_id == 14
        assert database.outcomes_of_job("test", 15)[0].uid == nobody


@pytest.mark.slow
def test_a_second_daemon_is_refused_and_the_first_continues(daemon: Daemon) -> None:
    daemon.start()
    second = subprocess.run(
        [sys.executable, "-m", "reprise", "--config", str(daemon.config), "serve"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode == 1
    assert "another matcher serves this socket" in second.stderr and "Traceback" not in second.stderr
    assert daemon.pings()


def test_the_socket_of_a_killed_daemon_is_replaced_by_the_next_one(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    daemon.ask(request())
    daemon.kill()
    assert daemon.socket.exists()
    daemon.start()
    assert daemon.ask(request())["verdict"] == "apply"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a path at which a socket can be bound."""
    (tmp_path / "run").mkdir(mode=0o755)
    return tmp_path / "run" / "matcher.sock"


def refusal(path: Path) -> str:
    with pytest.raises(ServiceError) as caught:
        listen(path)
    return str(caught.value)


def test_a_file_in_the_sockets_place_is_left_alone(place: Path) -> None:
    place.write_text("precious")
    assert "not a socket" in refusal(place)
    assert place.read_text() == "precious"


def test_a_link_in_the_sockets_place_is_left_alone(place: Path) -> None:
    place.symlink_to("/nowhere")
    assert "not a socket" in refusal(place)


def test_a_directory_that_everyone_may_write_to_is_refused_unless_it_is_sticky(place: Path) -> None:
    place.parent.chmod(0o777)
    assert f"chmod o-w {place.parent}" in refusal(place)
    place.parent.chmod(0o1777)
    listen(place).close()


def test_a_missing_directory_is_named(place: Path) -> None:
    assert f"create {place.parent / 'deeper'}" in refusal(place.parent / "deeper" / "matcher.sock")


def test_a_path_too_long_for_a_socket_is_named_and_the_longest_is_taken(place: Path) -> None:
    longest = place.with_name("s" * (SOCKET_PATH_LIMIT - len(str(place.parent)) - 1))
    listen(longest).close()
    assert "use a shorter path" in refusal(longest.with_name(longest.name + "s"))


def test_a_missing_database_is_named_and_leaves_no_socket(daemon: Daemon) -> None:
    daemon.database.unlink()
    daemon.spawn()
    assert daemon.process and daemon.process.wait(timeout=30) == 1
    assert daemon.log_contains(r"(?m)^reprise: .*run `reprise db init`$") and "Traceback" not in daemon.text()
    assert not daemon.socket.exists()


def test_sighup_reloads_the_configuration_and_ignores_an_invalid_one(daemon: Daemon) -> None:
    daemon.add(mine())
    daemon.start()
    assert daemon.ask(request())["verdict"] == "apply"
    daemon.configure('mode = "observe"')
    daemon.signal(signal.SIGHUP)
    wait_for("the new mode", lambda: daemon.ask(request())["verdict"] == "observe")
    daemon.configure('mood = "on"')
    daemon.signal(signal.SIGHUP)
    daemon.wait_log("event=reload-failed .*mood")
    assert daemon.ask(request())["verdict"] == "observe"
    daemon.configure("threshold = 1.0")
    daemon.signal(signal.SIGHUP)
    script = SCRIPT.replace("200", "201")
    wait_for("the new threshold", lambda: daemon.ask(request(script))["verdict"] == "none")


def test_sigterm_lets_a_request_in_flight_finish(daemon: Daemon) -> None:
    daemon.start()
    with daemon.connect() as connection:
        connection.sendall(b"\0\0")
        daemon.ask(PING)  # this answer shows that the daemon has accepted the older connection above
        daemon.signal(signal.SIGTERM)
        wait_for("the end of accepting", lambda: not daemon.pings())
        body = b'{"v":1,"kind":"ping"}'
        connection.sendall(len(body).to_bytes(4, "big")[2:] + body)
        assert b'"kind":"ok"' in connection.recv(4096)
    assert daemon.stop() == 0


@pytest.mark.slow
def test_a_descriptor_from_systemd_that_is_no_socket_is_refused(daemon: Daemon) -> None:
    daemon.spawn(
        sys.executable,
        "-c",
        'import os, sys; os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid())); '
        "os.close(3) if os.path.exists('/proc/self/fd/3') else None; os.execv(sys.argv[1], sys.argv[1:])",
    )
    assert daemon.process and daemon.process.wait(timeout=30) == 1
    complaint = "reprise: the socket that systemd passed .LISTEN_FDS. is not a listening Unix stream socket"
    assert daemon.log_contains(complaint)


PARENT = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen(16)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.slow
def test_a_socket_from_systemd_is_used_and_left_in_place(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "passed.sock"
    daemon.socket = path  # differs from the configured socket, which the daemon must ignore
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
        daemon.spawn(sys.executable, "-c", PARENT, str(path), env=environment)
        told = {manager.recv(100).decode()}
        while not {"READY=1", "WATCHDOG=1"} <= told:
            told.add(manager.recv(100).decode())
        assert daemon.pings()
        assert not (tmp_path / "run" / "matcher.sock").exists()
        daemon.signal(signal.SIGTERM)
        while "STOPPING=1" not in told:
            told.add(manager.recv(100).decode())
    assert daemon.stop() == 0
    assert path.exists()


@pytest.mark.parametrize("slow", ["model", "script"])
def test_a_slow_request_delays_no_other(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    if slow == "model":
        monkeypatch.setattr("reprise.matcher.daemon.decision_basis.INLINE_LIMIT_MS", -1.0)
    script = SCRIPT + "# a comment\n" * (1000 if slow == "script" else 0)
    others_are_served = threading.Event()

    def decide_late(*arguments: Any) -> Decided:
        assert others_are_served.wait(10), "the ping was answered only after the decision"
        return answered(*arguments)

    monkeypatch.setattr(service_module, "answered", decide_late)
    basis = Basis(lambda: load_config(daemon.config))
    service = service_module.Service(basis, Queue().put, Queue().put_unmade)
    basis.use_records([text_of(mine(id=1))])

    async def both() -> dict[str, Any]:
        long = asyncio.create_task(service.answer(json.dumps(request(script)).encode(), os.getuid()))
        await asyncio.sleep(0)
        await service.answer(json.dumps(PING).encode(), os.getuid())
        others_are_served.set()
        return (await long)[0]

    assert asyncio.run(both())["verdict"] == "apply"


def test_one_slow_measurement_of_linkage_moves_no_decision_to_a_thread(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    steps = iter([1.0, 0.001])

    def link(*_: Any) -> None:
        clock[0] += next(steps, 1.0)

    basis = Basis(lambda: load_config(daemon.config))
    with monkeypatch.context() as patch, caplog.at_level("INFO", "reprise"):
        patch.setattr(Engine, "link", link)
        patch.setattr(time, "perf_counter", lambda: clock[0])
        basis.use_records([text_of(mine(id=1))])
    assert "linkage_ms=1 inline=True" in caplog.text


def test_an_exception_in_a_decision_fails_one_request_only(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Decided:
        raise ZeroDivisionError

    service = service_module.Service(Basis(lambda: load_config(daemon.config)), Queue().put, Queue().put_unmade)
    with monkeypatch.context() as patch:
        patch.setattr(service_module, "answered", broken)
        reply, entry = asyncio.run(service.answer(json.dumps(request()).encode(), os.getuid()))
    assert reply["kind"] == "error" and entry is None
    reply, entry = asyncio.run(service.answer(json.dumps(request()).encode(), os.getuid()))
    assert reply["kind"] == "decision" and entry


def test_a_record_that_cannot_be_read_is_left_out(daemon: Daemon) -> None:
    basis = Basis(lambda: load_config(daemon.config))
    service = service_module.Service(basis, Queue().put, Queue().put_unmade)
    wrong = [record(id=2, metadata={"users": "x"}), record(id=3, metadata={"options": [1]})]
    basis.use_records(map(text_of, [mine(id=1), *wrong]))
    reply, _ = asyncio.run(service.answer(json.dumps(request()).encode(), os.getuid()))
    assert (reply["verdict"], reply["record"]) == ("apply", 1)
