# SPDX-License-Identifier: Apache-2.0
"""Test that the plugin, in the stub of Slurm, neither leaks memory nor reads uninitialized memory, using valgrind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import valgrind
from tests.munged import Munged
from tests.spank.conftest import HERE, WRAPPED, Stub, build, sources
from tests.spank.daemon import FakeDaemon, decision
from tests.spank.tcp_daemon import TcpDaemon
from tests.spank.test_jobstep import BATCH_STEP, CARRIED, ITEM, NO_VAL

DWARF = "-gdwarf-4"  # the newest version that valgrind 3.19 reads
pytestmark = pytest.mark.slow
APPLY = decision("apply", {"SRO_A": "1", "OMPI_MCA_b": "2"}, score=0.5, record=1)


@dataclass
class CheckedStub(Stub):
    """A stub that runs under valgrind."""

    @property
    def log(self) -> Path:
        return self.directory / "valgrind.log"

    def command(self, argv: tuple[str, ...]) -> tuple[list[str], Path | None]:
        called = self.directory / argv[0]  # the plugin recognizes the submitting command by this name
        called.unlink(missing_ok=True)
        called.symlink_to(self.program)
        return valgrind.command(str(self.log), str(called), *argv[1:]), None


@pytest.fixture(scope="module")
def unsanitised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("valgrind") / "stub"
    clock = HERE / "slow_clock.c"
    return build(target, *sources(), clock, flags=[DWARF, *WRAPPED, "-Wl,--wrap=clock_gettime"])


@pytest.fixture
def stub(unsanitised: Path, tmp_path: Path) -> Iterator[CheckedStub]:
    (tmp_path / "job.sh").write_text("#!/bin/sh\nexec ./solve\n")
    checked = CheckedStub(unsanitised, tmp_path, tmp_path / "m.sock")
    yield checked
    found = valgrind.problems(checked.log.read_text())
    assert not found, "\n".join(map(str, found))


def test_errors_that_valgrind_finds_are_detected(tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text(
        "#include <stdlib.h>\nint main(void)\n{\n    char *volatile text = malloc(7);\n    text = malloc(8);\n"
        "    if (text[3]) {\n        text[0] = 1;\n    }\n    free(text);\n    return 0;\n}\n"
    )
    program = build(tmp_path / "wrong", tmp_path / "wrong.c", flags=["-w", "-O0", DWARF])
    log = tmp_path / "log"
    subprocess.run(valgrind.command(str(log), str(program)), capture_output=True, check=False)
    jump, leak = valgrind.problems(log.read_text())
    assert "uninitialised" in jump.title and jump.frames[0] == ("main", "wrong.c:6")
    assert "7 bytes" in leak.title and leak.callees_of({"wrong.c"}) == ("malloc",)


@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_a_submission_over_a_unix_socket_is_clean(stub: Stub, daemon: FakeDaemon, command: str) -> None:
    daemon.reply = APPLY
    played = stub.submit([command, "-D", ".", "job.sh"], option="explain", env={"SLURM_A": "1", "SRO_C": "3"})
    assert "apply: because" in played.log[-1][1]


def test_a_submission_over_tcp_with_munge_is_clean(stub: Stub) -> None:
    with Munged() as munged, TcpDaemon(munged, APPLY).listening() as tcp:
        settings = [f"kill_switch={stub.directory / 'disabled'}", "deadline_ms=1000", *tcp.settings]
        lines = ["context allocator", *(f"plugstack {argument}" for argument in settings), "call init"]
        played = stub.play(*lines, "option explain", "call init_post_opt")
        assert "apply: because" in played.log[-1][1]


@pytest.mark.parametrize("endpoint", ["unix:/nowhere/m.sock", "tcp:127.0.0.1:1"])
def test_a_submission_without_a_daemon_is_clean(stub: Stub, endpoint: str) -> None:
    lines = ["context allocator", f"plugstack endpoint={endpoint}", "plugstack wrong=1", "plugstack deadline_ms=1000"]
    played = stub.play(*lines, "call init", "option explain", "call init_post_opt")
    assert any("unreachable: " in line for _, line in played.log)


def test_a_submission_that_gets_nonsense_is_clean(stub: Stub, daemon: FakeDaemon) -> None:
    daemon.reply = {**APPLY, "env": {"SRO_A": "1", "LD_PRELOAD": "x"}}
    played = stub.submit(option="explain", env={"REPRISE": "maybe"})
    assert "answer is invalid" in played.log[-1][1]


@pytest.mark.parametrize("carried", [json.dumps(CARRIED), "nonsense"])
def test_a_jobs_start_and_end_are_clean(stub: Stub, daemon: FakeDaemon, carried: str) -> None:
    daemon.at_start = APPLY
    items = {"uid": os.geteuid(), "job": 1, "step": BATCH_STEP, "array_task": NO_VAL, "exit_status": 0}
    played = stub.play(
        "context remote",
        *stub.settings(),
        *(f"item {ITEM[name]} {value}" for name, value in items.items()),
        f"script {stub.directory / 'job.sh'}",
        f"job SLURM_SPANK_REPRISE={carried}",
        *(f"call {hook}" for hook in ("init", "user_init", "task_exit")),
        argv=["slurmstepd"],
    )
    assert "REPRISE_DECISION" in played.job
    assert len(daemon.of_kind("outcome")) == 2
