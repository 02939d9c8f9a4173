# SPDX-License-Identifier: Apache-2.0
"""Has the games played, in two environments and several processes at a time, and remembers what came of them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from bench.emulated import path_of
from bench.tuner_games import ARENAS

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "build/bench-tuner"
LOCK = ROOT / "bench/tuner-peers.lock"
RULES = ("bench/tuner_games.py", "tuner/landscape.py", "tuner/space.py", "tuner/emulators/interference.py")
OWN = ("bench/tuner_ours.py", "tuner/search", "tuner/noise", "requirements.lock")
SLOWEST = ("smac3", "skopt-gp", "gp-ei")  # begun first, so that none of them is alone at the end


@dataclass(frozen=True)
class Task:
    """One method (`kind:name`) at one game on one landscape or arena, with the seeds from 0."""

    method: str
    game: str
    where: str
    seeds: int

    @property
    def name(self) -> str:
        return self.method.split(":")[1]

    @property
    def landscape(self) -> Path:
        return path_of(ARENAS[self.where].landscape if self.game == "noise" else self.where)


def play_all(tasks: Sequence[Task], processes: int, fresh: bool) -> Mapping[Task, Sequence[float]]:
    """The results of every task, a value per seed."""
    digests = {method: _digest(_sources(method)) for method in {task.method for task in tasks}}
    known: dict[Task, Sequence[float]] = {}
    for task in tasks:
        path = _remembered(task, digests[task.method])
        if path.exists() and not fresh:
            known[task] = json.loads(path.read_text())
    waiting = [task for task in tasks if task not in known]
    _say(f"{len(waiting)} of {len(tasks)} games to play")
    by_method: dict[str, list[Task]] = {}
    for task in waiting:
        by_method.setdefault(task.method, []).append(task)
    shares = [mine[part::processes] for mine in by_method.values() for part in range(processes)]
    shares.sort(key=lambda mine: not (mine and (mine[0].name in SLOWEST or mine[0].method.startswith("policy"))))

    def play(mine: Sequence[Task]) -> None:
        for task, values in zip(mine, _answers(mine), strict=True):
            path = _remembered(task, digests[task.method])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
            known[task] = values
            _say(f"{len(known)}/{len(tasks)} {task.name}, {task.game}, {task.where}: {sum(values) / len(values):.1f}")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(play, [mine for mine in shares if mine]))
    return {task: known[task] for task in tasks}


def _answers(tasks: Sequence[Task]) -> Iterable[list[float]]:
    """The answers of a process of its own to tasks of one method, as they come."""
    method = tasks[0].method
    python = str(PEERS / "bin/python") if method.startswith("peer:") else sys.executable
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with TemporaryFile("w+") as lines, TemporaryFile("w+") as errors:
        lines.writelines(json.dumps([task.game, task.where, 0, task.seeds]) + "\n" for task in tasks)
        lines.seek(0)
        command = [python, "-m", "bench.tuner_worker", method]
        environment = {**os.environ, **single, "PYTHONHASHSEED": "0"}
        with subprocess.Popen(
            command, stdin=lines, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=environment
        ) as worker:
            for line in worker.stdout or ():
                yield json.loads(line)
        if worker.returncode:
            errors.seek(0)
            raise RuntimeError(f"{method} did not play to the end: {errors.read()[-2000:]}")


def _sources(method: str) -> Iterable[Path]:
    if method.startswith("peer:"):
        return [ROOT / name for name in (*RULES, "bench/tuner_peers.py", "bench/tuner-peers.lock")]
    return [ROOT / name for name in (*RULES, *OWN)]


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _remembered(task: Task, digest: str) -> Path:
    text = f"{digest} {task} {hashlib.sha256(task.landscape.read_bytes()).hexdigest()}"
    return PEERS / "results" / f"{task.name}-{task.where}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
