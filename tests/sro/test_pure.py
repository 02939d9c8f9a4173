# SPDX-License-Identifier: Apache-2.0
"""Test the library's pure functions (window, loaded pieces, permitted cost, settings) against simple models."""

from __future__ import annotations

import ctypes
from collections import Counter, deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from tests.examples import examples

ABSENT, LOADING, LOADED = range(3)
MIB = 1 << 20
MS = 1_000_000


@pytest.fixture(scope="session")
def pure(programs: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(programs / "pure.so"))
    for name in ("test_window", "test_pieces", "test_ledger"):
        getattr(library, name).restype = ctypes.c_void_p
    library.window_add.restype = ctypes.c_uint64
    for name in ("pieces_claim", "piece_touch"):
        getattr(library, name).restype = ctypes.c_bool
    library.test_plan.restype = ctypes.c_int64
    library.test_wait.restype = ctypes.c_int64
    library.test_share.restype = ctypes.c_int64
    return library


@settings_of(max_examples=examples(100))
@given(length=st.integers(1, 20), bins=st.lists(st.integers(0, 12) | st.integers(0, 2**44), max_size=200))
def test_the_window_counts_each_bin_among_the_last_accesses(pure: ctypes.CDLL, length: int, bins: list[int]) -> None:
    window = ctypes.c_void_p(pure.test_window(length))
    last: deque[int] = deque(maxlen=length)
    for one in bins:
        last.append(one)
        assert pure.window_add(window, ctypes.c_uint64(one)) == Counter(last)[one]
    pure.test_window_free(window)


def claim(pure: ctypes.CDLL, pieces: ctypes.c_void_p, first: int, last: int) -> tuple[int, int] | None:
    begin, end = ctypes.c_uint64(first), ctypes.c_uint64(last)
    claimed = pure.pieces_claim(pieces, ctypes.byref(begin), ctypes.byref(end))
    return (begin.value, end.value) if claimed else None


def test_a_piece_is_loaded_again_only_when_it_is_forgotten(pure: ctypes.CDLL) -> None:
    pieces = ctypes.c_void_p(pure.test_pieces())
    assert claim(pure, pieces, 3, 6) == (3, 6)
    assert claim(pure, pieces, 3, 6) is None
    assert claim(pure, pieces, 1, 9) == (1, 9), "a claim may include pieces in the middle that are already loaded"
    assert claim(pure, pieces, 5, 12) == (9, 12), "pieces at the ends that are already loaded are cut off"
    pure.pieces_loaded(pieces, ctypes.c_uint64(1), ctypes.c_uint64(4), 7)
    pure.pieces_give_up(pieces, ctypes.c_uint64(4), ctypes.c_uint64(12))
    assert [pure.test_piece_state(pieces, ctypes.c_uint64(n)) for n in (0, 1, 3, 4, 11)] == [
        ABSENT,
        LOADED,
        LOADED,
        ABSENT,
        ABSENT,
    ]
    assert [pure.piece_touch(pieces, ctypes.c_uint64(3), part) for part in (0, 0, 63, 63, 64, 255, 255)] == [
        1,
        0,
        1,
        0,
        1,
        1,
        0,
    ]


def test_pieces_that_share_a_slot_are_not_confused(pure: ctypes.CDLL) -> None:
    pieces = ctypes.c_void_p(pure.test_pieces())
    far = 8192 + 3
    assert claim(pure, pieces, 3, 4) and claim(pure, pieces, far, far + 1)
    pure.pieces_loaded(pieces, ctypes.c_uint64(3), ctypes.c_uint64(4), 7)
    assert [pure.test_piece_state(pieces, ctypes.c_uint64(n)) for n in (3, far)] == [ABSENT, LOADING]


class Ledger:
    def __init__(self, pure: ctypes.CDLL) -> None:
        self.pure = pure
        self.ledger = ctypes.c_void_p(pure.test_ledger())

    def plan(self, size: int, now: int) -> int:
        """Return how many bytes of a zone of `size` bytes may be loaded, in pieces of 1 MiB."""
        now_ns, piece = ctypes.c_int64(now), ctypes.c_int64(MIB)
        return int(self.pure.test_plan(self.ledger, ctypes.c_int64(size), piece, now_ns))

    def load(self, size: int, now: int, ms_per_mib: float) -> int:
        """Load as much of `size` bytes as is permitted, and return the MiB loaded."""
        planned = self.plan(size, now)
        cost = int(planned / MIB * ms_per_mib * MS)
        if planned:
            self.pure.test_spend(self.ledger, ctypes.c_int64(planned), ctypes.c_int64(cost))
        return planned // MIB

    def reads(self, hits: int, misses: int, miss_ns: int = 200_000, age: int = 1000) -> None:
        """Record `hits` and `misses`. A hit reads data loaded `age` reads earlier, and saves a wait of `miss_ns`."""
        for _ in range(hits):
            self.pure.test_hit(self.ledger, ctypes.c_int64(miss_ns), age)
        for _ in range(misses):
            self.pure.test_miss(self.ledger)


def test_zones_that_do_not_help_are_given_up(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    loaded = 0
    for ms in range(1, 4000):
        loaded += ledger.load(20 * MIB, ms * MS, 1.6)
        ledger.reads(0, 5)
    assert 7 <= loaded <= 8, "the budget is 10 ms plus a 1000th of four seconds, at 1.6 ms per MiB"


def test_zones_that_help_are_loaded_one_after_the_other(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    loaded = []
    for ms in range(200):
        loaded.append(ledger.load(20 * MIB, (100 + ms) * MS, 1.6))
        ledger.reads(9, 1)
    assert loaded[0] == 4, "at first, a MiB is expected to take 2 ms"
    assert loaded[1:10] == [20] * 9
    assert 500 <= sum(loaded) <= 800, "the zones are expected to save nine tenths of a second"


def test_zones_that_help_briefly_are_loaded_only_as_far_as_they_have_paid(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    loaded = 0
    for ms in range(1, 1000):
        now = ledger.load(20 * MIB, ms * MS, 1.6)
        ledger.reads(4 * now, 10, age=10)  # hits that save half of the cost
        loaded += now
    assert 10 <= loaded <= 16, "savings double the budget of 10 ms plus a 1000th of a second"


def test_threads_that_load_at_the_same_time_share_what_it_costs(pure: ctypes.CDLL) -> None:
    assert [pure.test_share(ctypes.c_void_p(pure.test_ledger()), n, ctypes.c_int64(600)) for n in (1, 2)] == [600, 300]


def test_zones_are_in_vain_if_many_reads_waited_and_few_recent_reads_were_saved(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    ledger.reads(0, 5000)
    assert not pure.test_in_vain(ledger.ledger), "zones cannot be in vain before the first is loaded"
    ledger.plan(MIB, 1)
    assert pure.test_in_vain(ledger.ledger)
    ledger.reads(40, 0, age=10)
    assert pure.test_in_vain(ledger.ledger), "hits soon after a load do not count"
    ledger.reads(40, 0)
    assert not pure.test_in_vain(ledger.ledger)
    ledger.reads(0, 2000)
    assert pure.test_in_vain(ledger.ledger)


def test_zones_have_some_time_to_show_that_they_help(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    ledger.plan(MIB, 1)
    ledger.reads(0, 4095)
    assert not pure.test_in_vain(ledger.ledger)


def test_a_zone_is_cut_to_the_permitted_cost_in_whole_pieces(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    assert ledger.plan(3 * MIB + 5, 1) == 3 * MIB + 5, "the whole zone is loaded"
    assert ledger.plan(20 * MIB, 2) == MIB
    assert ledger.plan(20 * MIB, 3) == 0


def test_the_first_piece_is_loaded_whatever_it_costs_and_the_next_waits_for_it(pure: ctypes.CDLL) -> None:
    ledger = Ledger(pure)
    piece = ctypes.c_int64(1 << 40)
    assert pure.test_plan(ledger.ledger, piece, piece, ctypes.c_int64(1)) == 1 << 40
    assert not ledger.plan(MIB, 2)


def test_the_wait_of_a_read_is_estimated_from_reads_that_nothing_delayed(pure: ctypes.CDLL) -> None:
    """Every second read has to wait for loads by other processes, and therefore takes forty times as long."""
    ledger, known = Ledger(pure), 0
    for number in range(1000):
        seen = 4_000_000 if number % 2 else 100_000
        known = pure.test_wait(ledger.ledger, ctypes.c_int64(known), ctypes.c_int64(seen))
    assert 100_000 <= known < 115_000
    for _ in range(1000):
        known = pure.test_wait(ledger.ledger, ctypes.c_int64(known), ctypes.c_int64(4_000_000))
    assert known > 3_900_000, "if all reads wait that long, so does the estimated read"


def test_waits_during_loads_of_the_library_do_not_raise_the_estimated_wait(
    pure: ctypes.CDLL,
) -> None:
    ledger = Ledger(pure)
    assert ledger.plan(MIB, 1) == MIB
    waits = [pure.test_wait(ledger.ledger, ctypes.c_int64(800), ctypes.c_int64(seen)) for seen in (8000, 800, 80)]
    assert waits == [800, 800, 710]
    assert pure.test_wait(ledger.ledger, ctypes.c_int64(0), ctypes.c_int64(1 << 60)) == 50 * MS, (
        "the estimate has an upper limit"
    )


NAMES = ("SRO_DSC_BINSIZE", "SRO_CLUSTER_THRESHOLD", "SRO_PREFETCH_SIZE", "SRO_SEQUENCE_LENGTH")
DEFAULTS = (MIB, 2, 20 * MIB, 100)


class Settings(ctypes.Structure):
    _fields_ = (
        ("disabled", ctypes.c_bool),
        *((name, ctypes.c_int64) for name in ("bin", "threshold", "zone", "sequence", "piece", "part")),
        ("report", ctypes.c_char * 4096),
    )


LOOKUP = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
COMPLAIN = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def settings(pure: ctypes.CDLL, given_: dict[str, str]) -> tuple[Settings, list[str]]:
    values = {name: ctypes.create_string_buffer(value.encode()) for name, value in given_.items()}
    read, said = Settings(), list[str]()
    lookup = LOOKUP(lambda name: ctypes.addressof(values[name.decode()]) if name.decode() in values else None)
    pure.settings_read(ctypes.byref(read), lookup, COMPLAIN(lambda line: said.append(line.decode(errors="replace"))))
    return read, said


def four(read: Settings) -> tuple[int, ...]:
    return read.bin, read.threshold, read.zone, read.sequence


def test_without_variables_all_is_as_documented(pure: ctypes.CDLL) -> None:
    read, said = settings(pure, {})
    assert (four(read), said, read.disabled) == (DEFAULTS, [], False)


@pytest.mark.parametrize(
    "nonsense", ["0", "-1", "x", "1M", " 7", "7 ", "1.5", "99999999999999999999", "0x10", "\n", "é"]
)
@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_value_means_the_default_and_is_reported_only_if_a_report_is_requested(
    pure: ctypes.CDLL, name: str, nonsense: str
) -> None:
    silent = settings(pure, {name: nonsense})
    assert (four(silent[0]), silent[1]) == (DEFAULTS, [])
    read, said = settings(pure, {name: nonsense, "SRO_REPORT": "/tmp/r"})
    (line,) = said
    assert four(read) == DEFAULTS
    assert line.startswith(f'libreprise_sro: {name}="') and "\n" not in line
    assert f"the default {DEFAULTS[NAMES.index(name)]} applies" in line


@pytest.mark.parametrize("name", NAMES)
def test_one_is_the_smallest_value_and_an_empty_value_means_the_default(pure: ctypes.CDLL, name: str) -> None:
    assert four(settings(pure, {name: "1"})[0])[NAMES.index(name)] == 1
    assert four(settings(pure, {name: ""})[0]) == DEFAULTS


@pytest.mark.parametrize(
    ("sizes", "piece", "part"),
    [
        ((MIB, 20 * MIB), MIB, 4096),
        ((20 * MIB, MIB), MIB, 4096),
        ((4 * MIB + 1, 20 * MIB), 4 * MIB + 1, 16385),
        ((65536, MIB), 65536, 4096),
        ((1, 1), 4096, 4096),
    ],
)
def test_pieces_have_256_parts_at_most_and_none_is_smaller_than_a_page(
    pure: ctypes.CDLL, sizes: tuple[int, int], piece: int, part: int
) -> None:
    read, _ = settings(pure, {"SRO_DSC_BINSIZE": str(sizes[0]), "SRO_PREFETCH_SIZE": str(sizes[1])})
    assert (read.piece, read.part) == (piece, part) and (piece - 1) // part < 256


@pytest.mark.parametrize(("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_one_variable_disables_the_library(pure: ctypes.CDLL, value: str, off: bool) -> None:
    assert settings(pure, {"SRO_DISABLE": value})[0].disabled is off
