# SPDX-License-Identifier: Apache-2.0
"""Names of the forwarders that serve each job, chosen so that as few jobs as possible change forwarders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from reprise.matcher.arbiter.forwarding_job import Share

Names = Mapping[str, Sequence[str]]  # names of forwarders, by job id


def name(shares: Mapping[str, Share], forwarders: Sequence[str], before: Names, shared_before: str = "") -> Names:
    """Return the names of each job's forwarders, given the jobs' shares and the names that they have so far.

    `forwarders` are the names of the working forwarders. `shared_before` is the forwarder that jobs have shared so far.
    A job without forwarders has no names. Jobs keep their forwarders, in the same order, as far as their number and
    the other jobs allow: the number of names that a job gets and did not have is the smallest possible in sum. Free
    forwarders that served nobody before are taken first, because requests of the last job may still be under way at the
    others.

    If the shares fit into the pool, each forwarder serves one job, except the one that is shared. If they do not, each
    job still has its number of different forwarders, or all if the pool is smaller, and new ones go to the forwarders
    with the fewest jobs.
    """
    sharers = [job for job, share in shares.items() if share.shared]
    numbers = {job: min(share.forwarders, len(forwarders)) for job, share in shares.items()}
    working = set(forwarders)
    kept = {job: [one for one in dict.fromkeys(before.get(job, ())) if one in working] for job in shares}
    shared = shared_before if sharers and shared_before in working else ""
    if sum(numbers.values()) + bool(sharers) <= len(forwarders):
        names, free = _exclusive(numbers, kept, [one for one in forwarders if one != shared], before)
        shared = shared or (free[0] if free else "")
    else:
        names = _overlapping(numbers, kept, forwarders)
        shared = shared or _least_used(names, forwarders, 1)[0] if forwarders else ""
    return names | {job: [shared] if shared else [] for job in sharers}


def _exclusive(
    numbers: Mapping[str, int], kept: Mapping[str, Sequence[str]], forwarders: Sequence[str], before: Names
) -> tuple[dict[str, Sequence[str]], Sequence[str]]:
    """Return the names of each job, each name once, and the names that are left."""
    allowed = set(forwarders)
    own = {job: [one for one in kept[job] if one in allowed] for job in numbers}
    if max(Counter(chain(*own.values())).values(), default=0) > 1:
        own = _matched(numbers, own)
    names = {job: list(own[job][:number]) for job, number in numbers.items()}
    used = set(chain(*before.values()))
    taken = set(chain(*names.values()))
    free = sorted((one for one in forwarders if one not in taken), key=lambda one: one in used)
    for job, number in numbers.items():
        missing = number - len(names[job])
        names[job] += free[:missing]
        free = free[missing:]
    return dict(names), free


def _matched(numbers: Mapping[str, int], own: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Divide forwarders that several jobs had in common between these jobs, so that the most names are kept.

    This is a maximum matching of names with the places for them in jobs.
    """
    from scipy.sparse import csr_array  # imported here because scipy is slow to import, and this is rare
    from scipy.sparse.csgraph import maximum_bipartite_matching

    places = [job for job, number in numbers.items() for _ in range(number)]
    rows = {one: row for row, one in enumerate(sorted(set(chain(*own.values()))))}
    edges = [(rows[one], column) for column, job in enumerate(places) for one in own[job]]
    row, column = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array(([1] * len(edges), (row, column)), shape=(len(rows), len(places)))
    matching = maximum_bipartite_matching(graph, perm_type="column")
    jobs = {one: places[matching[row]] for one, row in rows.items() if matching[row] >= 0}
    return {job: [one for one in own[job] if jobs.get(one) == job] for job in numbers}


def _overlapping(
    numbers: Mapping[str, int], kept: Mapping[str, Sequence[str]], forwarders: Sequence[str]
) -> dict[str, Sequence[str]]:
    """Return the names of each job if forwarders serve several jobs."""
    holders = Counter(chain(*kept.values()))
    names: dict[str, Sequence[str]] = {}
    for job, number in numbers.items():
        crowded = sorted(kept[job], key=lambda one: -holders[one])[: max(0, len(kept[job]) - number)]
        holders.subtract(crowded)
        names[job] = [one for one in kept[job] if one not in crowded]
    for job, number in numbers.items():
        others = [one for one in forwarders if one not in names[job]]
        names[job] = [*names[job], *_least_used(names, others, number - len(names[job]))]
    return names


def _least_used(names: Names, forwarders: Sequence[str], number: int) -> Sequence[str]:
    """Return the given number of forwarders with the fewest jobs, the first of them if several have equally few."""
    jobs = Counter(chain(*names.values()))
    return sorted(forwarders, key=lambda one: jobs[one])[:number]
