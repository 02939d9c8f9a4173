# SPDX-License-Identifier: Apache-2.0
"""Column of texts that are compared by soft TF-IDF, stored as bags of tokens with the tokens' frequencies.

Bounds are computed fast, as a sparse product. Each token of the new job, and each token that is similar to a token of
the new job, has a weight. The sum of the weights of a bag's tokens, divided by the length of the bag's vector, bounds
the bag's similarity to the new job. The lengths depend on the frequencies of tokens, so they are computed again
whenever records have been added or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from reprise.matcher.linkage import comparers, kernel
from reprise.matcher.linkage.arrays import Codes, Growing, Indices, Ragged, Reals
from reprise.matcher.linkage.columns import BagColumn, Bounds, View
from reprise.matcher.linkage.linkage_model import SoftTfIdfPart
from reprise.matcher.linkage.prepared_record import Numbered, preparation

MOST_LIKES = 4096
"""Maximum number of new jobs' tokens whose lists of similar tokens are cached. Caching pays, because most tokens have
occurred in earlier jobs."""


class TokensOfLength:
    """The tokens of one length in the records, which can be searched for tokens similar to a given token.

    If the threshold allows only one edit, this edit leaves the beginning or the end of a token unchanged, so only
    tokens with an equal beginning or an equal end are compared.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self._end = max(0, (length - 2) // 2)  # length of a token's beginning and end; one edit cannot change both
        self._numbers: list[int] = []
        self._tokens: list[str] = []
        self._heads, self._tails = Growing(np.int64), Growing(np.int64)

    def __len__(self) -> int:
        return len(self._heads)

    def extend(self, numbers: Sequence[int], tokens: Sequence[str]) -> None:
        """Append tokens; `numbers` are their indexes in the SoftTfIdfColumn that owns this object."""
        self._numbers += numbers
        self._tokens += tokens
        self._heads.extend([self._head(token) for token in tokens])
        self._tails.extend([self._tail(token) for token in tokens])

    def _head(self, token: str) -> int:
        return hash(token[: self._end])

    def _tail(self, token: str) -> int:
        return hash(token[len(token) - self._end :])

    def similar(self, token: str, threshold: float, count: int) -> Iterator[tuple[int, float]]:
        """Yield the index in the column, and the similarity, of each token that is similar to `token`.

        A similarity of at least `threshold` is required. Only the first `count` tokens are compared, and a token that
        equals `token` is omitted.
        """
        longer = max(self.length, len(token))
        edits = int((1 - threshold) * longer + 1e-9)
        if edits < max(1, abs(self.length - len(token))):
            return
        tokens: Sequence[str] = self._tokens
        places: Sequence[int] = range(count)
        if edits == 1:
            heads, tails = self._heads.view()[:count], self._tails.view()[:count]
            places = kernel.places_of(heads, tails, self._head(token), self._tail(token))
        if not places or (len(places) == 1 and tokens[places[0]] == token):
            return
        likenesses = cdist(
            [token],
            [tokens[place] for place in places],
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=max(0.0, threshold - 0.01),  # as in `comparers`
            dtype=np.float64,
            workers=1,
        )[0]
        for found in np.flatnonzero(likenesses >= threshold - 1e-9).tolist():
            if tokens[places[found]] != token:
                yield self._numbers[places[found]], float(likenesses[found])


class SoftTfIdfColumn(BagColumn):
    """Column of bags of tokens, with the number of records that contain each token."""

    def __init__(self, part: SoftTfIdfPart) -> None:
        super().__init__()
        self._part = part
        self._by_length: dict[int, TokensOfLength] = {}
        self._placed = 0  # number of tokens in `_by_length`
        self._frequency = np.zeros(16, np.int64)
        self._entries = Growing(np.int32)
        self._weights = Growing(np.float64)  # ln(1 + tf)
        self._starts = Growing(np.int64)
        self._starts.extend([0])

    def _extend(self, new: Ragged) -> None:
        come: dict[int, list[int]] = {}
        tokens = self._items.keys_in_order
        for number in range(self._placed, len(tokens)):
            come.setdefault(len(tokens[number]), []).append(number)
        self._placed = len(tokens)
        for length, numbers in come.items():
            same = self._by_length.setdefault(length, TokensOfLength(length))
            same.extend(numbers, [tokens[number] for number in numbers])
        bags, counts = new.counted()
        self._entries.extend(bags.ids)
        self._weights.extend(np.log1p(counts))
        self._starts.extend(self._starts.view()[-1] + bags.starts[1:])

    def count(self, codes: Codes, change: int) -> None:
        """Add `change` (1 or -1) to the number of records that contain each token of the bags `codes`."""
        if len(self._frequency) < len(self._items):
            self._frequency = np.concatenate([self._frequency, np.zeros(len(self._items), np.int64)])
        bags = Ragged(self._entries.view(), self._starts.view())
        held = np.bincount(bags.of(codes), minlength=len(self._frequency))
        self._frequency += change * held

    def freeze(self, records: int) -> View:
        """Return a view of the column for a table that has `records` records."""
        tokens = len(self._items.keys_in_order)
        frequency = np.zeros(tokens, np.int64)
        frequency[: len(self._frequency)] = self._frequency[:tokens]
        return _SoftTfIdfView(
            self._part,
            records,
            frequency,
            self._items,
            [(same, len(same)) for same in self._by_length.values()],
            Ragged(self._entries.view(), self._starts.view()),
            self._weights.view(),
            self._bags,
        )


class _Query:
    """A new job's tokens; the similarity bounds and the exact similarity function are computed when first needed."""

    def __init__(self, tokens: comparers.Tokens, soft: comparers.SoftTfIdf) -> None:
        self.tokens = tokens
        self.bounds: Bounds | None = None
        self._soft = soft

    @cached_property
    def similarity(self) -> Callable[[comparers.Tokens], float]:
        return self._soft.against(self.tokens)


class _SoftTfIdfView(View):
    cost_ns = 10.0
    is_certain = False
    is_whole = True

    def __init__(
        self,
        part: SoftTfIdfPart,
        records: int,
        frequency: Indices,
        tokens: Numbered,
        by_length: Sequence[tuple[TokensOfLength, int]],
        bags: Ragged,
        weights: Reals,
        known_as: Numbered,
    ) -> None:
        self.size = len(bags)
        self._part = part
        self._tokens_of = preparation(part)
        self._vocabulary = len(frequency)
        self._frequency = frequency
        self._tokens, self._by_length = tokens, by_length
        self._bags = bags
        self._weights = weights
        self._known_as = known_as
        self._soft = comparers.SoftTfIdf(records, self._records_with, part.inner_threshold)
        self._idf = np.log1p((records + 1) / np.maximum(frequency, 1))
        self._likes: dict[str, list[tuple[int, float]]] = {}
        # squared lengths of the bags' vectors, not counting the new job as a document
        self._squares = bags.sums((weights * self._idf[bags.ids]) ** 2)

    def _id(self, token: str) -> int | None:
        number = self._tokens.get(token, self._vocabulary)
        return number if number < self._vocabulary else None

    def _records_with(self, token: str) -> int:
        number = self._id(token)
        return 0 if number is None else int(self._frequency[number])

    def prepared(self, value: str) -> comparers.Tokens:
        tokens: comparers.Tokens = self._tokens_of(value)
        return tokens

    def query(self, prepared: comparers.Tokens) -> _Query:
        return _Query(prepared, self._soft)

    def bounds(self, query: _Query, codes: Codes | None) -> Bounds:
        if query.bounds is None:
            query.bounds = self._all(query)
        most, least = query.bounds
        if codes is None:
            return most, least
        chosen = most[codes]
        return chosen, (chosen if most is least else least[codes])

    def is_exact(self, query: _Query) -> bool:
        return False

    def _all(self, query: _Query) -> Bounds:
        if not query.tokens:
            empty = (self._bags.lengths() == 0).astype(np.float64)
            return empty, empty
        idf = self._soft.idf(query.tokens)
        weights = comparers.unit_vector(query.tokens, idf)
        products: dict[int, float] = {}
        changes: dict[int, float] = {}
        for token, weight in weights.items():
            if (number := self._id(token)) is not None:
                products[number] = weight * idf(token)
                changes[number] = idf(token) ** 2 - float(self._idf[number]) ** 2
        alike: dict[int, float] = {}
        for token in self._soft.pairable(weights):
            for number, likeness in self._similar(token):  # sums all pairs: an upper bound
                more = weights[token] * likeness * idf(self._tokens.keys_in_order[number])
                alike[number] = alike.get(number, 0.0) + more
        bags = self._bags
        return kernel.bag_similarities(
            bags.ids, bags.starts, self._weights, self._squares, self._vocabulary, products, changes, alike
        )

    def _similar(self, token: str) -> list[tuple[int, float]]:
        """Return the index and the similarity of each token in the records that can be paired with `token`."""
        found = self._likes.get(token)
        if found is None:
            threshold = self._part.inner_threshold
            found = [pair for same, count in self._by_length for pair in same.similar(token, threshold, count)]
            if len(self._likes) < MOST_LIKES:
                self._likes[token] = found
        return found

    def similarity(self, query: _Query, code: int) -> float:
        first, last = self._bags.starts[code : code + 2].tolist()
        counts = np.rint(np.expm1(self._weights[first:last])).astype(int).tolist()
        tokens = self._bags.ids[first:last].tolist()
        texts = self._tokens.keys_in_order
        document = [texts[token] for token, count in zip(tokens, counts, strict=True) for _ in range(count)]
        return query.similarity(tuple(document))

    def is_unknown(self, query: _Query) -> bool:
        return not query.tokens

    def unknown(self) -> int:
        return -1 if (code := self._known_as.get(b"", self.size)) >= self.size else code
