# SPDX-License-Identifier: Apache-2.0
"""Scenario of Robert 2021, chapter 7, with additional jobs of applications that nobody tuned.

Three users draw 10, 20 and 25 applications (41 different ones on average, as in the thesis). They submit 5-10, 1-5 and
5-15 jobs of each application; 1-2, 1-3 and 2-4 of these jobs were tuned and are the records. Job names have an
adjective in 2 of 3 cases and the node count in 1 of 3 cases. The program is in `/home/<user>/<program>_<time stamp>/`.
Unlike in the thesis, the program is the one that the script launches (not `sbatch`), and it may have options. The kinds
of jobs are:

  left out   a tuned job, without its own record (if its application has no other record, no match is right)
  again      a user submits an application that was tuned for this user, on as many nodes as one of its records
  resized    like again, on another number of nodes than any record of that application and user
  colleague  a user without records submits a tuned application: same program path, as many nodes as one of its
             records, another job name, option values drawn again
  distant    like colleague, with no option value in common
  own new    a user with records submits an application that nobody tuned, on as many nodes as one of these records
  stranger   a user without records submits an application that nobody tuned, on any number of nodes
"""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprise.matcher.evaluation.made_up_scripts import Scripts
from reprise.matcher.evaluation.scenario import LabelledJob, Scenario, distinct_words, scenario, submit_time
from reprise.matcher.submission.metadata import JobMetadata

ADJECTIVES = "angry brave calm dizzy eager fancy gentle happy idle jolly kind lucky merry nice quick".split()  # noqa: SIM905
KEYS = ("n", "size", "steps", "input", "output", "tol", "order", "mesh", "dt", "seed", "verbose", "restart")
VALUES = ("1", "10", "100")
APPLICATIONS = 88
"""Number of applications that exist for users to draw from, out of 9,218 possible ones. With this number, 55 draws
yield 41 different applications on average, as in the thesis."""
# user: number of draws of applications, jobs per application, tuned jobs per application
PROFILES = {"u1": (10, (5, 10), (1, 2)), "u2": (20, (1, 5), (1, 3)), "u3": (25, (5, 15), (2, 4))}
COLLEAGUE, STRANGER = "colleague", "stranger"
SIZES = {4: (1, 2, 3, 4), 256: (1, 2, 4, 8, 16, 32, 64)}
"""Node counts that jobs request, by the cluster's number of nodes (4 in the thesis)."""
TASKS_PER_NODE = 16


@dataclass(frozen=True)
class Application:
    """An application: its program, the time stamp of its directory, and the names of its options."""

    name: str
    stamp: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class _Site:
    rng: random.Random
    sizes: Sequence[int]
    scripts: Scripts

    def job(self, user: str, owner: str, application: Application, nodes: int) -> JobMetadata:
        """Generate a job in which `user` runs the program of `application` from the home directory of `owner`."""
        rng = self.rng
        name = application.name
        if rng.random() < 2 / 3:
            name = f"{rng.choice(ADJECTIVES)}_{name}"
        if rng.random() < 1 / 3:
            name = f"{name}_{nodes}"
        directory = f"/home/{owner}/{application.name}_{application.stamp}"
        job = JobMetadata(
            user=user,
            job_name=name,
            program=application.name,
            path=f"{directory}/{application.name}",
            options={key: (rng.choice(VALUES),) for key in application.keys},
            submit_time=submit_time(rng),
            nodes=nodes,
            tasks=nodes * TASKS_PER_NODE,
            tasks_per_node=TASKS_PER_NODE,
            partition="compute",
            account=f"of_{user}",
            directory=directory if user == owner else f"/home/{user}",
            launcher="mpirun",
            modules=("openmpi/4.1.4",),
        )
        return self.scripts.given(job, user, application.name)

    def asked_by_others(self, owner: str, application: Application, nodes: Sequence[int]) -> list[LabelledJob]:
        """Generate two jobs of a user without records who runs a tuned application of `owner`.

        There is one job of each of the kinds "colleague" and "distant".
        """
        rng = self.rng
        job = self.job(COLLEAGUE, owner, application, rng.choice(nodes))
        job = dataclasses.replace(job, job_name=distinct_words(rng, 1, (3, 3))[0])
        distant = dataclasses.replace(job, options=dict.fromkeys(application.keys, ("another.dat",)))
        distant = self.scripts.given(distant, COLLEAGUE, application.name)
        return [LabelledJob("colleague", application.name, job), LabelledJob("distant", application.name, distant)]

    def never_tuned(self, application: Application, nodes: Mapping[str, Sequence[int]]) -> list[LabelledJob]:
        """Generate two jobs of an application that nobody tuned, of the kinds "own new" and "stranger"."""
        rng = self.rng
        user = rng.choice(list(PROFILES))
        own = self.job(user, user, application, rng.choice(nodes[user]))
        stranger = self.job(STRANGER, STRANGER, application, rng.choice(self.sizes))
        return [LabelledJob("own new", application.name, own), LabelledJob("stranger", application.name, stranger)]


def generate(seed: int, cluster_nodes: int = 4) -> Scenario:
    """Generate the site that `seed` determines, on a cluster of `cluster_nodes` nodes (a key of SIZES)."""
    rng = random.Random(seed)  # noqa: S311 - not used for security
    site = _Site(rng, SIZES[cluster_nodes], Scripts(seed))
    pool = [
        Application(name, rng.randint(1_500_000_000, 1_600_000_000), tuple(rng.sample(KEYS, rng.randint(0, 3))))
        for name in distinct_words(rng, APPLICATIONS, (2, 4))
    ]
    tuned: list[LabelledJob] = []
    nodes_of: dict[str, list[int]] = defaultdict(list)
    used: dict[tuple[str, Application], list[int]] = defaultdict(list)
    untuned: list[tuple[str, Application]] = []
    for user, (draws, jobs, optimised) in PROFILES.items():
        for application in rng.choices(pool, k=draws):
            submitted = rng.randint(*jobs)
            records = min(submitted, rng.randint(*optimised))
            untuned += [(user, application)] * (submitted - records)
            for _ in range(records):
                nodes = rng.choice(site.sizes)
                tuned.append(LabelledJob("tuned", application.name, site.job(user, user, application, nodes)))
                used[user, application].append(nodes)
                nodes_of[user].append(nodes)
    asking: list[LabelledJob] = []
    for user, application in untuned:
        nodes = rng.choice(site.sizes)
        kind = "again" if nodes in used[user, application] else "resized"
        asking.append(LabelledJob(kind, application.name, site.job(user, user, application, nodes)))
    for (user, application), counts in used.items():
        asking += site.asked_by_others(user, application, counts)
    drawn = {application for _, application in used}
    for application in pool:
        if application not in drawn:
            asking += site.never_tuned(application, nodes_of)
    return scenario(cluster_nodes, tuned, asking)
