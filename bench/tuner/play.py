# SPDX-License-Identifier: Apache-2.0
"""Play the games in several processes (peers play in their own Python environment), and store the results."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any

from bench.emulated import path_of
from bench.tuner.games import ARENAS
from bench.tuner.peers import PEERS, Peer

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build/bench-tuner"  # the peers' Python environment
LOCK = ROOT / "bench/tuner/peers.lock"
STORED = ROOT / "bench/tuner/peers.json"
PACKAGE = ROOT / "build/package"  # where tools/package-links makes the product importable for the peers' environment
RULES = ("bench/tuner/games.py", "bench/emulators/interference.py")
OURS, SEARCH, NOISE = ROOT / "bench/tuner/own_methods.py", ROOT / "tuner/search", ROOT / "tuner/noise"
SLOWEST = ("smac3", "skopt-gp", "gp-ei")  # methods that are started first, so that no slow method runs alone at the end


@dataclass(frozen=True)
class Task:
    """A method (`kind:name`) that plays a game on a landscape or (with noise) an arena, with seeds 0 to `seeds` - 1."""

    method: str
    game: str
    where: str
    seeds: int

    @property
    def name(self) -> str:
        """The name of the method, without its kind."""
        return self.method.split(":")[1]

    @property
    def landscape(self) -> Path:
        """The file of the landscape."""
        return path_of(ARENAS[self.where].landscape if self.game == "noise" else self.where)


def play_all(tasks: Sequence[Task], processes: int, fresh: bool, store: bool) -> Mapping[Task, Sequence[float]]:
    """Play the tasks whose results are unknown; return all results, one value per seed.

    If `store`, store the peers' results.
    """
    memory = Memory.of(tasks)
    recalled = {} if fresh else {task: memory.recall(task) for task in tasks}
    known: dict[Task, Sequence[float]] = {task: values for task, values in recalled.items() if values is not None}
    waiting = [task for task in tasks if task not in known]
    _say(f"{len(waiting)} of {len(tasks)} games to play")
    by_method: dict[str, list[Task]] = {}
    for task in waiting:
        by_method.setdefault(task.method, []).append(task)
    shares = [mine[part::processes] for mine in by_method.values() for part in range(processes)]
    shares.sort(key=lambda mine: not (mine and (mine[0].name in SLOWEST or mine[0].method.startswith("policy"))))

    writing = Lock()

    def play(mine: Sequence[Task]) -> None:
        for task, values in zip(mine, _answers(mine), strict=True):
            memory.keep(task, values)
            with writing:
                known[task] = values
                if store:  # immediately, because a game takes minutes and an interruption must not lose its result
                    memory.store(known)
            _say(f"{len(known)}/{len(tasks)} {task.name}, {task.game}, {task.where}: {sum(values) / len(values):.1f}")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(play, [mine for mine in shares if mine]))
    if store:  # also stores results that were already known
        memory.store(known)
    return {task: known[task] for task in tasks}


def _answers(tasks: Sequence[Task]) -> Iterable[list[float]]:
    """Run a worker process for tasks of one method, and yield the results of each task as they arrive."""
    method = tasks[0].method
    python = str(ENVIRONMENT / "bin/python") if method.startswith("peer:") else sys.executable
    with TemporaryFile("w+") as lines, TemporaryFile("w+") as errors:
        lines.writelines(json.dumps([task.game, task.where, 0, task.seeds]) + "\n" for task in tasks)
        lines.seek(0)
        command = [python, "-m", "bench.tuner.worker", method]
        with subprocess.Popen(
            command, stdin=lines, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=PACKAGE, env=environment()
        ) as worker:
            for line in worker.stdout or ():
                yield json.loads(line)
        if worker.returncode:
            errors.seek(0)
            raise RuntimeError(f"{method} did not finish its games: {errors.read()[-2000:]}")


def environment() -> dict[str, str]:
    """Return the environment variables of a worker, which runs in the directory PACKAGE.

    The worker imports the product from PACKAGE and the benchmarks from ROOT, because neither is installed. Linear
    algebra uses one thread, because several workers run at the same time.
    """
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **single, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}


def digest_of(method: str) -> str:
    """Return a digest of the code that determines a method's games; for a peer: driver, rules and lock file."""
    kind, name = method.split(":")
    digest = hashlib.sha256()
    if kind == "peer":
        for of in (Peer, PEERS[name]):
            digest.update(inspect.getsource(of).encode())
    sources = {"peer": [LOCK], "search": [OURS, SEARCH], "policy": [OURS, SEARCH, NOISE]}[kind]
    for source in (*(ROOT / rule for rule in RULES), *sources):
        for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            digest.update(versions(path).encode() if path == LOCK else path.read_bytes())
    return digest.hexdigest()


def versions(lock: Path) -> str:
    """Return the pinned versions in a lock file, one per line, without hashes, which change if an index adds wheels."""
    return "\n".join(re.findall(r"^[\w.-]+==[^\s;\\]+", lock.read_text(), re.MULTILINE))


@dataclass(frozen=True)
class Memory:
    """Known results of games, kept on this machine or, for peers, stored in the repository (STORED)."""

    digests: Mapping[str, str]
    stored: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Memory:
        """Return the memory with the digests of these tasks' methods and the results stored in the repository."""
        stored = json.loads(STORED.read_text()) if STORED.exists() else {}
        return cls({method: digest_of(method) for method in {task.method for task in tasks}}, stored)

    def key(self, task: Task) -> str:
        """Return the task's key, a digest of everything that could change its results."""
        text = f"{self.digests[task.method]} {task} {hashlib.sha256(task.landscape.read_bytes()).hexdigest()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def recall(self, task: Task) -> Sequence[float] | None:
        """Return the known results of a task, or None if no results with the task's current key are known."""
        path = self._path(task)
        if path.exists():
            return list(json.loads(path.read_text()))
        known = self.stored.get(f"{task.name} {task.game} {task.where}", {})
        return known["results"] if known.get("key") == self.key(task) else None

    def keep(self, task: Task, values: Sequence[float]) -> None:
        """Store the results of a task on this machine."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def store(self, results: Mapping[Task, Sequence[float]]) -> None:
        """Write the peers' results to STORED, one line per game. Results of other games in the file remain."""
        new = {
            f"{task.name} {task.game} {task.where}": {"key": self.key(task), "results": list(values)}
            for task, values in results.items()
            if task.method.startswith("peer:")
        }
        lines = [f"{json.dumps(name)}: {json.dumps(game)}" for name, game in sorted({**self.stored, **new}.items())]
        STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def _path(self, task: Task) -> Path:
        return ENVIRONMENT / "results" / f"{task.name}-{task.game}-{task.where}-{self.key(task)}.json"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
