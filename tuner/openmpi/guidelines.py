# SPDX-License-Identifier: Apache-2.0
"""Performance guidelines: a collective is no slower than what one can put together from others for the same result.

Such as allreduce against reduce and bcast, in the spirit of Träff, Gropp and Thakur, "Self-consistent MPI performance
guidelines" (2010). A violation shows a choice that a rule should better, or a measurement that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

# (collective, ranks, size as benchmarks state it) to (mean, low, high) in seconds: a mean and its confidence bounds
Times = Mapping[tuple[str, int, int], tuple[float, float, float]]


class PartSize(Enum):
    """The size of a part, made of the size of the whole. Sizes are as benchmarks state them: one rank's part for
    gather, scatter, allgather and alltoall, the whole message for bcast, reduce, allreduce and reduce_scatter."""

    SAME = "the same"
    ALL = "all ranks' parts together"
    SHARE = "one rank's even share"

    def of(self, size: int, ranks: int) -> int | None:
        """In bytes; None where it cannot be shared out evenly."""
        if self is PartSize.SAME:
            return size
        if self is PartSize.ALL:
            return size * ranks
        return None if size % ranks else size // ranks


@dataclass(frozen=True)
class Guideline:
    """`collective` at a size is no slower than its parts together."""

    collective: str
    parts: Sequence[tuple[str, PartSize]]

    def __str__(self) -> str:
        return f"{self.collective} <= {' + '.join(name for name, _ in self.parts)}"


@dataclass(frozen=True)
class Violation:
    """A collective that is slower than its parts beyond noise: its lower bound is above the sum of their upper bounds.

    `ratio` is its mean over the sum of their means, so over 1.
    """

    guideline: Guideline
    ranks: int
    size: int
    seconds: float
    parts_seconds: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.parts_seconds

    def __str__(self) -> str:
        return (
            f"{self.guideline}: at {self.size} bytes among {self.ranks} ranks it takes {self.seconds:.3g} s, and its "
            f"parts {self.parts_seconds:.3g} s"
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
    """What is slower than its parts beyond noise, the worst first.

    A guideline is only looked at where everything that it speaks of was measured. And of one collective alone: a larger
    message is no faster than a smaller one, which is told as the collective at the smaller size against itself.
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
    """Each size against the next larger one that was measured."""
    for (name, ranks, size), (mean, low, _) in times.items():
        larger = min((s for n, r, s in times if (n, r) == (name, ranks) and s > size), default=None)
        if larger is None:
            continue
        larger_mean, _, larger_high = times[name, ranks, larger]
        if low > larger_high:
            guideline = Guideline(name, ((f"{name} of {larger} bytes", SAME),))
            yield Violation(guideline, ranks, size, mean, larger_mean)
