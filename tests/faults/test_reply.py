# SPDX-License-Identifier: Apache-2.0
"""Test that replies that our daemon never sends are rejected as a whole, at submission and at the job's start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.life import Job, assert_unharmed
from tests.spank.daemon import OK, FakeDaemon, decision, frame, say

GOOD = {"SRO_GOOD": "1"}


def apply(env: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps(decision("apply", {**GOOD, **env}, **fields)).encode()


LARGE_PAIRS = ",".join(f'"SRO_{i}":"1"' for i in range(10_000))
FITTING_PAIRS = ",".join(f'"SRO_{i}":""' for i in range(4_000))  # these fit into a frame of 64 KiB
PLAIN = apply({})
HOSTILE: dict[str, bytes] = {
    "name-ld-preload": apply({"LD_PRELOAD": "/tmp/x.so"}),
    "name-ld-audit": apply({"LD_AUDIT": "/tmp/x.so"}),
    "name-path": apply({"PATH": "/tmp"}),
    "name-bash-env": apply({"BASH_ENV": "/tmp/x"}),
    "name-of-slurm": apply({"SLURM_JOB_ID": "1"}),
    "name-with-an-equals-sign": apply({"SRO_A=B": "1"}),
    "name-with-a-newline": apply({"SRO_A\nLD_PRELOAD": "1"}),
    "name-with-a-nul": apply({"SRO_A\0": "1"}),
    "name-empty": apply({"": "1"}),
    "name-of-1-mib": b'{"v":1,"env":{"SRO_' + b"a" * (1 << 20) + b'":"1"}}',
    "value-with-a-newline": apply({"SRO_A": "1\nLD_PRELOAD=/tmp/x.so"}),
    "value-with-a-nul": apply({"SRO_A": "1\0LD_PRELOAD=/tmp/x.so"}),
    "value-of-1-mib": apply({"SRO_A": "a" * (1 << 20)}),
    "value-that-is-an-object": apply({"SRO_A": {}}),
    "10000-pairs": PLAIN.replace(b'"SRO_GOOD": "1"', LARGE_PAIRS.encode()),
    "4000-pairs-in-a-frame": PLAIN.replace(b'"SRO_GOOD": "1"', FITTING_PAIRS.encode()),
    "deep-nesting": PLAIN[:-1] + b',"x":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "deep-nesting-of-objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "ld-preload-behind-a-good-key-given-twice": PLAIN.replace(b'"SRO_GOOD": "1"', b'"LD_PRELOAD":"x","LD_PRELOAD":"y"'),
    "env-given-twice": PLAIN[:-1] + b',"env":{"LD_PRELOAD":"x"}}',
    "verdict-given-twice": PLAIN[:-1] + b',"verdict":"unreachable"}',
    "another-version": apply({}, v=2),
    "another-kind": apply({}, kind="ok"),
    "an-error": json.dumps({"v": 1, "kind": "error", "error": "x"}).encode(),
    "variables-without-apply": json.dumps(decision("none", GOOD)).encode(),
    "the-plugins-own-verdict": json.dumps(decision("unreachable")).encode(),
    "id-with-a-path": apply({}, id="../../etc/passwd"),
    "id-of-1-kib": apply({}, id="a" * 1024),
    "reason-of-60-kib": apply({}, reason="a" * 60_000),
    "score-not-finite": PLAIN.replace(b'"score": null', b'"score": 1e999'),
    "truncated": PLAIN[:-20],
    "two-replies": PLAIN + PLAIN,
    "not-utf-8": PLAIN.replace(b"because", b"\xff\xfe"),
    "utf-16": PLAIN.decode().encode("utf-16"),
    "a-surrogate": PLAIN.replace(b'"1"', b'"\xed\xa0\x80"'),
    "a-raw-nul": PLAIN + b"\0",
    "only-nuls": bytes(1000),
    "nothing-but-white-space": b" " * 60_000,
    "a-number": b"1" * 60_000,
    "python": b"{'v': 1}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reply_with(job: Job, name: str) -> None:
    job.deadline_ms = 1000  # so that no reply is late
    with FakeDaemon(job.stub.socket, converse=say(frame(HOSTILE[name]))).listening() as daemon:
        life = assert_unharmed(job)
        assert daemon.of_kind("decide", "submit") and daemon.of_kind("decide", "start")
    assert life.carried is None


def test_a_reply_without_fault_is_believed(job: Job) -> None:
    """The other tests prove something only if the job gets the settings of a reply without fault."""
    with FakeDaemon(job.stub.socket, converse=say(frame(PLAIN))).listening():
        life = job.live()
    assert life.environment.items() >= GOOD.items()


def test_an_answer_to_another_kind_of_question(job: Job) -> None:
    with FakeDaemon(job.stub.socket, converse=say(frame(json.dumps(OK).encode()))).listening():
        assert_unharmed(job)


def test_two_answers_to_one_question(job: Job) -> None:
    """Only the first reply counts. The second reply is dropped, and is not used for a later request."""
    first, second = (frame(apply({"SRO_A": value})) for value in "12")
    with FakeDaemon(job.stub.socket, converse=say(first + second)).listening():
        assert job.live().environment == job.live(plugin=False).environment | GOOD | {
            "SRO_A": "1",
            "REPRISE_DECISION": "d-1",
        }
