# SPDX-License-Identifier: Apache-2.0
"""The column of soft TF-IDF: paths as sets of tokens, and how many records hold each token.

The fast comparison is a sparse product: each token of the new job, and each token alike to one, has a weight; a path's
sum of weights over its own length bounds its similarity. The lengths hang on how frequent tokens are, so they are
reckoned anew whenever records have come or gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from matcher.linkage import comparers
from matcher.linkage.arrays import Codes, Growing, Indices, Ragged, Reals
from matcher.linkage.columns import Bounds, Column, View
from matcher.linkage.model import SoftTfIdfPart


class SoftTfIdfColumn(Column):
    """Bags of tokens; a token has an id, 0 standing for no token at all."""

    def __init__(self, part: SoftTfIdfPart) -> None:
        self._part = part
        self._ids: dict[str, int] = {}
        self._tokens = [""]
        self._by_length: dict[int, tuple[list[int], list[str]]] = {}  # ids and tokens
        self._frequency = np.zeros(16, np.int64)
        self._codes: dict[bytes, int] = {}
        self._entries = Growing(np.int32)
        self._weights = Growing(np.float64)  # ln(1 + tf)
        self._starts = Growing(np.int64)
        self._starts.extend([0])

    def code(self, value: str) -> int:
        tokens = sorted(self._id(token) for token in comparers.tokens(value, self._part.separators))
        known_as = np.array(tokens, np.int32).tobytes()
        code = self._codes.get(known_as)
        if code is None:
            code = self._codes[known_as] = len(self._codes)
            bag = Counter(tokens)
            self._entries.extend(list(bag) or [0])
            self._weights.extend(np.log1p(list(bag.values()) or [0]))
            self._starts.extend([len(self._entries)])
        return code

    def _id(self, token: str) -> int:
        number = self._ids.get(token)
        if number is None:
            number = self._ids[token] = len(self._tokens)
            self._tokens.append(token)
            same_length = self._by_length.setdefault(len(token), ([], []))
            same_length[0].append(number)
            same_length[1].append(token)
        return number

    def count(self, code: int, change: int) -> None:
        if len(self._frequency) < len(self._tokens):
            self._frequency = np.concatenate([self._frequency, np.zeros(len(self._tokens), np.int64)])
        starts = self._starts.view()
        self._frequency[self._entries.view()[starts[code] : starts[code + 1]]] += change

    def freeze(self, records: int) -> View:
        frequency = np.zeros(len(self._tokens), np.int64)
        known = min(len(frequency), len(self._frequency))
        frequency[:known] = self._frequency[:known]
        return _SoftTfIdfView(
            self._part,
            records,
            frequency,
            self._ids,
            self._tokens,
            [(length, len(numbers), numbers, texts) for length, (numbers, texts) in self._by_length.items()],
            Ragged(self._entries.view(), self._starts.view()),
            self._weights.view(),
            self._codes,
        )


@dataclass(frozen=True)
class _Query:
    """A new job's tokens; and by a token's id, what it adds to the product, at least and at most, and to a square."""

    tokens: comparers.Tokens
    scorer: Any
    least: Reals
    most: Reals | None  # None: as `least`
    lengths: Reals


class _SoftTfIdfView(View):
    cost_ns = 100.0
    is_certain = False

    def __init__(
        self,
        part: SoftTfIdfPart,
        records: int,
        frequency: Indices,
        ids: Mapping[str, int],
        tokens: Sequence[str],
        by_length: Sequence[tuple[int, int, Sequence[int], Sequence[str]]],
        bags: Ragged,
        weights: Reals,
        codes: Mapping[bytes, int],
    ) -> None:
        self.size = len(bags.starts) - 1
        self._part = part
        self._vocabulary = len(frequency)
        self._frequency = frequency
        self._ids, self._tokens, self._by_length = ids, tokens, by_length
        self._bags = bags
        self._weights = weights
        self._codes = codes
        self._soft = comparers.SoftTfIdf(records, self._records_with, part.inner_threshold)
        self._idf = np.log1p((records + 1) / np.maximum(frequency, 1))
        self._squares = np.zeros(0)  # of the bags' lengths, without a new job
        if self.size:
            self._squares = np.add.reduceat((weights * self._idf[bags.ids]) ** 2, bags.starts[:-1])

    def _id(self, token: str) -> int:
        number = self._ids.get(token, 0)
        return number if number < self._vocabulary else 0

    def _records_with(self, token: str) -> int:
        number = self._id(token)
        return int(self._frequency[number]) if number else 0

    def query(self, value: str) -> _Query:
        tokens = comparers.tokens(value, self._part.separators)
        least, lengths = np.zeros(self._vocabulary), np.zeros(self._vocabulary)
        idf = self._soft.idf(tokens)
        weights = comparers.unit_vector(tokens, idf)
        for token, weight in weights.items():
            if number := self._id(token):
                least[number] = weight * idf(token)
                lengths[number] = idf(token) ** 2 - self._idf[number] ** 2
        most = None
        for token in self._soft.pairable(weights):
            for number, likeness in self._alike(token):
                if most is None:
                    most = least.copy()
                other = self._tokens[number]
                most[number] += weights[token] * likeness * idf(other)
        return _Query(tokens, self._soft.against(tokens), least, most, lengths)

    def _alike(self, token: str) -> list[tuple[int, float]]:
        """The other tokens of the records that are alike enough to be paired, with their likeness."""
        threshold = self._part.inner_threshold
        found = []
        for length, count, numbers, texts in self._by_length:
            if min(length, len(token)) < threshold * max(length, len(token)) - 1e-9:
                continue
            likenesses = cdist(
                [token],
                texts[:count],
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=max(0.0, threshold - 0.01),  # rapidfuzz leaves out some that are just at it
                dtype=np.float64,
                workers=1,
            )[0]
            for place in np.flatnonzero(likenesses).tolist():
                if texts[place] != token:
                    found.append((numbers[place], float(likenesses[place])))
        return found

    def bounds(self, query: _Query, codes: Codes | None) -> Bounds:
        entries, begins = self._bags.entries(codes)
        if not len(begins):
            return np.zeros(0), np.zeros(0)
        ids = self._bags.ids if entries is None else self._bags.ids[entries]
        weights = self._weights if entries is None else self._weights[entries]
        squares = self._squares if codes is None else self._squares[codes]
        squares = squares + np.add.reduceat(weights * weights * query.lengths[ids], begins)
        lengths = np.sqrt(np.maximum(squares, 1e-300))

        def similarities(products: Reals) -> Reals:
            return np.minimum(1.0, np.add.reduceat(weights * products[ids], begins) / lengths)

        if not query.tokens:
            alike = (squares <= 0).astype(np.float64)
            return alike, alike
        least = similarities(query.least)
        return (least if query.most is None else similarities(query.most)), least

    def similarity(self, query: _Query, code: int) -> float:
        starts = self._bags.starts
        document: list[str] = []
        for place in range(int(starts[code]), int(starts[code + 1])):
            token = int(self._bags.ids[place])
            document += [self._tokens[token]] * (round(float(np.expm1(self._weights[place]))) if token else 0)
        return float(query.scorer(tuple(document)))

    def is_unknown(self, query: _Query) -> bool:
        return not query.tokens

    def unknown(self) -> int:
        return -1 if (code := self._codes.get(b"", self.size)) >= self.size else code
