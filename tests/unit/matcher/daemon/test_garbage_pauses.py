# SPDX-License-Identifier: Apache-2.0
"""Test garbage collection while no client waits: `collect` does nothing unless enough objects were created."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from reprise.matcher.daemon import garbage_pauses


class Knot:
    """An object that refers to itself, so that only a garbage collection frees it."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _as_in_the_daemon() -> Iterator[None]:
    before = gc.get_threshold()
    garbage_pauses.tolerate()
    gc.collect()
    yield
    gc.set_threshold(*before)


def test_a_few_objects_are_not_collected() -> None:
    knot = weakref.ref(Knot())
    garbage_pauses.collect()
    assert knot()


def test_many_objects_trigger_a_collection() -> None:
    knot = weakref.ref(Knot())
    kept = [[] for _ in range(garbage_pauses.DUE + 100)]  # type: ignore[var-annotated]
    assert knot(), "not by itself"
    garbage_pauses.collect()
    assert not knot() and kept


@pytest.mark.slow
def test_objects_of_the_oldest_generation_are_collected_too() -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    gc.collect(0)
    gc.collect(1)
    del knot
    kept: list[list[object]] = []
    for _ in range((garbage_pauses.OLDER + 2) ** 2):
        kept.append([[] for _ in range(garbage_pauses.DUE + 100)])
        garbage_pauses.collect()
        if not gone():
            return
    raise AssertionError("the object was not freed")
