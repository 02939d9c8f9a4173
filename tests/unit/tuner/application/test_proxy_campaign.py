# SPDX-License-Identifier: Apache-2.0
"""Test proxies that are made from a trace instead of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.config import Config
from reprise.tuner.application import planned, proxy_campaign
from reprise.tuner.errors import ProxyError
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.proxy import mix_file
from tests.unit.tuner.proxy.otf2_archives import Call, call, collective, write


def made(directory: Path, *calls: Call, said: list[str]) -> Path:
    """Return the script of a proxy made from a trace of two ranks with these calls. No witness is installed."""
    script = directory / "app.sh"
    script.write_text(f"#!/bin/bash\ntouch {directory}/ran\nmpirun -np 2 ./app\n")
    asked = planned.Asked(script, "alice", directory, (), {}, trace=write(directory, calls, calls))
    return proxy_campaign.make(asked, Config(), LocalExecutor(), directory / "proxy", 60.0, said.append)


def test_a_trace_makes_a_proxy_without_a_run(tmp_path: Path) -> None:
    said: list[str] = []
    script = made(tmp_path, collective("alltoallv", 0, -1, 16, 16), said=said)
    assert script.read_text().splitlines()[-1].startswith("mpirun -np 2 ") and not (tmp_path / "ran").exists()
    assert mix_file.read(script.with_name("application.mix")).source == "otf2"
    assert len(said) == 1 and "distributed evenly" in said[0]


def test_a_trace_with_calls_that_no_replay_makes_gives_no_proxy(tmp_path: Path) -> None:
    with pytest.raises(ProxyError, match="it calls put, which a replay does not support"):
        made(tmp_path, call("MPI_Put"), collective("barrier", 0, -1, 0, 0), said=[])
