# SPDX-License-Identifier: Apache-2.0
"""Plan the scenario: applications, users, jobs, and which jobs are tuned. The seed determines the whole plan.

The plan follows Robert 2021, section 7.4.1. An application is a random variation of one of the four patterns of small
reads, with a name. Three users draw applications, possibly the same ones, and submit jobs that run these applications;
some of the jobs are tuned before. Two thirds of the job names contain an adjective, and one third contain the number of
nodes. The directory of an application is `/home/<user>/<name>_<time stamp>/`. The reads do not depend on the user.

Unlike the thesis, the plan also has `strangers`: jobs that these users submit in the same way, but whose applications
nobody has tuned.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise.matcher.evaluation.scenario import distinct_words
from reprise.matcher.evaluation.thesis_scenario import ADJECTIVES

NODES = (1, 2, 4)
PATTERNS = "abcd"
KIB, MIB = 1024, 1024 * 1024
STAMPS = (1_500_000_000, 1_600_000_000)
SYLLABLES = (2, 4)


@dataclass(frozen=True)
class Profile:
    """The numbers of applications, jobs and tuned jobs of a user.

    `draws` is how often the user draws an application. `jobs` and `tuned` are the ranges from which the numbers of jobs
    and of tuned jobs are drawn, for each draw of an application.
    """

    draws: int
    jobs: tuple[int, int]
    tuned: tuple[int, int]


@dataclass(frozen=True)
class Scale:
    """The size of a scenario.

    `pool` is the number of applications to draw from. `strangers` is the number of jobs with applications of the pool
    that no user has drawn.
    """

    name: str
    pool: int
    profiles: Mapping[str, Profile]
    strangers: int


THESIS = Scale(
    "thesis",
    88,  # out of 9,218 possible ones; 55 draws from 88 give 41 different applications on average, as in the thesis
    {
        "alice": Profile(10, (5, 10), (1, 2)),
        "bob": Profile(20, (1, 5), (1, 3)),
        "carol": Profile(25, (5, 15), (2, 4)),
    },
    400,
)
SMALL = Scale(
    "small",
    40,  # 6 draws from 40 rarely repeat an application; those that are not drawn stay unknown
    {"alice": Profile(1, (3, 4), (1, 1)), "bob": Profile(2, (1, 2), (1, 1)), "carol": Profile(3, (3, 6), (1, 1))},
    200,
)
"""A ninth of the draws in the thesis, each with half as many jobs, so that the scenario takes twenty minutes."""
SCALES = {scale.name: scale for scale in (SMALL, THESIS)}


@dataclass(frozen=True)
class Application:
    """An application. `words` are the arguments that all its jobs pass to fakeapp."""

    name: str
    stamp: int
    pattern: str
    words: tuple[str, ...]

    @property
    def label(self) -> str:
        """The unique name of the application, which consists of its name and a time stamp."""
        return f"{self.name}_{self.stamp}"

    def directory(self, user: str) -> str:
        """Return the directory of a user's copy of the application."""
        return f"/home/{user}/{self.label}"


@dataclass(frozen=True)
class Job:
    """A submission of the scenario.

    `tuned` means that a campaign tunes this job before any job is submitted. `stranger` means that nobody has tuned the
    job's application.
    """

    number: int
    user: str
    application: Application
    nodes: int
    name: str
    tuned: bool = False
    stranger: bool = False


@dataclass(frozen=True)
class Plan:
    """A scenario. `jobs` are in the order of submission, without the strangers."""

    jobs: tuple[Job, ...]
    strangers: tuple[Job, ...]

    @property
    def tuned(self) -> tuple[Job, ...]:
        """The jobs that are tuned by a campaign."""
        return tuple(job for job in self.jobs if job.tuned)


def variation(rng: random.Random, pattern: str, operations: int) -> tuple[str, ...]:
    """Return arguments of fakeapp for a random variation of a pattern, with about `operations` reads."""
    seed = rng.randrange(1_000_000)
    words: dict[str, object] = {"pattern": pattern, "seed": seed}
    if pattern == "a":
        leads = rng.randint(32, 96)
        words |= {"leads": leads, "advance": rng.choice((8, 16, 32, 64)) * KIB, "operations": operations}
    elif pattern == "b":  # enough leads for one thread on each of up to four nodes
        scatter = rng.randint(5, 20) * MIB
        words |= {"leads": rng.choice((4, 8)), "scatter": scatter, "advance": scatter // rng.choice((4, 5, 8))}
        words |= {"repeat": rng.randint(100, 400), "threads": 1, "operations": operations}
    elif pattern == "c":
        words |= {"leads": rng.randint(100, 220), "scatter": rng.randint(512, 1536) * KIB, "operations": operations}
    else:
        leads = rng.randint(40, 100)
        mean = max(1, operations // leads)
        words |= {"leads": leads, "scatter-interval": f"{50 * KIB},{rng.randint(5, 30) * MIB}"}
        words |= {"repeat-interval": f"{max(1, mean // 3)},{mean * 5 // 3}"}
    return tuple(f"--{name}={value}" for name, value in words.items())


def pool(rng: random.Random, count: int, operations: int) -> list[Application]:
    """Return `count` applications, the same number of each pattern."""
    names = distinct_words(rng, count, SYLLABLES)
    found = []
    for number, name in enumerate(names):
        pattern = PATTERNS[number % len(PATTERNS)]
        found.append(Application(name, rng.randint(*STAMPS), pattern, variation(rng, pattern, operations)))
    return found


def job_name(rng: random.Random, application: Application, nodes: int) -> str:
    """Return a random name for a job of the application."""
    name = application.name
    if rng.random() < 2 / 3:
        name = f"{rng.choice(ADJECTIVES)}_{name}"
    return f"{name}_{nodes}" if rng.random() < 1 / 3 else name


def plan(scale: Scale, seed: int, operations: int) -> Plan:
    """Return a scenario.

    Users take turns at random, and each user's jobs are in the order of the user's draws. The draws cycle through the
    four patterns, in an order that depends on the seed, so that even a few draws contain every pattern.
    """
    rng = random.Random(seed)  # noqa: S311 - not used for security
    applications = pool(rng, scale.pool, operations)
    waiting: dict[str, list[tuple[Application, bool]]] = {user: [] for user in scale.profiles}
    drawn: set[Application] = set()
    patterns = itertools.cycle(rng.sample(PATTERNS, len(PATTERNS)))
    for user, profile in scale.profiles.items():
        for pattern in itertools.islice(patterns, profile.draws):
            application = rng.choice([one for one in applications if one.pattern == pattern])
            drawn.add(application)
            count = rng.randint(*profile.jobs)
            tuned = min(count, rng.randint(*profile.tuned))
            waiting[user] += [(application, number < tuned) for number in range(count)]
    jobs: list[Job] = []
    while any(waiting.values()):
        user = rng.choice([user for user, left in waiting.items() if left])
        application, tuned = waiting[user].pop(0)
        jobs.append(_job(rng, len(jobs), user, application, tuned=tuned))
    unknown = [application for application in applications if application not in drawn]
    strangers = [
        _job(rng, number, rng.choice(list(scale.profiles)), rng.choice(unknown), stranger=True)
        for number in range(scale.strangers if unknown else 0)
    ]
    return Plan(tuple(jobs), tuple(strangers))


def _job(
    rng: random.Random,
    number: int,
    user: str,
    application: Application,
    *,
    tuned: bool = False,
    stranger: bool = False,
) -> Job:
    nodes = rng.choice(NODES)
    return Job(number, user, application, nodes, job_name(rng, application, nodes), tuned, stranger)


def script(application: Application, user: str, program: str, data: str, library: str) -> Mapping[str, str]:
    """Return the files of an application, by name: a script that runs its program, and the batch script `sbatch`.

    The user submits the batch script with a job name and a number of nodes.
    """
    fakeapp = " ".join((program, "--cold", f"--file={data}", *application.words))
    return {
        application.name: f'#!/bin/sh\nexec {fakeapp} "$@"\n',
        "sbatch": (
            "#!/bin/bash\n#SBATCH --ntasks-per-node=1 --output=job-%j.out\n"
            f"export LD_PRELOAD=${{LD_PRELOAD:+$LD_PRELOAD:}}{library}\n"
            f"mpirun {application.directory(user)}/{application.name}\n"
        ),
    }


def options(job: Job) -> Sequence[str]:
    """Return the options of `sbatch` with which the user submits the job."""
    return (f"--job-name={job.name}", f"--nodes={job.nodes}")
