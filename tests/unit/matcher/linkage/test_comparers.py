# SPDX-License-Identifier: Apache-2.0
"""Test the comparers' similarities: published values, bounds, symmetry and limits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.linkage import comparers, kernel
from reprise.matcher.linkage.comparers import SoftTfIdf
from tests.unit import linkage_oracle

TEXT = st.text(alphabet="abcABC_./-1é", max_size=12)
OPTIONS = st.dictionaries(TEXT, st.frozensets(TEXT, max_size=3), max_size=4)
PATHS = st.lists(st.sampled_from(["home", "alice", "solver", "solver_12345678", "solver_12345679", "bin"]), max_size=5)


def path(text: str) -> tuple[str, ...]:
    return kernel.tokens(text, "/_.", True)


def soft(corpus: list[str], left: str, right: str) -> float:
    return SoftTfIdf.of([path(text) for text in corpus], 0.9).against(path(left))(path(right))


@given(st.text(), st.text("/_.-é𝒳", min_size=1, max_size=4), st.booleans())
def test_tokens_are_the_texts_between_separators(text: str, separators: str, digits: bool) -> None:
    plain = text if digits else re.sub(r"\d", "", text)
    assert kernel.tokens(text, separators, digits) == linkage_oracle.tokens(plain, separators)


def test_levenshtein_is_normalized_by_the_longer_text() -> None:
    assert comparers.levenshtein("antfast", "ant") == pytest.approx(1 - 4 / 7)
    assert comparers.levenshtein("", "") == 1
    assert comparers.levenshtein("", "ant") == 0


def test_cleaning_leaves_letters_and_digits_in_lower_case() -> None:
    assert comparers.clean("Angry_ant-2.É") == "angryant2é"


def test_the_similarity_of_node_counts_falls_with_their_difference() -> None:
    assert comparers.absolute(2, 4, 5) == pytest.approx(0.6)
    assert comparers.absolute(1, 6, 5) == comparers.absolute(1, 600, 5) == 0
    assert comparers.absolute(3, 3, 5) == 1


def test_the_end_of_a_period_is_close_to_its_beginning() -> None:
    assert comparers.circular(23, 0, 24) == pytest.approx(comparers.circular(0, 1, 24))
    assert comparers.circular(59, 1, 60) > 0.89
    assert comparers.circular(0, 30, 60) == pytest.approx(0)
    assert comparers.circular(7, 7, 24) == 1


def test_night_runs_through_midnight() -> None:
    night = [hour for hour in range(24) if comparers.same_side(hour, 23, 22, 6)]
    assert night == [0, 1, 2, 3, 4, 5, 22, 23]


def test_the_similarity_of_options_is_the_mean_share_of_common_values_over_all_keys() -> None:
    left = {"n": frozenset({"1", "2"}), "v": frozenset[str](), "x": frozenset({"a"})}
    right = {"n": frozenset({"2", "3"}), "v": frozenset[str](), "y": frozenset({"a"})}
    assert comparers.options(left, right) == pytest.approx((1 / 3 + 1) / 4)
    assert comparers.options({}, {}) == 1
    assert comparers.options({}, left) == 0


def test_paths_are_split_at_every_separator() -> None:
    assert path("/home/al//app_12.x/run") == ("home", "al", "app", "12", "x", "run")


def test_identical_paths_have_similarity_1_and_an_empty_one_only_with_itself() -> None:
    assert soft(["/a/b"], "/a/b", "/a/b") == 1
    assert soft(["/a/b"], "", "") == 1
    assert soft(["/a/b"], "", "/a/b") == soft(["/a/b"], "/a/b", "") == 0


def test_frequent_parts_of_a_path_count_less() -> None:
    corpus = [f"/home/u{number}/x{number}" for number in range(50)] + ["/opt/solver"]
    assert soft(corpus, "/home/solver", "/opt/solver") > soft(corpus, "/home/a", "/home/b")


def test_a_misspelled_token_counts_by_its_similarity() -> None:
    close, far = soft([], "simulation", "simulatiom"), soft([], "simulation", "stimulations")
    assert close == pytest.approx(0.9)
    assert far == 0, "below the inner threshold"
    longer = soft([], "lattice12", "lattice123")
    assert longer == pytest.approx(0.9), "one insertion in ten characters"


def test_a_long_token_is_paired_once() -> None:
    assert soft([], "simulation/simulatiox", "simulatiom") <= 1


@given(TEXT, TEXT)
def test_levenshtein_is_symmetric_and_bounded(left: str, right: str) -> None:
    assert 0 <= comparers.levenshtein(left, right) == comparers.levenshtein(right, left) <= 1
    assert (comparers.levenshtein(left, right) == 1) == (left == right)


@given(OPTIONS, OPTIONS)
def test_options_are_symmetric_and_bounded(left: comparers.Options, right: comparers.Options) -> None:
    assert 0 <= comparers.options(left, right) <= 1
    assert comparers.options(left, right) == pytest.approx(comparers.options(right, left))
    assert (comparers.options(left, right) == 1) == (left == right)


@given(st.integers(0, 60), st.integers(0, 60))
def test_circular_is_symmetric_bounded_and_periodic(left: int, right: int) -> None:
    similarity = comparers.circular(left, right, 60)
    assert 0 <= similarity <= 1
    assert similarity == pytest.approx(comparers.circular(right, left, 60))
    assert similarity == pytest.approx(comparers.circular(left + 60, right, 60))


@given(st.lists(PATHS, max_size=5), PATHS, PATHS)
def test_soft_tfidf_is_bounded_and_full_only_for_equal_tokens(
    corpus: list[list[str]], left: list[str], right: list[str]
) -> None:
    similarity = SoftTfIdf.of([tuple(document) for document in corpus], 0.9).against(tuple(left))(tuple(right))
    assert 0 <= similarity <= 1
    if sorted(left) == sorted(right):
        assert similarity == 1


@given(st.lists(PATHS, max_size=5), PATHS, PATHS)
def test_soft_tfidf_of_records_is_symmetric(corpus: list[list[str]], left: list[str], right: list[str]) -> None:
    """Both jobs are records here, because swapping a new job with a record would change the frequencies."""
    known = [tuple(left), tuple(right), *(tuple(document) for document in corpus)]
    one = SoftTfIdf.of([tuple(right), *known], 0.9).against(tuple(left))(tuple(right))
    other = SoftTfIdf.of([tuple(left), *known], 0.9).against(tuple(right))(tuple(left))
    assert one == pytest.approx(other, abs=1e-12)
