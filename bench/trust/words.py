# SPDX-License-Identifier: Apache-2.0
"""Measure whether a user's requests can recover a secret word of another user's record.

The attacker has every advantage: only one word of the record is unknown, and the attacker knows the rest of the record,
the model and the matcher's code. If replies contain scores, the attacker uses these. If a reply has only the verdict,
the attacker varies the rest of the job so that the verdict changes at a certain similarity between the guess and the
secret word. With several such thresholds, the attacker improves the guess letter by letter.
"""

from __future__ import annotations

import itertools
import random
import string
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from bench.trust.users import ALICE, MALLORY, Speaker, serving, speakers
from reprise.config import load as load_config
from reprise.matcher.linkage import load
from reprise.matcher.linkage.engine import Engine
from reprise.matcher.linkage.linkage_result import LinkableRecord
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.metadata import JobMetadata
from tests.unit.matcher_daemon import record, request

WORDS = 50
QUESTIONS = 1_000
LETTERS = string.ascii_lowercase
LENGTHS = (5, 6, 7, 8, 9)
KINDS = ("job name", "program", "option")
MODELS = ("site", "thesis")


@dataclass(frozen=True)
class Job:
    """A batch script with one word, of the kind `kind` (job name, program or option), that the attacker does not know.

    The other fields make the job less similar to the record, with a longer or shorter path of the program, more words,
    another number of nodes, and lines without effect.
    """

    kind: str
    deeper: int = 0
    shorter: int = 0
    extra: int = 0
    nodes: int = 4
    noise: int = 0

    def script(self, word: str) -> str:
        """Return the text of the script that contains this word."""
        name, program, value = (word if self.kind == kind else usual for kind, usual in USUAL.items())
        options = " ".join(f"--o{number} v{number}" for number in range(self.extra))
        directory = "/".join(["", *PATH[self.shorter :], *(f"x{number}" for number in range(self.deeper))])
        noise = "".join(f"test -d /scratch/{number} || echo missing-{number}\n" for number in range(self.noise))
        return (
            f"#!/bin/bash\n#SBATCH --job-name={name}\n#SBATCH --nodes={self.nodes}\n#SBATCH --ntasks-per-node=1\n"
            f"{noise}mpirun {directory}/{program} --input {value} --steps 200 {options}\n"
        )

    def metadata(self, user: int, word: str, at: float) -> JobMetadata:
        """Return the metadata that the matcher gets from the script with this word."""
        submission = Submission.for_script("/home/alice/job.sh", self.script(word), cwd="/home/alice")
        return parse(submission, user=str(user), submit_time=at)


PATH = ("home", "alice", "bin")
VARIANTS = (range(7), range(4), (0, 1, 2, 4, 8, 20, 60), (4, 3, 2, 1, 8), (0, 8))
USUAL = {"job name": "production", "program": "solver", "option": "lattice.in"}


def measure(scratch: Path, words: int = WORDS, questions: int = QUESTIONS) -> dict[str, float]:
    """Attack words with `questions` requests each; count a word as recovered if at most one letter is wrong."""
    rng = random.Random(25)  # noqa: S311 - not used for security
    recovered = 0
    for model in MODELS:
        for kind in KINDS:
            count = words // (len(MODELS) * len(KINDS)) + 1
            hidden = ["".join(rng.choices(LETTERS, k=rng.choice(LENGTHS))) for _ in range(count)]
            recovered += sum(
                _recovered(scratch / f"{model}-{kind.replace(' ', '-')}-{number}", model, kind, word, rng, questions)
                for number, word in enumerate(hidden)
            )
    return {"words_recovered": recovered, "words_tried": len(MODELS) * len(KINDS) * count}


def _recovered(directory: Path, model: str, kind: str, word: str, rng: random.Random, questions: int) -> bool:
    known = record(metadata=Job(kind).metadata(ALICE, word, 1.7e9).to_json(), context={"cluster": "test"})
    with (
        serving(directory, f'model = "{model}"', "max_connections = 64", records=[known]) as daemon,
        speakers(daemon, MALLORY) as (mallory,),
    ):
        zone = load_config(daemon.config).site.timezone
        thresholds = _thresholds(model, kind, len(word), zone)
        found = _Attack(mallory, rng, questions, thresholds, Job(kind)).run(len(word))
    return Levenshtein.distance(found, word) <= 1


@dataclass(frozen=True)
class _Threshold:
    """A variant of the job that matches if its word is at least this similar (`likeness`) to the word in the record."""

    likeness: float
    job: Job


def _thresholds(model: str, kind: str, length: int, zone: str) -> Sequence[_Threshold]:
    """Return the thresholds, which the attacker computes with an arbitrary word in place of the unknown word."""
    own, now = LETTERS[:length], time.time()
    engine = Engine(load(model), cluster_nodes=8, timezone=zone)
    engine.change(add=[LinkableRecord(1, Job(kind).metadata(ALICE, own, 1.7e9), 1.7e9, 0.3)])

    def matches(job: Job, right: int) -> bool:
        guess = own[:right] + "z" * (length - right)
        linkage = engine.link(job.metadata(MALLORY, guess, now))
        return linkage.best is not None and linkage.best.score >= linkage.threshold

    found: dict[int, Job] = {}
    for how in itertools.product(*VARIANTS):
        job = Job(kind, *how)
        if matches(job, length) and not matches(job, 0):
            found.setdefault(next(right for right in range(length + 1) if matches(job, right)), job)
    return [_Threshold(right / length, job) for right, job in sorted(found.items())]


class _Attack:
    def __init__(
        self, speaker: Speaker, rng: random.Random, questions: int, thresholds: Sequence[_Threshold], job: Job
    ) -> None:
        """Prepare an attack with `job`, which is equal to the record's job except for the word."""
        self._speaker = speaker
        self._rng = rng
        self._left = questions
        self._thresholds = thresholds
        self._job = job
        self._is_score_told = True

    def run(self, length: int) -> str:
        """Guess the word by changing one letter at a time and keeping changes that increase the similarity."""
        guess, best = self._new(length)
        while self._left > 0 and (self._thresholds or self._is_score_told):
            nearer = False
            for place, letter in itertools.product(self._rng.sample(range(length), length), LETTERS):
                changed = guess[:place] + letter + guess[place + 1 :]
                found = self._nearness(changed, best) if changed != guess and self._left > 0 else best
                if found > best:
                    guess, best, nearer = changed, found, True
            if not nearer:
                if best > 0:
                    break
                guess, best = self._new(length)
        return guess

    def _new(self, length: int) -> tuple[str, float]:
        guess = "".join(self._rng.choices(LETTERS, k=length))
        return guess, self._nearness(guess, 0.0)

    def _nearness(self, word: str, best: float) -> float:
        """Return how similar a guess is to the word, according to the daemon's replies.

        The result is the score if replies contain scores, else the highest threshold that the guess reaches (at least
        `best`).
        """
        if self._is_score_told:
            told = _told_score(self._ask(self._job, word))
            self._is_score_told = told is not None
            if told is not None:
                return told
        reached = best
        for threshold in self._thresholds:
            if threshold.likeness <= best:
                continue
            if not _matches(self._ask(threshold.job, word)):
                break
            reached = threshold.likeness
        return reached

    def _ask(self, job: Job, word: str) -> dict[str, Any]:
        self._left -= 1
        return self._speaker.ask(request(job.script(word)))


def _matches(reply: dict[str, Any]) -> bool:
    """Return whether the job gets settings, or the reply says that a record matches."""
    return reply.get("verdict") == "apply" or "matches" in str(reply.get("reason"))


def _told_score(reply: dict[str, Any]) -> float | None:
    if isinstance(reply.get("score"), int | float):
        return float(reply["score"])
    found = [word.rstrip("),;") for word in str(reply.get("reason", "")).replace("score ", "score=").split()]
    numbers = [word.removeprefix("score=") for word in found if word.startswith("score=")]
    return float(numbers[0]) if numbers else None
