# SPDX-License-Identifier: Apache-2.0
"""Test the memory of used tokens, with a clock that the test sets."""

from __future__ import annotations

import pytest

from reprise.matcher.daemon.used_tokens import UsedTokens
from reprise.matcher.wire.credentials import CredentialError, Reusable

ALICE, BOB = 1001, 1002


class Clock:
    def __init__(self) -> None:
        self.now = 1000.5

    def __call__(self) -> float:
        return self.now


def token(number: int, issued: int = 1001, expires: int = 1060) -> Reusable:
    return Reusable(number.to_bytes(16, "big"), issued, expires)


def is_taken(used: UsedTokens, one: Reusable, uid: int = ALICE) -> bool:
    try:
        used.use(one, uid)
    except CredentialError:
        return False
    return True


def test_a_token_is_taken_once_until_it_can_no_longer_be_verified() -> None:
    clock = Clock()
    used = UsedTokens(clock=clock)
    assert is_taken(used, token(1)) and not is_taken(used, token(1)) and not is_taken(used, token(1), BOB)
    clock.now = 1060.9  # Slurm verifies a token in the second in which it expires
    assert not is_taken(used, token(1))
    clock.now = 1062.0
    assert is_taken(used, token(2, 1061, 1121)) and len(used) == 1


@pytest.mark.parametrize(("issued", "taken"), [(940, False), (999, False), (1000, False), (1001, True), (1500, True)])
def test_a_token_from_before_the_start_is_refused_because_it_may_have_been_used(issued: int, taken: bool) -> None:
    assert is_taken(UsedTokens(clock=Clock()), token(1, issued)) is taken


def test_a_flood_of_one_user_leaves_places_to_the_others() -> None:
    used = UsedTokens(most=1000, clock=Clock())
    taken = sum(is_taken(used, token(number)) for number in range(2000))
    assert taken == len(used) == 500
    assert sum(is_taken(used, token(number), BOB) for number in range(5000, 7000)) == 250
    assert is_taken(used, token(9000), BOB + 1)


def test_expired_tokens_make_room() -> None:
    clock = Clock()
    used = UsedTokens(most=10, clock=clock)
    for start in range(1000, 5000, 100):
        clock.now = start + 1.0
        assert [is_taken(used, token(start + n, start + 1, start + 61)) for n in range(5)] == [True] * 5
        assert len(used) == 5
