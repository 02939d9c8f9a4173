# SPDX-License-Identifier: Apache-2.0
"""Sites made of real scripts: some scripts are the records, and others are query jobs to compare with the records.

There are two kinds of sites. A site of the first kind has the scripts that are written for one computing center,
judging by their accounts, modules, paths and addresses. If the scripts are not from several of CENTRES, one site has
all scripts. Half of each owner's applications have a record, which is made from one script. Up to two other scripts of
each application, with or without a record, become query jobs.

The second kind is the site `strangers`, which has all owners. Half of the owners have a record of one script each. One
script of each other owner becomes a query job.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reprise.matcher.evaluation.scenario import ANY_GAIN, submit_time
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.linkage import LinkableRecord
from reprise.matcher.submission.metadata import JobMetadata

ASKING = 2
"""Maximum number of query jobs from the scripts of one application."""
GROUP = 100
MOST = 8
"""Maximum number of one owner's applications in a group, so that no person's habits dominate."""
CLUSTER_NODES = 256
CENTRES = {
    "TACC": r"\bibrun\b|\bstampede2?\b|\bfrontera\b|\blonestar[56]?\b|\btacc\b|/(?:work2?|scratch|home1)/0\d{4}/",
    "NYU": r"@nyu\.edu|/scratch/work/public|/share/apps/\w+|\bnyu\b|/ext3/env\.sh",
    "Compute Canada": r"\b(?:def|rrg|rpp|ctb)-\w+|\bStdEnv/20\d\d|computecanada|\bcc-?env\b",
    "Jean Zay": r"@(?:v100|a100|h100|gpu|cpu)\b|\bidris\b|\bqos_gpu-|\bjean-?zay\b|/gpfswork/|/linkhome/",
    "NERSC": r"\bnersc\b|\bperlmutter\b|\bcori\b|-(?:-constraint|C)[= ](?:haswell|knl)|/global/(?:c|u|home|project)",
    "SURF": r"surfsara|\bsnellius\b|\bcartesius\b|@surf\.nl|\blisa\b|\bmodule (?:load|purge.*load) 20(?:19|2\d)\b",
}
STRANGERS = "strangers"
ONE_SITE = "one site"
"""Name of the site that has all scripts, if the scripts are not from several of CENTRES."""
LEAST_CENTRES = 3
FROM_SEVERAL = 0.05
"""Minimum share of owners with scripts for one of CENTRES, for the scripts to count as from several centers.

Two more conditions apply: at least LEAST_CENTRES centers have two or more owners each, and no center has more than half
of these owners. In a collection of scripts from a public host, the share was 13 %. In the scripts of one site, the
names of other centers occur only by chance.
"""
_CENTRES = {name: re.compile(rule, re.IGNORECASE) for name, rule in CENTRES.items()}


@dataclass(frozen=True)
class Asking:
    """A query job, with the script from which it is made.

    `kind` is "variant" if the script's application has a record, "own other" if only other applications of its owner
    have records, and "stranger" if its owner has no records, or "generic stranger" if, in addition, the script names
    only programs with generic names.
    """

    kind: str
    script: LabelledScript
    job: JobMetadata


@dataclass(frozen=True)
class ScriptSite:
    """A site with its records, the script of each record (indexed by the record's id), and the query jobs."""

    name: str
    records: tuple[LinkableRecord, ...]
    scripts: tuple[LabelledScript, ...]
    asking: tuple[Asking, ...]


def centre_of(script: LabelledScript) -> str:
    """Return the computing center that a script is written for, or "" if the script points to none or to several."""
    return _centre(script.script.text)


@lru_cache(maxsize=65_536)
def _centre(text: str) -> str:
    found = [name for name, rule in _CENTRES.items() if rule.search(text)]
    return found[0] if len(found) == 1 else ""


def sites(scripts: Sequence[LabelledScript], seed: int) -> Iterator[ScriptSite]:
    """Yield a site for each center for which two or more owners have written scripts.

    If the scripts are not from several centers, yield ONE_SITE only.
    """
    known = [script for script in scripts if script.label.is_known]
    for centre, owners in sorted(_by_centre(known).items()):
        yield _site(centre, owners, random.Random(f"{centre} {seed}"))  # noqa: S311 - not used for security


def _by_centre(known: Sequence[LabelledScript]) -> dict[str, dict[str, list[LabelledScript]]]:
    """Return each center's scripts by owner; if the scripts are not from several centers, ONE_SITE has all scripts."""
    written: dict[str, list[LabelledScript]] = {}
    for script in known:
        if centre := centre_of(script):
            written.setdefault(centre, []).append(script)
    found = {centre: owners for centre, of_one in written.items() if len(owners := _by_owner(of_one)) > 1}
    counts, everyone = [len(owners) for owners in found.values()], _by_owner(known)
    is_mixed = len(found) >= LEAST_CENTRES and 2 * max(counts) <= sum(counts) >= FROM_SEVERAL * len(everyone)
    return found if is_mixed else {ONE_SITE: everyone}


def groups(scripts: Sequence[LabelledScript], seed: int) -> Iterator[ScriptSite]:
    """Yield sites with GROUP owners each, who are drawn from all owners, regardless of centers."""
    rng = random.Random(f"groups {seed}")  # noqa: S311 - not used for security
    owners = [
        (owner, [one for name in rng.sample(sorted(of), min(len(of), MOST)) for one in of[name]])
        for owner, written in _by_owner([script for script in scripts if script.label.is_known]).items()
        for of in [_by_application(written)]
    ]
    rng.shuffle(owners)
    for first in range(0, len(owners), GROUP):
        yield _site(f"group {first // GROUP}", dict(owners[first : first + GROUP]), rng)


def strangers(scripts: Sequence[LabelledScript], seed: int, records: int | None = None) -> ScriptSite:
    """Return a site where half of the owners have one tuned script each, and each other owner has one query job.

    At most `records` scripts are tuned.
    """
    rng = random.Random(f"strangers {seed}")  # noqa: S311 - not used for security
    owners = list(_by_owner([script for script in scripts if script.label.is_known]).items())
    rng.shuffle(owners)
    half = len(owners) // 2
    tuned = [_of_one(rng, written) for _, written in owners[:half]][:records]
    others = [_of_one(rng, written) for _, written in owners[half:]]
    asking = [Asking("generic stranger" if one.label.is_generic else "stranger", one, _job(one, rng)) for one in others]
    return _with_records(STRANGERS, tuned, asking, rng)


def _site(centre: str, owners: Mapping[str, Sequence[LabelledScript]], rng: random.Random) -> ScriptSite:
    tuned: list[LabelledScript] = []
    asking: list[Asking] = []
    for written in owners.values():
        applications = _by_application(written)
        names = sorted(applications)
        rng.shuffle(names)
        known = set(names[: (len(names) + rng.randrange(2)) // 2])
        other = "own other" if known else "stranger"
        for name in names:
            of_one = rng.sample(applications[name], len(applications[name]))
            if name in known:
                tuned.append(of_one.pop())
            kind = "variant" if name in known else other
            asking += [Asking(kind, script, _job(script, rng)) for script in of_one[:ASKING]]
    return _with_records(centre, tuned, asking, rng)


def _with_records(
    name: str, tuned: Sequence[LabelledScript], asking: Sequence[Asking], rng: random.Random
) -> ScriptSite:
    jobs = [_job(script, rng) for script in tuned]
    records = (LinkableRecord(number, job, job.submit_time, ANY_GAIN) for number, job in enumerate(jobs))
    return ScriptSite(name, tuple(records), tuple(tuned), tuple(asking))


def _job(script: LabelledScript, rng: random.Random) -> JobMetadata:
    return dataclasses.replace(script.script.metadata, submit_time=submit_time(rng))


def _of_one(rng: random.Random, written: Sequence[LabelledScript]) -> LabelledScript:
    applications = _by_application(written)
    return rng.choice(applications[rng.choice(sorted(applications))])


def _by_owner(scripts: Sequence[LabelledScript]) -> dict[str, list[LabelledScript]]:
    found: dict[str, list[LabelledScript]] = {}
    for script in scripts:
        found.setdefault(script.script.owner, []).append(script)
    return found


def _by_application(scripts: Sequence[LabelledScript]) -> dict[str, list[LabelledScript]]:
    found: dict[str, list[LabelledScript]] = {}
    for script in scripts:
        found.setdefault(script.application, []).append(script)
    return found
