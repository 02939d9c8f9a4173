# SPDX-License-Identifier: Apache-2.0
"""Performance guidelines: a collective should be no slower than other collectives that together have the same effect.

For example, an allreduce should be no slower than a reduce followed by a bcast. The guidelines follow Träff, Gropp and
Thakur, "Self-consistent MPI performance guidelines" (2010). A violation indicates a choice that a rule should improve,
or a wrong measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

# Maps (collective, ranks, size) to (mean, low, high) in seconds: the mean and its confidence bounds.
Times = Mapping[tuple[str, int, int], tuple[float, float, float]]


class PartSize(Enum):
    """Message size of one of a guideline's parts, in terms of the size of the guideline's collective.

    Sizes have the meaning that is usual in benchmarks: one rank's part for gather, scatter, allgather and alltoall, the
    whole message for bcast, reduce, allreduce and reduce_scatter.
    """

    SAME = "the same"
    ALL = "all ranks' parts together"
    SHARE = "one rank's even share"

    def of(self, size: int, ranks: int) -> int | None:
        """Return the part's size in bytes, or None if `size` cannot be divided evenly among the ranks."""
        if self is PartSize.SAME:
            return size
        if self is PartSize.ALL:
            return size * ranks
        return None if size % ranks else size // ranks


@dataclass(frozen=True)
class Guideline:
    """The guideline that `collective` takes no longer than its `parts` one after another, each at its own size."""

    collective: str
    parts: Sequence[tuple[str, PartSize]]

    def __str__(self) -> str:
        return f"{self.collective} <= {' + '.join(name for name, _ in self.parts)}"


@dataclass(frozen=True)
class Violation:
    """A measured collective that is slower than its parts beyond noise.

    The lower bound of the collective's time exceeds the sum of the upper bounds of its parts. `ratio` is the
    collective's mean divided by the sum of the parts' means, so it exceeds 1.
    """

    guideline: Guideline
    ranks: int
    size: int
    seconds: float
    parts_seconds: float

    @property
    def ratio(self) -> float:
        """The collective's time divided by that of its parts."""
        return self.seconds / self.parts_seconds

    def __str__(self) -> str:
        return (
            f"{self.guideline}: at {self.size} bytes on {self.ranks} ranks it takes {self.seconds:.3g} s, but its "
            f"parts take {self.parts_seconds:.3g} s"
        )


SAME, ALL, SHARE = PartSize.SAME, PartSize.ALL, PartSize.SHARE
GUIDELINES = (
    Guideline("allreduce", (("reduce", SAME), ("bcast", SAME))),
    Guideline("allreduce", (("reduce_scatter", SAME), ("allgather", SHARE))),
    Guideline("allgather", (("gather", SAME), ("bcast", ALL))),
    Guideline("reduce_scatter", (("reduce", SAME), ("scatter", SHARE))),
    Guideline("bcast", (("scatter", SHARE), ("allgather", SHARE))),
    Guideline("reduce", (("reduce_scatter", SAME), ("gather", SHARE))),
    Guideline("gather", (("allgather", SAME),)),
    Guideline("reduce", (("allreduce", SAME),)),
    Guideline("scatter", (("bcast", ALL),)),
    Guideline("allgather", (("alltoall", SAME),)),
)


def violations(times: Times, guidelines: Sequence[Guideline] = GUIDELINES) -> list[Violation]:
    """Return the collectives that are slower than their parts beyond noise, the worst first.

    A guideline is only checked if all its parts were measured. Each collective is also compared with itself: a smaller
    message must not take longer than a larger one. If the smaller message takes longer, the violation names its size.
    """
    found = [*_against_parts(times, guidelines), *_against_larger(times)]
    return sorted(found, key=lambda violation: -violation.ratio)


def _against_parts(times: Times, guidelines: Sequence[Guideline]) -> Iterator[Violation]:
    for (name, ranks, size), (mean, low, _) in times.items():
        for guideline in guidelines:
            if guideline.collective != name:
                continue
            sizes = [(part, part_size.of(size, ranks)) for part, part_size in guideline.parts]
            parts = [times[part, ranks, bytes_] for part, bytes_ in sizes if bytes_ and (part, ranks, bytes_) in times]
            if len(parts) == len(sizes) and low > sum(high for _, _, high in parts):
                yield Violation(guideline, ranks, size, mean, sum(part_mean for part_mean, _, _ in parts))


def _against_larger(times: Times) -> Iterator[Violation]:
    """Yield a violation for each size at which a collective is slower than at the next larger measured size."""
    for (name, ranks, size), (mean, low, _) in times.items():
        larger = min((s for n, r, s in times if (n, r) == (name, ranks) and s > size), default=None)
        if larger is None:
            continue
        larger_mean, _, larger_high = times[name, ranks, larger]
        if low > larger_high:
            guideline = Guideline(name, ((f"{name} of {larger} bytes", SAME),))
            yield Violation(guideline, ranks, size, mean, larger_mean)
