# SPDX-License-Identifier: Apache-2.0
"""Fixtures that build and run programs made of the plugin's sources, most with sanitizers or a stub of Slurm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.once import built_once, made_once
from tests.spank.daemon import FakeDaemon

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
FAILING_CALLS = (
    *("malloc", "calloc", "strdup", "asprintf", "getcwd", "open_memstream", "fclose", "setenv", "access", "stat"),
    *("lstat", "mkdir", "fstat", "open", "read", "pread", "setresuid", "setresgid"),
    *("fcntl", "socket", "socketpair", "connect", "poll", "ppoll", "sendmsg", "recv", "fork", "waitpid", "getrandom"),
    *("_exit", "getaddrinfo", "getuid"),
)  # library calls that failing.c can make fail
PURE = (
    *(
        "allowlist",
        "base64",
        "bounded_file",
        "decision",
        "envelope",
        "executable",
        "identity",
        "json",
        "jwt",
        "message",
        "names",
    ),
    *("own_runtime", "preload", "sbatch_options", "sketch"),
)  # the plugin's sources that contain only pure functions; `probe` calls these functions
# Calls of dlopen and dlsym are renamed in the plugin's sources, because --wrap would also affect the sanitizers' calls.
RENAMED = ["-Ddlopen=failing_dlopen", "-Ddlsym=failing_dlsym"]
WRAPPED = [*RENAMED, *(f"-Wl,--wrap={name}" for name in FAILING_CALLS)]
OUT_OF_MEMORY = ["-DFAIL_ALLOCATIONS", "-Wl,--wrap=json_tokener_parse_ex"]
COMPILER = os.environ.get("SPANK_CC", "cc")
COVERAGE = "REPRISE_COUNT_BRANCHES" in os.environ  # set by coverage.py
SANITIZE = (
    ["--coverage", "-O0", "-DCOUNT_BRANCHES", "-Wl,--wrap=_exit"]
    if COVERAGE
    else ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
)
# Options to link the sanitizers statically, as clang does by default. The tests start a thousand programs, which start
# in two thirds of the time if linked statically.
RUNTIME_WITHIN = [] if COVERAGE or "clang" in COMPILER else ["-static-libasan", "-static-libubsan"]
FLAGS = ["-std=c11", "-g", "-O0", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror"]
VERSION = '-DREPRISE_VERSION="test"'


def build(target: Path, *sources: Path, flags: Sequence[str] = ()) -> Path:
    words = [COMPILER, *FLAGS, VERSION, *flags, *map(str, sources), "-o", str(target), "-ljson-c", "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the programs that tests run. They are built once for all pytest processes and kept.

    `stub` is the plugin in a stub of Slurm; library calls in it can be made to fail. `stub_oom` is the same program
    without sanitizers; any allocation in it can be made to fail. `probe` calls pure functions of the plugin.
    `reprise-ask` is the program for sites without the plugin. `getopt_table.so` is preloaded into sbatch.
    """
    if COVERAGE:  # gcov writes its counts next to the programs, so each run builds its own
        return made_once(tmp_path_factory, "spank-programs", build_all)
    files = [*HERE.glob("*.[ch]"), *SPANK.glob("*.[ch]"), *(SPANK / "fallbacks").glob("*.[ch]"), Path(__file__)]
    return built_once("spank-programs", COMPILER, files, build_all)


def sources() -> list[Path]:
    """Return the sources of `stub`, that is, of the plugin and a stub of Slurm."""
    return [*(HERE / f"{name}.c" for name in ("player", "stub_slurm", "failing")), *sorted(SPANK.glob("*.c"))]


def without_slurm() -> list[Path]:
    """Return those of the plugin's sources that do not need Slurm."""
    of_slurm = [SPANK / f"{name}.c" for name in ("jobstep", "loading", "options", "plugin", "profile", "submit")]
    return [path for path in sorted(SPANK.glob("*.c")) if path not in of_slurm]


def fallback() -> list[Path]:
    """Return the sources of `reprise-ask`, the program for sites without the plugin, and those that make calls fail."""
    return [
        *without_slurm(),
        *sorted((SPANK / "fallbacks").glob("*.c")),
        *(HERE / f"{name}.c" for name in ("armed", "failing")),
    ]


def build_all(directory: Path) -> None:
    """Build all programs; if several programs use the same source with the same flags, compile the source only once."""
    stub = sources()
    pure = [SPANK / f"{name}.c" for name in PURE]
    shared: list[tuple[str, list[Path], list[str]]] = [
        ("stub", stub, [*SANITIZE, *RUNTIME_WITHIN, *WRAPPED]),
        ("probe", [HERE / "probe.c", *pure], [*SANITIZE, *RUNTIME_WITHIN]),
        ("reprise-ask", fallback(), [*SANITIZE, *RUNTIME_WITHIN, *WRAPPED]),
    ]
    own: list[tuple[str, list[Path], list[str]]] = [
        ("stub_oom", stub, OUT_OF_MEMORY + (SANITIZE if COVERAGE else [])),
        ("getopt_table.so", [HERE.parents[1] / "tools/getopt_table.c"], ["-shared", "-fPIC"]),
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:

        def build_each(programs: list[tuple[str, list[Path], list[str]]]) -> None:
            list(pool.map(lambda program: build(directory / program[0], *program[1], flags=program[2]), programs))

        if COVERAGE:  # each program needs its own object files, because gcov counts per object file
            build_each([*shared, *own])
            return
        objects = {source: directory / f"{source.stem}.o" for _, files, _ in shared for source in files}
        assert len(set(objects.values())) == len(objects), "two sources would have the same object file"
        compiled = [
            pool.submit(build, target, source, flags=["-c", *SANITIZE, *RENAMED]) for source, target in objects.items()
        ]
        build_each(own)
        for one in compiled:
            one.result()
        build_each([(name, [objects[source] for source in files], flags) for name, files, flags in shared])


@dataclass(frozen=True)
class Probe:
    """The plugin's pure functions.

    `ask("reply", [b"..."])` returns a list with one element per input: the answer, or None if the function refuses the
    input.
    """

    program: Path

    def ask(self, what: str, questions: Sequence[bytes]) -> list[Any]:
        lines = "".join(f"{what} {question.hex()}\n" for question in questions)
        done = subprocess.run([self.program], input=lines, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return [None if line == "-" else json.loads(line) for line in done.stdout.split("\n")[:-1]]


@pytest.fixture(scope="session")
def probe(binaries: Path) -> Probe:
    return Probe(binaries / "probe")


@dataclass
class Played:
    """The results of playing a script (see player.c).

    `calls` are calls of hooks: (name, return code, milliseconds). `log` lines are (level, text).
    """

    calls: list[tuple[str, int, int]] = field(default_factory=list)
    log: list[tuple[str, str]] = field(default_factory=list)
    option: int | None = None
    control: dict[str, str] = field(default_factory=dict)
    job: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    failing: int = 0

    @property
    def carried(self) -> dict[str, Any] | None:
        """Return the decision that sbatch or salloc passes to the job, or None if there is none."""
        return json.loads(self.control["REPRISE"]) if "REPRISE" in self.control else None

    def read(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "call":
            name, code, elapsed, errno = rest.split()
            assert errno == "errno-preserved", line
            self.calls.append((name, int(code), int(elapsed)))
        elif kind == "log":
            level, _, text = rest.partition(" ")
            self.log.append((level, text))
        elif kind == "option":
            self.option = int(rest)
        elif kind == "failing":
            self.failing = int(rest)
        elif kind == "descriptors":
            assert rest == "as-before", "descriptors were left open"
        elif kind in ("control", "job", "own"):
            name, _, value = rest.partition("=")
            getattr(self, kind)[name] = value


@dataclass
class Stub:
    """Plays scripts (see player.c) in a process with the arguments `argv`, run through a `prefix` such as prlimit."""

    program: Path
    directory: Path
    socket: Path
    prefix: tuple[str, ...] = ()
    says: str = "Submitted batch job 1\n"

    def named(self, command: str) -> Path:
        """Return a symbolic link to the program. The link's name is `command`."""
        link = self.directory / f"{self.program.name}-as" / command
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(self.program)
        return link

    def play(
        self, *lines: str, argv: Sequence[str] = ("sbatch", "job.sh"), env: Mapping[str, str] | None = None
    ) -> Played:
        script = self.directory / "stub.script"
        script.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="surrogateescape")
        command, executable = self.command(tuple(argv))
        done = subprocess.run(
            command,
            executable=executable,
            cwd=self.directory,
            env={"PATH": os.defpath, "STUB_SCRIPT": str(script), **(env or {})},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (done.stdout, done.stderr) == (self.says, "")
        played = Played()
        for line in Path(f"{script}.report").read_bytes().decode(errors="surrogateescape").split("\n")[:-1]:
            played.read(line)
        assert all(code == 0 for _, code, _ in played.calls)
        return played

    def command(self, argv: tuple[str, ...]) -> tuple[list[str], Path | None]:
        """Return the argument list, and the path of the executable (None: the first argument is the executable)."""
        if self.prefix:
            return [*self.prefix, str(self.named(argv[0])), *argv[1:]], None
        return list(argv), self.program

    def settings(self, *arguments: str) -> list[str]:
        """Return the script's lines for the plugin's arguments: paths below the test's directory, and `arguments`."""
        own = (f"endpoint=unix:{self.socket}", f"kill_switch={self.directory / 'disabled'}", "deadline_ms=1000")
        return [f"plugstack {argument}" for argument in (*own, *arguments)]

    def submit(
        self,
        argv: Sequence[str] = ("sbatch", "job.sh"),
        *,
        env: Mapping[str, str] | None = None,
        option: str = "",
        settings: Sequence[str] = (),
        before: Sequence[str] = (),
    ) -> Played:
        """Run the plugin's hooks for a submission with this command line and environment, and return the results."""
        context = "local" if argv[0] == "srun" else "allocator"
        chosen = [f"option {option}"] if option else []
        lines = [f"context {context}", *self.settings(*settings), *before, "call init", *chosen, "call init_post_opt"]
        return self.play(*lines, argv=argv, env=env)


@pytest.fixture
def stub(binaries: Path, tmp_path: Path) -> Stub:
    return Stub(binaries / "stub", tmp_path, tmp_path / "m.sock")


@pytest.fixture
def daemon(stub: Stub) -> Any:
    with FakeDaemon(stub.socket).listening() as listening:
        yield listening
        assert listening.refused == []
