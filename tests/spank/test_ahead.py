# SPDX-License-Identifier: Apache-2.0
"""Test the connection that sbatch and salloc open before the plugin has read their options, in a stub of Slurm."""

from __future__ import annotations

import json
import socket

import pytest

from tests.faults.test_peer import close_at_once, peer_at
from tests.spank.conftest import Stub
from tests.spank.daemon import FakeDaemon, decision, frame, read_exactly

APPLY = decision("apply", {"SRO_A": "1"})


def test_a_connection_is_opened_before_the_options_are_known_and_closed_if_they_say_off(stub: Stub) -> None:
    heard: list[bytes] = []
    with peer_at(stub.socket, lambda peer: heard.append(peer.recv(1))) as came:
        assert stub.submit(["sbatch", "job.sh"], option="off").carried == {"v": 1, "verdict": "off", "env": {}}
        assert stub.submit(["salloc", "job.sh"], option="off").carried is None
    assert (came, heard) == ([True, True], [b"", b""])


@pytest.mark.parametrize(
    ("argv", "settings", "env"),
    [
        (["sbatch"], ["default=off"], {}),
        (["sbatch"], [], {"REPRISE": "off"}),
        (["sbatch"], ["minimum_uid=4294967294"], {}),
        (["sbatch"], ["kill_switch=/"], {}),
        (["srun", "a"], [], {"SLURM_JOB_ID": "7"}),
        (["scrontab"], [], {}),
    ],
    ids=["default", "twin", "uid", "kill-switch", "step", "scrontab"],
)
def test_no_connection_is_opened_if_no_request_will_be_sent(
    stub: Stub, argv: list[str], settings: list[str], env: dict[str, str]
) -> None:
    with peer_at(stub.socket, close_at_once) as came:
        stub.submit(argv, settings=settings, env=env)
    assert came == []


def test_a_connection_that_the_daemon_has_closed_meanwhile_is_made_again(stub: Stub) -> None:
    came: list[bool] = []

    def close_the_first(peer: socket.socket) -> None:
        came.append(True)
        if came[1:]:
            read_exactly(peer, int.from_bytes(read_exactly(peer, 4), "big"))
            peer.sendall(frame(json.dumps(APPLY).encode()))

    # a delay between the connection and the request
    slow = {"FAIL_CALL": "getcwd", "FAIL_AT": "1", "FAIL_DELAY_MS": "200"}
    with peer_at(stub.socket, close_the_first):
        assert (stub.submit(env=slow).carried or {})["verdict"] == "apply"
    assert came == [True, True]


@pytest.mark.parametrize("other", ["file", "socket"])
def test_a_descriptor_that_now_belongs_to_another_file_is_not_used(stub: Stub, daemon: FakeDaemon, other: str) -> None:
    file = stub.directory / "file"
    file.touch()
    replace = f"replace 3 {file if other == 'file' else other}"  # the connection is descriptor 3, the lowest free
    daemon.reply = APPLY
    calls = ["call init", replace, "call init_post_opt", "close 3"]
    played = stub.play("context allocator", *stub.settings(), *calls, argv=("sbatch", "job.sh"))
    assert (played.carried or {})["verdict"] == "apply"
    assert (played.log, file.read_bytes()) == ([], b"")


def test_a_connection_that_another_plugin_has_closed_is_made_again(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = APPLY
    calls = ["call init", "close 3", "call init_post_opt"]
    played = stub.play("context allocator", *stub.settings(), *calls, argv=("sbatch", "job.sh"))
    assert (played.carried or {})["verdict"] == "apply"
    assert played.log == []
