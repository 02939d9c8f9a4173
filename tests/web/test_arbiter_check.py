# SPDX-License-Identifier: Apache-2.0
"""Test that pages do not wait for a file system that hangs when they check whether the arbiter runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from reprise.web import arbiter_check
from reprise.web.arbiter_check import ArbiterCheck


def test_a_hanging_check_is_given_up_and_not_repeated_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arbiter_check, "PATIENCE_S", 0.01)
    hangs, begun = threading.Event(), []

    def check(path: Path) -> bool:
        begun.append(path)
        hangs.wait()
        return True

    arbiter = ArbiterCheck(tmp_path, check)
    assert [arbiter.runs() for _ in range(3)] == [None, None, None]
    assert begun == [tmp_path]
    hangs.set()
    monkeypatch.setattr(arbiter_check, "PATIENCE_S", 30.0)
    assert arbiter.runs() is True


def test_each_request_checks_again(tmp_path: Path) -> None:
    answers = iter([False, True, None])
    arbiter = ArbiterCheck(tmp_path, lambda _: next(answers))
    assert [arbiter.runs() for _ in range(3)] == [False, True, None]
