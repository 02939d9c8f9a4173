# SPDX-License-Identifier: Apache-2.0
"""Memory of the credentials that were accepted and that their method would accept again (Slurm's tokens)."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable

from reprise.matcher.wire.credentials import CredentialError, Reusable

TOKENS_MOST = 65_536
"""Maximum number of tokens that are kept (some 16 MB): those of 1,000 requests a second for Slurm's default of 60 s."""


class UsedTokens:
    """Set of used tokens; a token is removed after it has expired.

    A user's token is refused unless more places are free than the user's tokens take. One user can thus take at most
    half of the places, so that a user who floods the matcher leaves places to others.

    A token that was issued before the set was created is refused, because it may have been used before a restart. So is
    a token of the same second, because times are whole seconds.
    """

    def __init__(self, most: int = TOKENS_MOST, clock: Callable[[], float] = time.time) -> None:
        self._most = most
        self._clock = clock
        self._created = int(clock())
        self._used: dict[bytes, int] = {}
        self._users: Counter[int] = Counter()
        self._expiries: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self._used)

    def use(self, token: Reusable, uid: int) -> None:
        """Note that `uid` has used a token. Raises CredentialError if it was used before, or may have been."""
        self._forget_expired()
        if token.issued <= self._created:
            raise CredentialError("slurm: the token was issued before this matcher started, or the clocks differ")
        if token.digest in self._used:
            raise CredentialError("slurm: the token was used before")
        if self._users[uid] >= self._most - len(self._used):
            raise CredentialError("slurm: too many tokens of this user are in use; each is kept until it expires")
        self._used[token.digest] = uid
        self._users[uid] += 1
        heapq.heappush(self._expiries, (token.expires, token.digest))

    def _forget_expired(self) -> None:
        """Forget the tokens that expired more than a second ago, because no Slurm daemon accepts them any more."""
        now = int(self._clock())
        while self._expiries and self._expiries[0][0] < now - 1:
            uid = self._used.pop(heapq.heappop(self._expiries)[1])
            self._users[uid] -= 1
            if not self._users[uid]:
                del self._users[uid]
