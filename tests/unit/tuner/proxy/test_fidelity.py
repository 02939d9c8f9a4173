# SPDX-License-Identifier: Apache-2.0
"""Test the comparison of runs of an application and its proxy, with recorded files instead of runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.fidelity import PROXY_TIME_MIN_S, Fidelity, fidelity
from tests.places import ROOT

RECORDED = ROOT / "tests/unit/data/monitoring/four_ranks"


class Launched:
    """A fake launcher that copies recorded files of Open MPI's monitoring to the place where a run would write them."""

    def __init__(self, status: dict[str, int] | None = None) -> None:
        self.status = status or {}
        self.commands: list[Sequence[str]] = []
        self.timeouts_s: list[float] = []

    def __call__(self, words: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        self.commands.append(words)
        self.timeouts_s.append(timeout_s)
        status = self.status.get(words[-1], 0)
        if status < 0:
            raise subprocess.TimeoutExpired(words, timeout_s)
        prefix = Path(words[words.index("pml_monitoring_filename") + 1])
        for rank in range(int(words[words.index("-np") + 1])):
            shutil.copy(f"{RECORDED}.{rank}.prof", f"{prefix}.{rank}.prof")
        if words[-1] == "other":
            text = prefix.with_name(f"{prefix.name}.0.prof")
            text.write_text(text.read_text().replace("E\t0\t1\t800", "E\t0\t1\t804"))
        return subprocess.CompletedProcess(words, status, "", "first\nlast words\n")


def only(*args: Sequence[str], launched: Launched) -> Fidelity:
    (found,) = fidelity(args[0], args[1], [4], mpirun=["mpirun", "--oversubscribe"], timeout_s=300, launch=launched)
    return found


def test_two_programs_with_the_same_matrices_are_identical() -> None:
    launched = Launched()
    found = only(["app", "--size", "5"], ["skeleton"], launched=launched)
    assert found.identical
    assert found.ranks == 4
    command = launched.commands[0]
    assert command[:4] == ["mpirun", "--oversubscribe", "-np", "4"]
    assert command[-3:] == ["app", "--size", "5"]
    assert launched.timeouts_s == [300, PROXY_TIME_MIN_S]


def test_a_proxy_that_sends_other_bytes_is_reported() -> None:
    found = only(["app"], ["other"], launched=Launched())
    assert not found.identical
    assert found.differences == (
        "point-to-point messages, rank 0 to 1: 1 messages, 800 bytes in the application, "
        "1 messages, 804 bytes in the proxy",
    )


def test_a_proxy_that_hangs_or_fails_is_a_difference() -> None:
    hung = only(["app"], ["proxy"], launched=Launched({"proxy": -1}))
    assert hung.differences[0].startswith("the proxy did not end within 60 s; the application took ")
    failed = only(["app"], ["proxy"], launched=Launched({"proxy": 139}))
    assert failed.differences == ("proxy: ended with status 139 on 4 ranks: last words",)


def test_an_application_that_fails_is_an_error() -> None:
    with pytest.raises(ProxyError, match="app: ended with status 1 on 4 ranks: last words"):
        only(["app"], ["proxy"], launched=Launched({"app": 1}))
    with pytest.raises(ProxyError, match="app: did not end within 300 s on 4 ranks"):
        only(["app"], ["proxy"], launched=Launched({"app": -1}))


def test_each_number_of_ranks_is_run() -> None:
    found = list(fidelity(["app"], ["proxy"], [2, 4], launch=Launched()))
    assert [one.ranks for one in found] == [2, 4]


def test_saved_time_is_a_share_of_the_applications() -> None:
    assert Fidelity(4, (), application_s=10, proxy_s=2).saved == pytest.approx(0.8)
