# SPDX-License-Identifier: Apache-2.0
"""Test the plugin's arguments in plugstack.conf: valid and invalid arguments, and who sees messages about them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.spank.conftest import SPANK, Stub
from tests.spank.daemon import FakeDaemon

VECTORS = json.loads((SPANK.parent / "tests/vectors/plugstack.json").read_text())
LEVEL = "error" if os.getuid() == 0 else "verbose"  # users see an administrator's mistake only in verbose output


@pytest.mark.parametrize("argument", VECTORS["taken"])
def test_a_valid_argument_is_accepted_without_a_message(stub: Stub, argument: str) -> None:
    assert stub.play("context remote", f"plugstack {argument}", "call init").log == []


@pytest.mark.parametrize("argument", VECTORS["ignored"])
def test_an_invalid_argument_is_ignored_with_one_line(stub: Stub, argument: str) -> None:
    ((level, line),) = stub.play("context remote", f"plugstack {argument}", "call init").log
    assert level == LEVEL
    assert line.startswith(f'reprise: plugstack argument "{argument}" is ignored: ')


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("deadline_ms=soon", "use deadline_ms=VALUE, where VALUE is a number from 1 to 1000"),
        ("endpoint=tcp:x", "use endpoint=VALUE, where VALUE is unix:/PATH (107 bytes at most) or tcp:HOST:PORT"),
        (f"endpoint=unix:/{'x' * 200}", "unix:/PATH (107 bytes at most)"),
        ("sokcet=/x", "unknown name (`reprise doctor` lists the valid ones)"),
        ("x" * 5000, "x" * 200),
    ],
)
def test_the_line_names_the_remedy_and_the_other_arguments_apply(
    stub: Stub, daemon: FakeDaemon, argument: str, words: str
) -> None:
    played = stub.submit(settings=[argument, "deadline_ms=500"])
    ((_, line),) = played.log
    assert words in line and len(line) < 500
    assert played.carried and played.carried["verdict"] == "none"


def test_endpoints_beyond_the_maximum_are_ignored(stub: Stub, daemon: FakeDaemon) -> None:
    played = stub.submit(settings=[f"endpoint=unix:/nowhere/{i}" for i in range(4)])
    ((_, line),) = played.log  # the stub's own endpoint is the first of five
    assert '"endpoint=unix:/nowhere/3" is ignored' in line and "at most 4" in line
    assert len(daemon.asked) == 1


def test_a_path_that_is_too_long_is_ignored(stub: Stub) -> None:
    ((_, line),) = stub.play("context remote", f"plugstack kill_switch=/{'x' * 5000}", "call init").log
    assert "kill_switch=VALUE, where VALUE is an absolute path" in line


def test_users_see_an_admins_mistake_only_in_verbose_output(binaries: Path, stub: Stub) -> None:
    env = {"FAIL_CALL": "getuid", "FAIL_AT": "1", "FAIL_AFTER": "1"}  # makes getuid return a user id other than root's
    ((level, _),) = stub.play("context allocator", "plugstack x", "call init", env=env).log
    assert level == "verbose"
