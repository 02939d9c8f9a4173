# SPDX-License-Identifier: Apache-2.0
"""Similarities of two values, in [0, 1] and symmetric (Robert 2021, table 7.3; docs/reference/linkage-model.md)."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from rapidfuzz.distance import Hamming, Levenshtein

Options = Mapping[str, frozenset[str]]
Tokens = tuple[str, ...]

_DIGITS = re.compile(r"\d+")
_WITHOUT_DIGITS = dict.fromkeys(map(ord, string.digits))  # for ASCII texts, faster than the regular expression
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


def clean(text: str) -> str:
    """Return a text's letters and digits in lower case (Robert 2021, table 7.2): `angryant2` for `angry_ant_2`."""
    lower = _NEITHER_LETTER_NOR_DIGIT.sub("", text).lower()
    if lower.isascii():
        return lower
    # the lower case of "İ" contains a combining dot, which is not a letter
    return _NEITHER_LETTER_NOR_DIGIT.sub("", lower)


def without_digits(text: str) -> str:
    """Return the text without decimal digits."""
    return text.translate(_WITHOUT_DIGITS) if text.isascii() else _DIGITS.sub("", text)


def exact(left: object, right: object) -> float:
    """Return 1 if both values are equal, else 0."""
    return 1.0 if left == right else 0.0


def levenshtein(left: str, right: str) -> float:
    """Return 1 - (number of edits) / (length of the longer text); 1 if both texts are empty."""
    return Levenshtein.normalized_similarity(left, right)


def hamming(left: str, right: str) -> float:
    """Return the share of the longer text's positions where both texts have the same character; 1 if both are empty."""
    return Hamming.normalized_similarity(left, right)


def options(left: Options, right: Options) -> float:
    """Return the overlap of two jobs' option values, averaged over the keys of both jobs; 1 if neither has options.

    The overlap for a key is the number of common values divided by the number of distinct values of both jobs. The
    overlap is 0 if only one job has the key, and 1 if both have the key without values.
    """
    keys = left.keys() | right.keys()
    if not keys:
        return 1.0
    return math.fsum(_overlap(left[key], right[key]) for key in left.keys() & right.keys()) / len(keys)


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 1.0


def circular(left: float, right: float, period: float) -> float:
    """Return 1 - half the chord between two points on the unit circle: 1 for equal points, 0 for opposite points.

    The values are mapped to points on a circle whose circumference corresponds to `period`.
    """
    apart = abs(left - right) % period  # this formula is exactly symmetric and does not accumulate rounding errors
    return 1.0 - math.sin(math.pi * (min(apart, period - apart) / period))


def same_side(left: float, right: float, start: float, end: float) -> float:
    """Return 1 if both numbers are in the interval [start, end) or both are outside it, else 0.

    If start > end, the interval wraps around through zero.
    """
    return exact(_inside(left, start, end), _inside(right, start, end))


def _inside(value: float, start: float, end: float) -> bool:
    return start <= value < end if start <= end else value >= start or value < end


def ratio(left: float, right: float) -> float:
    """Return the smaller of two numbers divided by the larger; 1 if both are equal.

    Return 0 if the numbers differ and one of them is not positive.
    """
    if left == right:
        return 1.0
    return min(left, right) / max(left, right) if min(left, right) > 0 else 0.0


def absolute(left: float, right: float, maximum: float) -> float:
    """Return 1 - (difference of the numbers) / `maximum`, or 0 if the difference is `maximum` or more."""
    return max(0.0, 1.0 - abs(left - right) / maximum)


def unit_vector(document: Tokens, idf: Callable[[str], float]) -> dict[str, float]:
    """Return the weight of each token of a document, ln(1 + tf) * idf, scaled to a vector of length 1."""
    vector = {token: math.log1p(count) * idf(token) for token, count in Counter(document).items()}
    length = math.sqrt(math.fsum(weight * weight for weight in vector.values()))
    return {token: weight / length for token, weight in vector.items()}


class SoftTfIdf:
    """Soft TF-IDF (Cohen, Ravikumar, Fienberg 2003) over a corpus of token tuples.

    The weight of a token is ln(1 + tf) * ln(1 + N / df), where df of the N documents contain the token, and both
    numbers include the query. A document's vector of weights is scaled to length 1. To compare two documents, equal
    tokens are paired first. Then the most similar of the other tokens are paired, each token once, while their
    Levenshtein similarity is at least `inner_threshold`. The similarity of the documents is the sum, over all pairs, of
    the product of both tokens' weights and the tokens' Levenshtein similarity. Because each token is paired only once,
    the similarity is symmetric and at most 1.
    """

    def __init__(self, documents: int, frequency: Callable[[str], int], inner_threshold: float) -> None:
        """Initialize with the number of documents, and a function that returns how many of them contain a token.

        Both numbers exclude the query.
        """
        self.inner_threshold = inner_threshold
        self._documents = documents
        self._frequency = frequency

    @classmethod
    def of(cls, corpus: Sequence[Tokens], inner_threshold: float) -> SoftTfIdf:
        """Return a comparer whose token frequencies are those of the documents in `corpus`."""
        counts = Counter(token for document in corpus for token in set(document))
        return cls(len(corpus), lambda token: counts[token], inner_threshold)

    def idf(self, query: Tokens) -> Callable[[str], float]:
        """Return a function that returns a token's inverse document frequency, counting the query as a document."""
        in_query = set(query)

        @cache
        def rarity(token: str) -> float:
            return math.log1p((self._documents + 1) / max(self._frequency(token) + (token in in_query), 1))

        return rarity

    def against(self, query: Tokens) -> Callable[[Tokens], float]:
        """Return a function that returns the similarity of a tuple of tokens to `query`."""
        idf = self.idf(query)
        query_weights = unit_vector(query, idf)

        def similarity(document: Tokens) -> float:
            if sorted(document) == sorted(query):
                return 1.0
            return self._similarity(query_weights, unit_vector(document, idf)) if query and document else 0.0

        return similarity

    def _similarity(self, left: Mapping[str, float], right: Mapping[str, float]) -> float:
        common = left.keys() & right.keys()
        products = [left[token] * right[token] for token in common]
        candidates = []
        for a in self.pairable(left.keys() - common):
            for b in self.pairable(right.keys() - common):
                # rapidfuzz excludes some similarities that equal the cutoff (1 edit in 5 characters, at 0.8)
                likeness = Levenshtein.normalized_similarity(a, b, score_cutoff=max(0.0, self.inner_threshold - 0.01))
                if likeness > 0 and likeness >= self.inner_threshold - 1e-9:
                    candidates.append((-likeness, -left[a] * right[b], min(a, b), max(a, b), a, b))
        paired: set[tuple[str, str]] = set()
        for negative_likeness, negative_product, _, _, a, b in sorted(candidates):
            if ("left", a) not in paired and ("right", b) not in paired:
                paired |= {("left", a), ("right", b)}
                products.append(negative_likeness * negative_product)
        return min(1.0, math.fsum(products))

    def pairable(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens that are long enough to be paired with a different token.

        A token is long enough if its similarity to the same token with one more character is at least
        `inner_threshold`.
        """
        return [token for token in tokens if len(token) > self.inner_threshold * (len(token) + 1) - 1e-9]
