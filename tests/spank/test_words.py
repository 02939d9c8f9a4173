# SPDX-License-Identifier: Apache-2.0
"""Test the plugin's messages to the user of a submitting command, in a stub of Slurm; usually there are none."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from tests.spank.conftest import Stub
from tests.spank.daemon import FakeDaemon, decision, say, say_nothing

APPLY = decision("apply", {"OMPI_MCA_a": "1", "SRO_B": "two words"}, score=0.934, record=12)


def test_if_the_site_has_disabled_reprise_only_explain_prints_a_line(stub: Stub) -> None:
    (stub.directory / "disabled").touch()
    assert stub.submit(env={"REPRISE": "bogus"}).log == []
    line = "reprise: off: the site has disabled Reprise for everyone or for you; the job runs unchanged"
    assert stub.submit(option="explain").log == [("user", line)]


def test_a_wrong_option_is_refused_in_one_line(stub: Stub) -> None:
    played = stub.play("context allocator", *stub.settings(), "call init", "option maybe")
    assert played.option == -1
    assert played.log == [("error", "reprise: --reprise=maybe is invalid: use on, off, observe, explain or profile")]


def test_an_invalid_option_does_not_harm_a_running_job(stub: Stub) -> None:
    played = stub.play("context remote", *stub.settings(), "call init", "option maybe")
    assert (played.option, played.log) == (0, [])


def test_an_invalid_mode_in_the_environment_is_ignored_with_one_line(stub: Stub, daemon: FakeDaemon) -> None:
    played = stub.submit(env={"REPRISE": "may\x1bbe"})
    assert played.log == [("user", "reprise: REPRISE=may?be is ignored: use on, off, observe, explain or profile")]
    assert daemon.question["mode"] == "on"


def test_explain_prints_one_line(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = {**APPLY, "reason": "like\n\x1b[2J\u009b2J\u00e9thers"}
    played = stub.submit(option="explain")
    line = "reprise: apply: like??[2J??2J\u00e9thers; score 0.93; set: OMPI_MCA_a=1 SRO_B=two words"
    assert played.log == [("user", line)]


def test_explain_says_that_nobody_answered(stub: Stub) -> None:
    ((level, line),) = stub.submit(option="explain").log
    assert level == "user"
    assert line.startswith(f"reprise: unreachable: unix:{stub.socket}: no daemon can be reached there")


def test_under_slurm_of_another_release_the_plugin_prints_one_line_and_does_nothing(
    stub: Stub, daemon: FakeDaemon
) -> None:
    played = stub.submit(before=["slurm 20.11.4"])
    ((level, line),) = played.log
    assert level == ("error" if os.getuid() == 0 else "verbose")
    assert re.fullmatch(r"reprise: built for Slurm \d\d\.\d\d\.x, but this is 20\.11\.4: run `make .*", line)
    assert (played.carried, daemon.asked) == (None, [])


def test_an_empty_mode_in_the_environment_is_ignored(stub: Stub, daemon: FakeDaemon) -> None:
    assert stub.submit(env={"REPRISE": ""}).log == []


def test_explain_says_of_a_score_without_a_record_only_the_score(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = decision("none", score=0.5, reason="a\x7f\u00a0b\u00c2")
    assert stub.submit(option="explain").log == [("user", "reprise: none: a?\u00a0b\u00c2; score 0.50")]


@pytest.mark.parametrize(
    ("converse", "env", "words"),
    [
        (say_nothing, {}, "the daemon did not answer in time"),
        (say(b"\xff" * 8), {}, "the daemon's answer is invalid (its log shows the cause)"),
        (None, {"FAIL_CALL": "socket", "FAIL_AT": "1", "FAIL_AFTER": "1"}, "the request could not be sent"),
    ],
    ids=["late", "broken", "failed"],
)
def test_explain_gives_the_reason_for_missing_settings(
    stub: Stub, daemon: FakeDaemon, converse: Any, env: dict[str, str], words: str
) -> None:
    daemon.converse = converse
    deadline = ["deadline_ms=50"] if converse is say_nothing else ["deadline_ms=1000"]
    ((_, line),) = stub.submit(option="explain", settings=deadline, env=env).log
    assert line == f"reprise: unreachable: unix:{stub.socket}: {words}; the job runs unchanged"


@pytest.mark.parametrize("name", ["asprintf", "open_memstream", "fclose"])
def test_without_memory_for_a_message_none_is_printed(stub: Stub, daemon: FakeDaemon, name: str) -> None:
    env = {
        "FAIL_CALL": name,
        "FAIL_AT": "1",
        "FAIL_AFTER": "1",
        "REPRISE": "bogus" if name == "asprintf" else "explain",
    }
    assert stub.submit(env=env).log == []
    assert daemon.question["mode"] == ("on" if name == "asprintf" else "explain")


def test_an_invalid_mode_is_shown_without_control_characters(stub: Stub, daemon: FakeDaemon) -> None:
    ((_, line),) = stub.submit(env={"REPRISE": "\udcc2a\x7f"}).log
    assert line.startswith("reprise: REPRISE=\udcc2a? is ignored")
