# SPDX-License-Identifier: Apache-2.0
"""Scenario of a realistic site: codes may share a name, a code may have several names, and people may share a login.

Eighteen people in six projects use six codes each. Three of the people are new and have no records. In one of the
projects, all people share a login. Each person uses two codes of each of three sorts. Unless the person is new, jobs of
the first code were tuned, and sometimes also jobs of the second.

A job's kind is the sort of its code (SORTS), or "shared login" if its user shares a login. The kind ends with
"colleague" if only other people tuned the code, and with "untuned" if nobody tuned it. As in every scenario, a job of
the kind "left out" is a tuned job that is compared only with the records of other jobs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from reprise.matcher.evaluation.made_up_scripts import Scripts
from reprise.matcher.evaluation.scenario import EPOCH, LabelledJob, Scenario, distinct_words, scenario, submit_time
from reprise.matcher.submission.metadata import JobMetadata

CLUSTER_NODES = 128
SIZES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
PROJECTS, PEOPLE_PER_PROJECT, NEWCOMERS = 6, 3, 3
SORTS_PER_PERSON = 3
SECOND_TUNED = 0.3  # probability that a person's second code of a sort was tuned
RECORDS, JOBS = (1, 3), 3  # records per tuned code and person (lowest, highest); query jobs per code and person
SAME_NODES = 0.7  # share of jobs with the node count of one of the person's records of the code
INSTALLED = 4  # number of codes of each shared sort that the site or a project has installed


@dataclass(frozen=True)
class Sort:
    """Names, paths and commands of one sort of code, as templates for `str.format_map` with the values from `_job`.

    `programs` has the possible names of a code's program. If a code has several names or versions, the last one occurs
    in no record. `shared` means that codes of this sort are installed once for everyone, or once for each project.
    """

    path: str
    directory: str
    job_names: tuple[str, ...]
    options: Mapping[str, str]
    programs: tuple[str, ...] = ("{code}",)
    launcher: str = "srun"
    modules: tuple[str, ...] = ()
    shared: bool = False


SORTS = {
    "versions": Sort(
        path="/apps/{code}/{version}/bin/{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{code}_{case}", "{case}", "prod"),
        options={"in": "{case}.in", "log": "{case}_{day}.log"},
        modules=("{code}/{version}",),
        shared=True,
    ),
    "suite": Sort(
        path="/apps/suite/{version}/bin/{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{code}_{case}", "{case}"),
        options={"": "{case}.dat"},
        programs=("suite_{code}",),
        launcher="mpirun",
        modules=("suite/{version}",),
        shared=True,
    ),
    "project directory": Sort(
        path="/work/{project}/bin/{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{person}_{code}", "{code}", "test"),
        options={"c": "{case}.cfg", "n": "{value}"},
        launcher="mpirun",
        shared=True,
    ),
    "bare name": Sort(
        path="{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{code}_{case}", "{case}", "prod"),
        options={"in": "{case}.in", "log": "{case}_{day}.log"},
        modules=("{code}/{version}",),
        shared=True,
    ),
    "module's program": Sort(
        path="{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{case}", "prod", "{program}"),
        options={"n": "{value}"},
        programs=("{common}",),
        modules=("{code}/{version}",),
        shared=True,
    ),
    "sweep": Sort(
        path="/home/{person}/src/{code}/build/{program}",
        directory="/scratch/{project}/{person}/{code}/sweep_{day}",
        job_names=("{code}_a{value}_{index:03}", "a{value}_{index:03}"),
        options={"alpha": "{value}", "seed": "{index}", "out": "out_{index:03}.h5"},
    ),
    "wrapper": Sort(
        path="./{program}",
        directory="/work/{project}/{person}/{code}",
        job_names=("run", "run.sh", "{case}"),
        options={"": "{case}"},
        programs=("run.sh",),
    ),
    "common script": Sort(
        path="/home/{person}/bin/{program}",
        directory="/work/{project}/{person}",
        job_names=("run.sh", "{case}", "{code}"),
        options={"": "{code}", "case": "{case}"},
        programs=("run.sh",),
    ),
    "case first": Sort(
        path="/home/{person}/bin/{program}",
        directory="/work/{project}/{person}",
        job_names=("run.sh", "{case}", "{code}"),
        options={"": "{case}", "code": "{code}"},
        programs=("run.sh",),
    ),
    "array": Sort(
        path="/home/{person}/{code}/bin/{program}",
        directory="/scratch/{project}/{person}/{code}",
        job_names=("{code}_array", "array"),
        options={"list": "list_{index:03}.txt", "task": "${{SLURM_ARRAY_TASK_ID}}"},
    ),
    "python driver": Sort(
        path="{program}",
        directory="/home/{person}/projects/{code}",
        job_names=("{code}-{index}", "python", "{case}"),
        options={"config": "configs/{case}_{index}.yaml", "seed": "{index}"},
        programs=("{driver}",),
        modules=("python/3.11",),
    ),
    "renamed": Sort(
        path="/home/{person}/bin/{program}",
        directory="/work/{project}/{person}/{case}",
        job_names=("{program}", "{code}_{case}"),
        options={"i": "{case}.inp", "steps": "{value}"},
        programs=("{code}", "{code}_mpi", "{code}.x.{version}", "new_{code}"),
        launcher="mpirun",
    ),
    "same name": Sort(
        path="/home/{person}/{code}/{program}",
        directory="/home/{person}/{code}",
        job_names=("job", "test", "{program}"),
        options={"n": "{value}"},
        programs=("{common}",),
        launcher="mpirun",
    ),
    "time stamps": Sort(
        path="/scratch/{project}/{person}/{stamp}_{code}/{program}",
        directory="/scratch/{project}/{person}/{stamp}_{code}",
        job_names=("{code}_{stamp}", "{stamp}"),
        options={"restart": "restart_{stamp}.chk"},
    ),
}


TOOLCHAINS = (
    ("openmpi/4.1.4",),
    ("gcc/12.2", "openmpi/4.1.4"),
    ("intel/2023.1", "impi/2021.9", "mkl/2023.1"),
    ("gcc/12.2", "openmpi/4.1.4", "hdf5/1.14", "netcdf-c/4.9"),
    (),
)
"""Sets of modules; each person loads one of these sets in every script."""


@dataclass(frozen=True)
class Person:
    """A person at the site; `login` is the person's own user name, or the user name that a project's people share."""

    name: str
    login: str
    project: str
    toolchain: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """An application; `driver` and `common` are generic names of its script and binary, which do not identify it."""

    name: str
    sort: str
    versions: tuple[str, ...]
    driver: str
    common: str


@dataclass(frozen=True)
class Use:
    """A person's use of a code: values that all its jobs share, and the cases (inputs); each job takes one case."""

    person: Person
    code: Code
    job_name: str
    cases: tuple[str, ...]
    tasks_per_node: int
    partition: str
    records: int


def generate(seed: int) -> Scenario:
    """Generate the site that `seed` determines."""
    rng = random.Random(seed)  # noqa: S311 - not used for security
    scripts = Scripts(seed)

    def job(use: Use, nodes: int, *, is_new: bool) -> JobMetadata:
        return scripts.given(_job(rng, use, nodes, is_new=is_new), use.person.name, use.code.name)

    tuned: list[LabelledJob] = []
    nodes_of: dict[Use, list[int]] = {}
    uses = _uses(rng)
    for use in uses:
        nodes_of[use] = [rng.choice(SIZES) for _ in range(use.records)]
        tuned += [LabelledJob("tuned", use.code.name, job(use, nodes, is_new=False)) for nodes in nodes_of[use]]
    known = {one.application for one in tuned}
    asking = []
    for use in uses:
        kind = _kind(use, known)
        for _ in range(JOBS):
            same = nodes_of[use] and rng.random() < SAME_NODES
            nodes = rng.choice(nodes_of[use] if same else SIZES)
            asking.append(LabelledJob(kind, use.code.name, job(use, nodes, is_new=True)))
    return scenario(CLUSTER_NODES, tuned, asking)


def _kind(use: Use, known: set[str]) -> str:
    who = "shared login" if use.person.login != use.person.name else use.code.sort
    if use.records:
        return who
    return f"{who}, colleague" if use.code.name in known else f"{who}, untuned"


def _uses(rng: random.Random) -> list[Use]:
    words = iter(distinct_words(rng, 400, (2, 3)))
    people = list(_people(rng, words))
    installed: dict[tuple[str, str], list[Code]] = {}
    uses = []
    for number, person in enumerate(people):
        for sort in rng.sample(list(SORTS), SORTS_PER_PERSON):
            if SORTS[sort].shared:
                place = person.project if "{project}" in SORTS[sort].path else ""
                if (sort, place) not in installed:
                    installed[sort, place] = [_code(rng, next(words), sort) for _ in range(INSTALLED)]
                codes = rng.sample(installed[sort, place], 2)
            else:
                codes = [_code(rng, next(words), sort) for _ in range(2)]
            is_new = number >= len(people) - NEWCOMERS
            for code, is_tuned in zip(codes, (not is_new, not is_new and rng.random() < SECOND_TUNED), strict=True):
                uses.append(_use(rng, person, code, rng.randint(*RECORDS) if is_tuned else 0))
    return uses


def _people(rng: random.Random, words: Iterator[str]) -> Iterator[Person]:
    """Yield the people at the site; the newcomers come last, each in a different project."""
    projects = [f"{next(words)}{rng.randint(10, 99)}" for _ in range(PROJECTS)]
    for _ in range(PEOPLE_PER_PROJECT):
        for number, project in enumerate(projects):
            name = next(words)
            yield Person(name, f"{project}_prod" if number == 0 else name, project, rng.choice(TOOLCHAINS))


def _code(rng: random.Random, name: str, sort: str) -> Code:
    major = rng.randint(1, 6)
    return Code(
        name=name + rng.choice(("", "", "3d", "flow", "md")),
        sort=sort,
        versions=(
            f"{major}.{rng.randint(0, 4)}.{rng.randint(0, 9)}",
            f"{major}.5.0",
            f"{major + 1}.0.{rng.randint(0, 3)}",
        ),
        driver=rng.choice(("train.py", "main.py", "run.py", "simulate.py")),
        common=rng.choice(("main", "a.out", "solver", "model.exe")),
    )


def _use(rng: random.Random, person: Person, code: Code, records: int) -> Use:
    return Use(
        person=person,
        code=code,
        job_name=rng.choice(SORTS[code.sort].job_names),
        cases=tuple(distinct_words(rng, 4, (2, 3))),
        tasks_per_node=rng.choice((1, 24, 48, 64, 128)),
        partition=rng.choice(("cpu", "cpu", "large", "short")),
        records=records,
    )


def _job(rng: random.Random, use: Use, nodes: int, *, is_new: bool) -> JobMetadata:
    """Generate a job. Unless `is_new`, the last program name, version and case are not used, so no record has them."""
    sort, person = SORTS[use.code.sort], use.person
    at = submit_time(rng)

    def one_of(variants: tuple[str, ...]) -> str:
        return rng.choice(variants if is_new or len(variants) == 1 else variants[:-1])

    made = datetime.fromtimestamp(EPOCH - rng.randrange(90 * 86400), UTC)
    words: dict[str, str | int] = {
        "code": use.code.name,
        "driver": use.code.driver,
        "common": use.code.common,
        "version": one_of(use.code.versions),
        "person": person.name,
        "project": person.project,
        "case": one_of(use.cases),
        "index": rng.randrange(200),
        "value": str(round(rng.uniform(0, 1), 2)),
        "day": made.strftime("%Y-%m-%d"),
        "stamp": made.strftime("%Y%m%d_%H%M%S"),
    }
    words["program"] = program = one_of(sort.programs).format_map(words)
    return JobMetadata(
        user=person.login,
        job_name=use.job_name.format_map(words),
        program=program,
        path=sort.path.format_map(words),
        options={key: (value.format_map(words),) for key, value in sort.options.items()},
        submit_time=at,
        nodes=nodes,
        tasks=nodes * use.tasks_per_node,
        tasks_per_node=use.tasks_per_node,
        partition=use.partition,
        account=person.project,
        directory=sort.directory.format_map(words),
        launcher=sort.launcher,
        modules=(*person.toolchain, *(module.format_map(words) for module in sort.modules)),
    )
