# SPDX-License-Identifier: Apache-2.0
"""Test the council's decisions: votes, exploring, jobs that opted out, the budget of harm, and lost members."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.council.council_settings import HARM_SHARE, HORIZON, WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.forwarder_report import Report
from reprise.matcher.council.window_council import Council, Decision, Mode
from reprise.matcher.errors import CouncilError
from tests.unit.matcher.council.council_values import HOSTS, READS, WRITES, council, pattern, report, rounds, seeded

EXPLOIT = CouncilSettings(Learner.EPSILON, epsilon=0, first_epsilon=0, caution=0)
"""The rule of the thesis: the window with the largest mean."""
ALWAYS = CouncilSettings(Learner.EPSILON, epsilon=1, first_epsilon=1, harm_share=1)
LEARNERS = pytest.mark.parametrize("learner", list(Learner))


def taught(settings: CouncilSettings = EXPLOIT, hosts: tuple[str, ...] = HOSTS) -> Council:
    """Return a council for which 1 ms is best for writes, and 8 ms for reads."""
    found = council(settings, hosts)
    for context, best in ((WRITES, 1000), (READS, 8000)):
        for window in (500, 1000, 8000):
            found.round.receive(report(hosts[0], window, 200 if window == best else 100, context), 0)
            found.decide()
    found.round.alive = set(hosts)
    return found


def one_round(of: Council, *contexts: str, window: int = 1000) -> Decision:
    """Return the decision after reports in contexts "w" or "r", "-" for an idle forwarder with an unknown pattern."""
    for host, letter in zip(HOSTS, contexts, strict=False):
        context = {"w": WRITES, "r": READS, "-": None}[letter]
        bandwidth = 0 if context is None else 200 if (context is WRITES) == (window == 1000) else 100
        of.round.receive(report(host, window, bandwidth, context), 0)
    return of.decide()


# --- votes


def test_the_window_that_three_of_four_forwarders_prefer_is_announced() -> None:
    decision = one_round(taught(), "w", "w", "r", "w")
    assert (decision.window, decision.mode, decision.votes) == (1000, Mode.EXPLOIT, {1000: 3, 8000: 1})
    assert one_round(taught(), "r", "w", "r", "r").window == 8000


def test_a_tie_keeps_the_window_in_force() -> None:
    for of, window in ((taught(), 1000), (taught(), 8000)):
        of.window = window
        assert one_round(of, "w", "r", "r", "w").window == window


def test_a_tie_without_the_window_in_force_takes_the_smallest() -> None:
    of = taught()
    of.window = 125
    assert one_round(of, "r", "w").window == 1000


def test_a_round_without_a_known_pattern_returns_to_the_last_vote() -> None:
    of = taught()
    one_round(of, "r", "r")
    of.window = 125  # as if the last round had explored
    decision = one_round(of, "-", "-")
    assert (decision.window, decision.mode) == (8000, Mode.KEEP)


def test_a_pattern_that_begins_under_the_window_of_another_one_returns_to_the_default() -> None:
    """Else it would keep a window that may harm it, until another one is explored."""
    of = taught(CouncilSettings(Learner.EPSILON, epsilon=0, first_epsilon=0))
    of.contexts[READS].bandit.update(0, 50)
    of.contexts[READS].bandit.update(8000, 200)
    assert one_round(of, "r", "r", "r", window=8000).window == 8000
    of.contexts.pop(WRITES)
    assert one_round(of, "w", "w", window=8000).window == 0
    assert one_round(of, "r", "r", "w", window=0).window == 8000  # two against one


def test_an_unknown_pattern_that_moves_bytes_returns_to_the_default() -> None:
    of = taught()
    assert one_round(of, "r", "r").window == 8000
    of.round.receive(report("ion1", 8000, 900, None), 0)
    decision = of.decide()
    assert (decision.window, decision.mode, of.learned.window) == (0, Mode.KEEP, 0)


def test_an_unknown_pattern_neither_teaches_nor_votes() -> None:
    of = taught()
    before = of.contexts[WRITES].bandit.arms.copy()
    of.round.receive(report("ion1", 125, 900, None), 0)
    of.round.receive(report("ion2", 1000, 200), 0)
    assert of.decide().votes == {1000: 1}
    assert set(of.contexts) == {WRITES, READS}
    assert of.contexts[WRITES].bandit.arms[125] == before[125]


def test_a_pattern__nothing_was_learned_does_not_vote() -> None:
    of = council(EXPLOIT)
    of.round.receive(report("ion1", 77), 0)  # a window that is not in the settings
    decision = of.decide()
    assert (decision.window, decision.mode, decision.votes) == (0, Mode.KEEP, {})


def test_a_report_without_bandwidth_changes_nothing_and_does_not_vote() -> None:
    of = taught()
    before = of.contexts[WRITES].bandit.arms.copy()
    of.round.receive(report("ion1", 1000, 0), 0)
    decision = of.decide()
    assert of.contexts[WRITES].bandit.arms == before
    assert (decision.votes, decision.mode) == ({}, Mode.KEEP)


# --- learning


def test_the_window_in_force_is_credited_and_not_the_next_one() -> None:
    of = council(ALWAYS)
    for _ in range(20):
        used = of.window
        before = {window: arm.tries for window, arm in of.contexts[WRITES].bandit.arms.items()} if of.contexts else {}
        rounds(of, 1, lambda _: 100.0)
        after = {window: arm.tries for window, arm in of.contexts[WRITES].bandit.arms.items()}
        assert [window for window in WINDOWS if after[window] != before.get(window, 0)] == [used]


def test_each_forwarder_of_a_round_is_a_reward_of_its_own() -> None:
    of = council(EXPLOIT, HOSTS)
    for host, bandwidth in zip(HOSTS, (10, 20, 30, 40), strict=True):
        of.round.receive(report(host, 1000, bandwidth), 0)
    of.decide()
    assert (of.contexts[WRITES].bandit.arms[1000].mean, of.contexts[WRITES].bandit.tries) == (25, 4)


@pytest.mark.parametrize("shares", [(1, 1, 1, 1), (1.5, 1, 1, 0.5)], ids=["equal", "unequal"])
def test_forwarders_with_more_clients_do_not_look_like_noise(shares: tuple[float, ...]) -> None:
    """A window that is 8 % better than the default is found, however different the forwarders are."""
    rng = seeded(4)
    of = council(CouncilSettings(), HOSTS)
    for now in range(200):
        for host, share in zip(HOSTS, shares, strict=True):
            rate = 100 * share * (1.08 if of.window == 500 else 1.0 if of.window == 0 else 0.9) * rng.gauss(1, 0.05)
            of.round.receive(report(host, of.window, rate), now)
        of.decide()
    assert of.learned.window == 500


def test_a_late_report_credits_the_window_that_it_was_measured_with() -> None:
    of = council(EXPLOIT)
    of.round.receive(report("ion1", 250), 0)
    of.decide()
    assert [window for window, arm in of.contexts[WRITES].bandit.arms.items() if arm.tries] == [250]


def test_the_order_of_arrival_changes_nothing() -> None:
    found = []
    for order in (HOSTS, HOSTS[::-1]):
        of = council(CouncilSettings(Learner.EPSILON), HOSTS)
        for now in range(30):
            for host in order:
                of.round.receive(report(host, of.window, 100 + 7 * HOSTS.index(host) + of.window / 100), now)
            of.decide()
        found.append((of.window, of.contexts[WRITES].bandit.arms))
    assert found[0] == found[1]


@LEARNERS
def test_decisions_are_reproducible(learner: Learner) -> None:
    settings = CouncilSettings(learner)
    found = [[one.window for one in rounds(council(settings), 60, lambda window: 100 + window / 90)] for _ in range(2)]
    assert found[0] == found[1] and {settings.default_window, *found[0]} == set(WINDOWS)


def test_one_exploration_is_for_all_forwarders_and_measures_new_windows_first() -> None:
    of = council(ALWAYS, HOSTS)
    used = [of.window, *(one.window for one in rounds(of, len(WINDOWS) - 1, lambda _: 100.0, HOSTS))]
    assert sorted(used) == list(WINDOWS)


def test_windows_that_were_never_measured_are_explored_more_often() -> None:
    of = council(CouncilSettings(Learner.EPSILON, epsilon=0, first_epsilon=1, harm_share=1))
    modes = [one.mode for one in rounds(of, 20, lambda _: 100.0)]
    assert modes[:7].count(Mode.EXPLORE) >= 6 and set(modes[8:]) == {Mode.EXPLOIT}


@pytest.mark.parametrize(
    ("settings", "patience"),
    [(CouncilSettings(), 900), (CouncilSettings(Learner.EPSILON, harm_share=1), 1500)],
    ids=["ucb1 with a budget", "epsilon without"],
)
def test_a_change_of_the_file_system_is_followed(settings: CouncilSettings, patience: int) -> None:
    """The best window becomes the worst one."""
    rng = seeded(3)
    of = council(settings)
    for best, count in ((0, 500), (6, patience)):
        means = {window: 200 - 20 * abs(index - best) for index, window in enumerate(WINDOWS)}
        rounds(of, count, _noisy(means, rng))
        assert of.learned.window in WINDOWS[max(0, best - 1) : best + 2]


def _noisy(means: Mapping[int, float], rng: Random) -> Callable[[int], float]:
    return lambda window: max(1.0, means[window] * rng.gauss(1, 0.1))


# --- low load


def low(of: Council, window: int, bandwidth: float, load: float) -> Decision:
    of.round.receive(report("ion1", window, bandwidth, load=load), 0)
    return of.decide()


def test_a_low_load_that_is_served_leaves_the_estimate_unchanged() -> None:
    of = taught()
    assert of.contexts[WRITES].bandit.arms[1000].mean == 200
    low(of, 1000, 30, load=30)
    assert of.contexts[WRITES].bandit.arms[1000].mean == 200


def test_a_low_load_that_is_not_served_counts_by_the_share_that_was() -> None:
    of = taught()
    low(of, 1000, 30, load=60)
    assert of.contexts[WRITES].bandit.arms[1000].mean == (200 + 100) / 2


def test_a_load_above_the_bandwidth_so_far_counts_as_it_was_measured() -> None:
    of = taught()
    low(of, 1000, 220, load=240)
    assert of.contexts[WRITES].bandit.arms[1000].mean == 210


def test_a_window_that_serves_more_than_it_did_before_is_credited_with_it() -> None:
    of = taught()
    low(of, 500, 150, load=150)  # the mean of 500 us is 100, that of the best window 200
    assert of.contexts[WRITES].bandit.arms[500].mean == 125


def test_requests_that_had_waited_do_not_raise_the_estimate_at_a_low_load() -> None:
    of = taught()
    low(of, 1000, 90, load=60)
    assert of.contexts[WRITES].bandit.arms[1000].mean == 200


def test_a_low_load_says_nothing_about_a_window_that_was_never_measured() -> None:
    of = taught()
    low(of, 125, 30, load=30)
    assert not of.contexts[WRITES].bandit.arms[125].tries


def test_a_low_load_is_never_explored_on_and_costs_no_budget() -> None:
    of = taught(ALWAYS)
    decisions = [low(of, 500, 30, load=30) for _ in range(20)]
    assert {(one.mode, one.obstacle) for one in decisions} == {(Mode.EXPLOIT, "the load is low")}
    assert of.contexts[WRITES].harm.lost == taught(ALWAYS).contexts[WRITES].harm.lost


# --- jobs that opted out


@LEARNERS
@given(st.integers(0, 2**32))
def test_a_job_that_opted_out_is_never_explored_on(learner: Learner, seed: int) -> None:
    settings = CouncilSettings(learner, epsilon=0.7, first_epsilon=1, harm_share=1)
    of, rng = council(settings, HOSTS[:3], seed), seeded(seed)
    for now in range(12):
        for host in rng.sample(HOSTS[:3], rng.randint(1, 3)):
            context, out = rng.choice([WRITES, READS, None]), rng.random() < 0.3
            of.round.receive(report(host, of.window, 100 + of.window / 50, context, opted_out=out), now)
        forbidden = of.round.opted_out
        decision = of.decide()
        assert not forbidden or (decision.mode is not Mode.EXPLORE and "opted out" in decision.obstacle)


@LEARNERS
def test_exploring_continues_when_the_job_that_opted_out_has_ended(learner: Learner) -> None:
    of = council(CouncilSettings(learner))
    for now in range(40):
        of.round.receive(report("ion1", of.window, opted_out=True), now)
        assert of.decide().window == 0
    assert any(one.mode is Mode.EXPLORE for one in rounds(of, 40, lambda _: 100.0))


# --- budget of harm


def lost_share(settings: CouncilSettings, rates: dict[int, float], count: int) -> tuple[float, list[Decision]]:
    """Return the share of the best window's bandwidth that was lost, and all decisions."""
    of = council(settings)
    decisions = rounds(of, count, rates)
    used = [settings.default_window, *(one.window for one in decisions[:-1])]
    return 1 - sum(rates[window] for window in used) / (count * max(rates.values())), decisions


TERRIBLE = {window: 100.0 if window < 8000 else 1.0 for window in WINDOWS}
WORSE = {window: 100.0 if window == 0 else 60.0 for window in WINDOWS}


@pytest.mark.parametrize(("learner", "rates"), [(Learner.EPSILON, TERRIBLE), (Learner.UCB1, WORSE)])
def test_terrible_windows_cost_no_more_than_the_budget(learner: Learner, rates: dict[int, float]) -> None:
    count = 3 * HORIZON
    lost, decisions = lost_share(CouncilSettings(learner, epsilon=0.5), rates, count)
    assert lost <= HARM_SHARE + 1 / count
    assert lost_share(CouncilSettings(learner, epsilon=0.5, harm_share=1), rates, count)[0] > 2 * HARM_SHARE
    spent = [index for index, one in enumerate(decisions) if "used up the budget" in one.obstacle]
    explored = [index for index, one in enumerate(decisions) if one.mode is Mode.EXPLORE]
    assert spent and explored[-1] > spent[0]  # exploring continues once the budget allows it again


def test_the_budget_holds_for_the_first_horizon_too() -> None:
    rates = {window: 100.0 if window == 0 else 5.0 for window in WINDOWS}
    for chance in (0.15, 0.5, 1.0):
        lost, _ = lost_share(CouncilSettings(Learner.EPSILON, epsilon=chance, first_epsilon=1), rates, HORIZON)
        assert 0 < lost <= HARM_SHARE + 1 / HORIZON


def test_one_context_without_budget_stops_exploring_for_all_active_ones_only() -> None:
    of = taught(CouncilSettings(Learner.EPSILON, epsilon=1, first_epsilon=1), HOSTS[:2])
    writes = of.contexts[WRITES]
    writes.harm = writes.harm.after(0, 1e12, HORIZON)
    decision = one_round(of, "w", "r")
    assert (decision.mode, decision.obstacle) == (Mode.EXPLOIT, f"exploring has used up the budget of {WRITES}")
    assert one_round(of, "r", "r").obstacle == ""


def test_any_bandwidths_leave_the_harm_finite() -> None:
    of = council(CouncilSettings())
    for bandwidth in (5e-324, 1e-6, 1e12):
        for window in WINDOWS:
            of.round.receive(Report("ion1", WRITES, 2**63 - 1, bandwidth, window), 0)
            of.decide()
    assert math.isfinite(of.contexts[WRITES].harm.lost)


def test_a_vote_against_a_context_is_not_counted_as_its_harm() -> None:
    of = taught(EXPLOIT)
    one_round(of, "r", "r", "r", "w")
    before = of.contexts[WRITES].harm.lost
    for _ in range(5):
        one_round(of, "r", "r", "r", "w", window=8000)
    assert of.contexts[WRITES].harm.lost == before


# --- members


def test_a_council_with_a_dead_member_decides_within_its_timeout() -> None:
    of = council(CouncilSettings(timeout=1.0), HOSTS)
    for host in HOSTS[:3]:
        of.round.receive(report(host, 1000), 10)
    assert not of.round.is_over(10.9) and of.round.is_over(11)
    decision = of.decide()
    assert (decision.missing, sum(decision.votes.values())) == (["ion4"], 3)
    rounds(of, 1, lambda _: 100.0, HOSTS[:3])  # does not wait again


@given(st.integers(0, 2**32))
def test_a_council_survives_the_loss_and_return_of_any_member(seed: int) -> None:
    of, rng = council(CouncilSettings(timeout=1.0), HOSTS, seed), seeded(seed)
    for now in range(10):
        alive = set(rng.sample(HOSTS, rng.randint(0, 4)))
        for host in HOSTS:
            if host not in alive and rng.random() < 0.5:
                of.round.leave(host)
        for host in alive:
            of.round.receive(report(host, of.window), now)
        assert of.round.is_over(now + 1.0) == bool(alive)
        if alive:
            assert of.decide().window in WINDOWS
            assert of.round.alive == alive


# --- settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 1.1},
        {"first_epsilon": -0.1},
        {"windows": ()},
        {"windows": (1000, 1000)},
        {"windows": (-1, 0)},
        {"default_window": 3},
        {"memory": -1},
        {"horizon": 0},
        {"timeout": 0},
        {"harm_share": float("nan")},
        {"caution": -1},
        {"caution": float("nan")},
    ],
    ids=str,
)
def test_impossible_settings_are_refused_in_one_line(wrong: dict[str, object]) -> None:
    with pytest.raises(CouncilError) as caught:
        CouncilSettings(**wrong)  # type: ignore[arg-type]
    assert ": " in str(caught.value) and "\n" not in str(caught.value)


# --- patterns


@pytest.mark.parametrize("text", ["", "write", "write/shared/strided/8K", "Write/shared/strided/16K", "a/b/c/d/e"])
def test_another_text_is_no_pattern(text: str) -> None:
    with pytest.raises(CouncilError, match="is not a pattern"):
        pattern(text)
