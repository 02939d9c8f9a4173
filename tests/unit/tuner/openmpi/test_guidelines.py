# SPDX-License-Identifier: Apache-2.0
"""Test performance guidelines on measured times: real violations, and apparent violations within the noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.tuner.openmpi.catalogue import CATALOGUE
from reprise.tuner.openmpi.guidelines import GUIDELINES, PartSize, Times, violations


def exactly(**seconds: float) -> Times:
    """Return times on 4 ranks without noise; `allgather_1024=2` means that allgather of 1024 bytes takes 2 s."""
    found = {}
    for word, value in seconds.items():
        name, size = word.rsplit("_", 1)
        found[name, 4, int(size)] = (value, value, value)
    return found


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (exactly(allreduce_1024=3, reduce_1024=1, bcast_1024=1), "allreduce <= reduce + bcast: at 1024 bytes on 4"),
        (exactly(allgather_256=9, gather_256=1, bcast_1024=1), "allgather <= gather + bcast: at 256 bytes"),
        (exactly(bcast_1024=9, scatter_256=1, allgather_256=1), "bcast <= scatter + allgather: at 1024 bytes"),
        (exactly(reduce_8=2, allreduce_8=1), "reduce <= allreduce: at 8 bytes"),
        (exactly(gather_8=2, gather_64=1), "gather <= gather of 64 bytes: at 8 bytes"),
    ],
)
def test_a_collective_that_is_slower_than_its_parts_is_reported(times: Times, told: str) -> None:
    (found,) = violations(times)
    assert told in str(found)
    assert found.ratio == found.seconds / found.parts_seconds > 1


@pytest.mark.parametrize(
    "times",
    [
        {},
        exactly(allreduce_1024=2, reduce_1024=1, bcast_1024=1),
        exactly(allreduce_1024=9, reduce_1024=1),
        exactly(allreduce_1024=9, reduce_1024=1, bcast_2048=1),
        exactly(bcast_1023=9, scatter_255=1, allgather_255=1),
        exactly(gather_8=1, gather_64=1),
        {("allreduce", 4, 8): (3.0, 1.9, 4.1), ("reduce", 4, 8): (1.0, 1.0, 1.0), ("bcast", 4, 8): (1.0, 1.0, 1.0)},
        {("reduce", 4, 8): (9.0, 9.0, 9.0), ("allreduce", 8, 8): (1.0, 1.0, 1.0)},
        exactly(barrier_0=5, allreduce_0=1, bcast_0=1),
    ],
    ids=[
        "nothing",
        "as slow",
        "a part",
        "other size",
        "uneven",
        "as slow as larger",
        "noise",
        "other ranks",
        "no data",
    ],
)
def test_collectives_equally_slow_unmeasured_or_within_noise_are_not_reported(times: Times) -> None:
    assert violations(times) == []


def test_the_worst_violation_comes_first() -> None:
    found = violations(exactly(allreduce_8=4, allreduce_64=30, reduce_8=1, reduce_64=1, bcast_8=1, bcast_64=1))
    assert [(one.size, one.ratio) for one in found] == [(64, 15.0), (8, 2.0)]


def test_guidelines_speak_of_collectives_that_are_measured() -> None:
    names = {name for one in GUIDELINES for name in (one.collective, *(part for part, _ in one.parts))}
    assert names <= set(CATALOGUE)
    assert PartSize.SHARE.of(10, 4) is None


SECONDS = st.floats(1e-6, 10.0)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(sorted(CATALOGUE)), st.sampled_from([2, 4]), st.sampled_from([0, 4, 8, 16, 32, 64])),
        st.tuples(SECONDS, SECONDS, SECONDS).map(lambda found: (sorted(found)[1], sorted(found)[0], sorted(found)[2])),
    )
)
def test_only_violations_beyond_noise_are_reported(times: Times) -> None:
    for one in violations(times):
        assert one.ratio > 1
        assert (one.guideline.collective, one.ranks, one.size) in times
