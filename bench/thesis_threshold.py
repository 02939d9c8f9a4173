# SPDX-License-Identifier: Apache-2.0
"""What a threshold of the thesis model recognises, and what it confuses: a scenario after Robert 2021, chapter 7.

    python -m bench.thesis_threshold [--seeds 20]

Three users with 10, 20 and 25 draws of applications submit 5-10, 1-5 and 5-15 jobs of each, of which 1-2, 1-3 and 2-4
were tuned and are the records. Job names carry an adjective in 2 of 3 cases and the node count in 1 of 3, directories a
time stamp. Unlike there, the program is the one that the script launches (not `sbatch`), it has options, and no job is
compared with its own record. Six kinds of jobs are asked about:

  again      a user submits an application that was tuned for this user, on as many nodes as one of its records
  resized    the same, on another number of nodes than any record of that application and user
  colleague  a user without records submits a tuned application: same program path, as many nodes as one of its
             records, another job name, option values drawn anew
  distant    the same, with no option value in common
  own new    a user with records submits an application that nobody tuned, on as many nodes as one of these records
  stranger   a user without records submits an application that nobody tuned, on any number of nodes
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from matcher.linkage import Engine, LinkableRecord, load
from matcher.metadata import JobMetadata

THRESHOLDS = [0.45, 0.5, 0.52, 0.54, 0.55, 0.56, 0.57, 0.58, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
ADJECTIVES = [
    "angry",
    "brave",
    "calm",
    "dizzy",
    "eager",
    "fancy",
    "gentle",
    "happy",
    "idle",
    "jolly",
    "kind",
    "lucky",
    "merry",
    "nice",
    "proud",
    "quick",
]
SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "qui",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
    "xo",
    "zu",
]
KEYS = ["n", "size", "steps", "input", "output", "tol", "order", "mesh", "dt", "seed", "verbose", "restart"]
VALUES = (1, 10, 100)
# user: draws of applications, jobs per application, of them tuned (Robert 2021, chapter 7)
PROFILES = {"u1": (10, (5, 10), (1, 2)), "u2": (20, (1, 5), (1, 3)), "u3": (25, (5, 15), (2, 4))}
NEVER_TUNED = 40
CLUSTERS = {4: (1, 2, 3, 4), 256: (1, 2, 4, 8, 16, 32, 64)}
POSITIVE = ("again", "resized", "colleague", "distant")
NEGATIVE = ("own new", "stranger")


@dataclass(frozen=True)
class Application:
    """`stamp` is the time stamp in its directory's name, `keys` the options that it is given."""

    name: str
    stamp: int
    keys: tuple[str, ...]


@dataclass
class Scenario:
    """One random site. `cluster` is its number of nodes."""

    rng: random.Random
    cluster: int

    def application(self) -> Application:
        rng = self.rng
        name = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))
        return Application(name, rng.randint(1_500_000_000, 1_600_000_000), tuple(rng.sample(KEYS, rng.randint(0, 3))))

    def job(self, user: str, owner: str, application: Application, nodes: int) -> JobMetadata:
        """A submission by `user` of the program that lies in `owner`'s home."""
        rng = self.rng
        name = application.name
        if rng.random() < 2 / 3:
            name = f"{rng.choice(ADJECTIVES)}_{name}"
        if rng.random() < 1 / 3:
            name = f"{name}_{nodes}"
        day, second = rng.randrange(14), int(rng.triangular(0, 86400, 14 * 3600))
        return JobMetadata(
            user=user,
            job_name=name,
            program=application.name,
            path=f"/home/{owner}/{application.name}_{application.stamp}/{application.name}",
            options={key: (str(rng.choice(VALUES)),) for key in application.keys},
            submit_time=1_700_000_000.0 + day * 86400 + second,
            nodes=nodes,
        )

    def other_nodes(self, used: Sequence[int]) -> int:
        """A number of nodes that is not in `used`, unless all are."""
        free = [nodes for nodes in CLUSTERS[self.cluster] if nodes not in used]
        return self.rng.choice(free or CLUSTERS[self.cluster])


def queries(scenario: Scenario) -> tuple[list[LinkableRecord], list[str], Iterator[tuple[str, str, JobMetadata]]]:
    """(records, the application of each, (kind, application or "", job) of each question)."""
    rng = scenario.rng
    pool = [scenario.application() for _ in range(41)]
    records: list[LinkableRecord] = []
    owners: list[str] = []
    used: dict[tuple[str, Application], list[int]] = defaultdict(list)
    for user, (draws, _, tuned) in PROFILES.items():
        for application in rng.choices(pool, k=draws):
            for _ in range(rng.randint(*tuned)):
                nodes = rng.choice(CLUSTERS[scenario.cluster])
                job = scenario.job(user, user, application, nodes)
                records.append(LinkableRecord(len(records), job, job.submit_time, 0.2))
                owners.append(application.name)
                used[user, application].append(nodes)

    def asked() -> Iterator[tuple[str, str, JobMetadata]]:
        for (user, application), nodes in used.items():
            for _ in range(rng.randint(*PROFILES[user][1])):
                yield "again", application.name, scenario.job(user, user, application, rng.choice(nodes))
            yield "resized", application.name, scenario.job(user, user, application, scenario.other_nodes(nodes))
            job = scenario.job("colleague", user, application, rng.choice(nodes))
            job = dataclasses.replace(job, job_name="".join(rng.choices(SYLLABLES, k=3)))
            yield "colleague", application.name, job
            options = dict.fromkeys(application.keys, ("another.dat",))
            yield "distant", application.name, dataclasses.replace(job, options=options)
        nodes_of = {user: [r.metadata.nodes or 1 for r in records if r.metadata.user == user] for user in PROFILES}
        for _ in range(NEVER_TUNED):
            application = scenario.application()
            user = rng.choice(list(PROFILES))
            yield "own new", "", scenario.job(user, user, application, rng.choice(nodes_of[user]))
            stranger = scenario.job("stranger", "stranger", application, rng.choice(CLUSTERS[scenario.cluster]))
            yield "stranger", "", stranger

    return records, owners, asked()


def measure(cluster: int, seeds: int) -> dict[str, list[tuple[float, bool]]]:
    """Per kind of question: (score of the nearest record, whether it is of the right application)."""
    results: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for seed in range(seeds):
        records, owners, asked = queries(Scenario(random.Random(seed), cluster))  # noqa: S311 - a simulation
        engine = Engine(load("thesis"), records, cluster_nodes=cluster, timezone="UTC")
        for kind, application, job in asked:
            best = engine.link(job, k=1).best
            if best is None:
                raise ValueError("a scenario has records")
            results[kind].append((best.score, owners[best.record.id] == application))
    return results


def interval(hits: int, total: int) -> str:
    """A share in percent with half the width of its 95 % interval (Agresti-Coull)."""
    adjusted = (hits + 2) / (total + 4)
    return f"{100 * hits / total:5.1f} ±{196 * math.sqrt(adjusted * (1 - adjusted) / (total + 4)):4.1f}"


def report(cluster: int, results: dict[str, list[tuple[float, bool]]]) -> str:
    """A table by threshold: right matches of the positive kinds, any match of the negative ones, in percent."""
    kinds = [*POSITIVE, *NEGATIVE]
    head = "| threshold | " + " | ".join(kinds) + " | wrong match of a tuned one |"
    lines = [f"{cluster} nodes; jobs: {', '.join(f'{kind} {len(results[kind])}' for kind in kinds)}", "", head]
    lines.append("|---" * (len(kinds) + 2) + "|")
    for threshold in THRESHOLDS:
        cells = []
        for kind in kinds:
            counted = [score >= threshold and (right or kind in NEGATIVE) for score, right in results[kind]]
            cells.append(interval(sum(counted), len(counted)))
        wrong = [score >= threshold and not right for kind in POSITIVE for score, right in results[kind]]
        lines.append(f"| {threshold:.2f} | " + " | ".join([*cells, interval(sum(wrong), len(wrong))]) + " |")
    medians = [f"{sorted(score for score, _ in results[kind])[len(results[kind]) // 2]:.2f}" for kind in kinds]
    lines.append("| median score | " + " | ".join(medians) + " | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="random sites per cluster size")
    seeds = parser.parse_args().seeds
    for cluster in CLUSTERS:
        click.echo(report(cluster, measure(cluster, seeds)) + "\n")


if __name__ == "__main__":
    main()
