# SPDX-License-Identifier: Apache-2.0
"""Test the next step of a campaign, which depends only on the trials so far, in whatever order they ended."""

from __future__ import annotations

import dataclasses

import pytest

from reprise.database.entities import TrialRole, TrialState
from reprise.tuner.model.component import Problem
from reprise.tuner.model.space import Parameter, Parametrization, Space
from reprise.tuner.model.trial_rows import OBJECTION
from reprise.tuner.steps.costs import in_node_hours, least_searched, least_trials
from reprise.tuner.steps.step import Done, Failed, Scarce, Start, Wait
from tests.unit.tuner_machine import PROBLEM, SPACE, Machine, definition, roles, seconds


def test_the_same_trials_always_give_the_same_next_step() -> None:
    machine = Machine(definition(search={"method": "gp-ei", "initial": 4, "budget": 9, "window": 0}))
    while not isinstance(step := machine.step(), Done):
        assert machine.step() == step
        machine.rows = [dataclasses.replace(row) for row in machine.rows]
        machine.end(machine.start())
    assert step.result.comparison and step.result.comparison.winner == {"size": 6, "kind": "c"}


@pytest.mark.parametrize("parallel", [2, 4])
@pytest.mark.parametrize("newest_first", [False, True])
def test_concurrent_trials_are_as_many_in_total_and_no_point_is_tried_twice(parallel: int, newest_first: bool) -> None:
    machine = Machine(definition())
    result = machine.to_the_end(parallel, newest_first).result
    assert roles(machine)[:11] == ["default"] * 2 + ["search"] * 9
    searched = [SPACE.key(row.parametrization) for row in machine.rows if row.role is TrialRole.SEARCH]
    assert len(set(searched)) == 9 and result.trials == 2 + 9 + 6


def test_the_search_waits_for_the_defaults_and_the_comparison_for_the_search() -> None:
    machine = Machine(definition())
    first, second = machine.start(), machine.start()
    assert machine.step() == Wait()
    machine.end(second)
    assert machine.step() == Wait()
    machine.end(first)
    trials = [machine.start() for _ in range(9)]
    for row in trials:
        assert machine.step() == Wait(), "running trials count toward the budget"
        machine.end(row)
    assert isinstance(machine.step(), Start)


def test_the_runs_of_a_pair_follow_one_another_however_many_trials_run_at_once() -> None:
    machine = Machine(definition())
    while not (machine.rows and machine.rows[-1].role.startswith("final")):
        row = machine.start()
        if not row.role.startswith("final"):
            machine.end(row)
    assert machine.step() == Wait()


@pytest.mark.parametrize("state", [TrialState.PREEMPTED, TrialState.CANCELLED])
def test_an_interrupted_trial_is_started_again(state: TrialState) -> None:
    whole, other = Machine(definition()), Machine(definition())
    whole.to_the_end()
    number = 0
    while not isinstance(other.step(), Done):
        number += 1
        other.end(other.start(), state if number % 3 == 0 else TrialState.COMPLETE)
    kept = [row for row in other.rows if row.state is not state]
    assert [(row.role, row.parametrization, row.value) for row in kept] == [
        (row.role, row.parametrization, row.value) for row in whole.rows
    ]


def test_a_default_that_fails_fails_the_campaign() -> None:
    machine = Machine(definition(), lambda _: None)
    machine.end(row := machine.start())
    assert machine.step() == Failed("the default itself did not run", machine.rows[row.number])


def test_ten_failures_are_checked_with_the_default_before_anything_else_starts() -> None:
    budget = {"method": "random", "budget": 20, "window": 0}
    machine = Machine(definition(search=budget), lambda point: 3.0 if point == PROBLEM.default else None)
    for _ in range(2):
        machine.end(machine.start())
    rows = [machine.start() for _ in range(12)]
    for row in rows[:10]:
        machine.end(row)
    check = machine.start()
    assert check.role is TrialRole.DEFAULT and machine.step() == Wait()
    for row in rows[10:]:
        machine.end(row)
    assert machine.step() == Wait()
    machine.end(check)
    assert isinstance(step := machine.step(), Start) and step.role is TrialRole.SEARCH
    machine.value = lambda _: None
    for _ in range(6):
        machine.end(machine.start())
    machine.rows[check.number] = dataclasses.replace(
        machine.rows[check.number], state=TrialState.FAILED, value=None, message="fabric is down"
    )
    assert isinstance(failed := machine.step(), Failed) and failed.trial.message == "fabric is down"


def test_pruned_trials_are_not_failures_and_never_win() -> None:  # SHAMan, defect 2
    pruning = {"policy": "default", "settings": {"factor": 1.0, "margin": 1.0}}
    search = {"method": "exhaustive", "budget": 23, "window": 0}
    worst = Machine(
        definition(search=search, pruning=pruning), lambda point: 0.5 + float("abc".index(str(point["kind"])))
    )
    result = worst.to_the_end().result
    pruned = [row for row in worst.rows if row.state is TrialState.PRUNED]
    assert {row.parametrization["kind"] for row in pruned} == {"b", "c"}
    assert (result.pruned, result.failed) == (len(pruned), 0) and result.pruned >= 16
    assert all(row.limit_s == 0.5 for row in pruned)
    assert all(row.limit_s is None for row in worst.rows if row.role is not TrialRole.SEARCH)
    assert result.note == "no parametrization beat the default"


def test_the_initial_design_is_pruned_too() -> None:  # SHAMan, defect 3
    machine = Machine(definition(pruning={"policy": "default", "settings": {"factor": 1.5}}))
    for _ in range(2):
        machine.end(machine.start())
    assert machine.start().limit_s == pytest.approx(1.5 * 3.3)


def test_a_bound_of_the_run_time_is_not_a_bound_of_another_objective() -> None:
    """If the objective is not the run time, a trial stopped early counts as failed, and gives the model no value."""
    machine = Machine(definition(search={"method": "random", "budget": 5, "window": 0}))
    for _ in range(2):
        machine.end(machine.start())
    machine.rows = [dataclasses.replace(row, value=7.0, unit="us") for row in machine.rows]
    row = machine.start()
    machine.rows[row.number] = dataclasses.replace(
        row, state=TrialState.PRUNED, value=0.001, limit_s=0.001, elapsed_s=0.001, ordinal=9
    )
    result = machine.to_the_end().result
    assert result.comparison and result.comparison.winner != row.parametrization


def test_repetitions_that_the_noise_policy_wants_are_trials_of_the_search() -> None:
    machine = Machine(definition(noise={"policy": "static", "settings": {"evaluations": 2}}))
    machine.to_the_end()
    searched = [SPACE.key(row.parametrization) for row in machine.rows if row.role is TrialRole.SEARCH]
    assert len(searched) == 9 and len(set(searched)) == 4 + 3, "points of the initial design are measured once"


@pytest.mark.parametrize("parallel", [1, 3])
def test_node_hours_end_the_search_with_room_for_the_comparison(parallel: int) -> None:
    machine = Machine(definition(search={"method": "random", "initial": 4, "budget": 20, "window": 0}))
    machine.allowance = 80.0  # node-seconds; a run of the default takes 6.6
    result = machine.to_the_end(parallel).result
    assert result.stopped == "its share of the node-hours is spent" and result.comparison
    assert 60 < sum((row.elapsed_s or 0) * row.nodes for row in machine.rows) <= 80
    assert result.comparison.default.n == 3


def test_node_hours_that_end_the_search_leave_some_of_it_to_the_leaders() -> None:
    """Racing repeats points in the last part of the trials that the node-hours pay for; the budget has more trials."""
    search = {"method": "random", "budget": 60, "window": 0}
    machine = Machine(definition(search=search, noise={"policy": "racing", "settings": {"share": 0.5}}))
    machine.allowance = 120.0
    result = machine.to_the_end().result
    assert result.stopped == "its share of the node-hours is spent" and result.comparison
    searched = [SPACE.key(row.parametrization) for row in machine.rows if row.role is TrialRole.SEARCH]
    assert searched.count(SPACE.key(result.comparison.winner)) >= 2
    assert len(set(searched)) < len(searched)


@pytest.mark.parametrize(("allowance", "room"), [(6.0, 0), (50.0, 0), (60.0, 1), (66.1, 2), (79.0, 3)])
def test_a_search_that_node_hours_would_end_within_its_design_does_not_begin(allowance: float, room: int) -> None:
    machine = Machine(definition())
    machine.allowance = allowance  # node-seconds; a default run takes 6.6, and the final pairs need six such runs
    while isinstance(step := machine.step(), Start):
        machine.end(machine.start())
    assert isinstance(step, Scarce) and (step.room, step.wanted) == (room, 4)
    assert set(roles(machine)) == {"default"}
    assert step.otherwise.note == f"its share of the node-hours pays for {room} of the 4 trials that a search needs"
    assert step.least == pytest.approx((2 + 4 + 6) * 6.6)
    machine.allowance = step.least + 0.01
    machine.to_the_end()
    assert roles(machine).count("search") >= 4


def test_a_search_that_has_begun_continues_however_few_node_hours_are_left() -> None:
    """An earlier release may have begun a campaign with too few node-hours, and such campaigns can be resumed."""
    machine = Machine(definition())
    for _ in range(3):
        machine.end(machine.start())
    machine.allowance = 60.0
    assert isinstance(machine.to_the_end().result.stopped, str) and "search" in roles(machine)


def test_a_search_needs_no_more_trials_than_there_are_points() -> None:
    few = Problem("p", Space((Parameter("kind", ("a", "b", "c"), "category"),)), {"kind": "a"})
    assert (least_searched(definition(), PROBLEM), least_searched(definition(), few)) == (4, 2)
    short = definition(search={"method": "random", "initial": 10, "budget": 3})
    assert least_trials(short, PROBLEM) == 2 + 3 + 6


@pytest.mark.parametrize(("node_s", "words"), [(3600.0, "1"), (3601.0, "1.1"), (395.0, "0.11"), (1.23e6, "350")])
def test_node_hours_are_rounded_up(node_s: float, words: str) -> None:
    assert in_node_hours(node_s) == words and float(words) * 3600 >= node_s


def test_failed_and_interrupted_trials_are_paid_for() -> None:
    machine = Machine(definition())
    machine.allowance = 65.0
    machine.end(machine.start())
    for _ in range(7):
        machine.end(machine.start(), TrialState.PREEMPTED)
    assert isinstance(machine.step(), Scarce)


def test_a_stop_rule_ends_the_search_and_says_why() -> None:
    search = {"method": "exhaustive", "budget": 20, "stop": [{"rule": "reference", "percent": 80.0}]}
    machine = Machine(definition(search=search))
    result = machine.to_the_end().result
    assert result.stopped == "the best, 2.5, reached 80 % of the default" and result.comparison
    assert roles(machine).count("search") < 20


def test_a_stop_rule_that_was_reached_stays_so_whatever_ends_later() -> None:
    """The first of two concurrent trials ends the search. The second is faster, but no search trial follows."""
    flat = {"method": "random", "initial": 1, "budget": 20, "window": 2, "improvement": 0.5}
    machine = Machine(definition(search=flat), lambda _: 3.0)
    while roles(machine).count("search") < 5:
        row = machine.start()
        if roles(machine).count("search") < 4:
            machine.end(row)
    first, second = machine.open()
    machine.end(first)
    machine.value = lambda _: 1.0
    machine.end(second)
    assert isinstance(step := machine.step(), Start) and step.role.startswith("final")


def test_points_under_repetition_are_completed_after_a_stop_rule() -> None:
    search = {"method": "random", "initial": 1, "budget": 20, "window": 3, "improvement": 0.5}
    machine = Machine(definition(search=search, noise={"policy": "racing"}), lambda _: 3.0)
    machine.to_the_end()
    searched = [SPACE.key(row.parametrization) for row in machine.rows if row.role is TrialRole.SEARCH]
    assert len(searched) <= 20


def test_a_winner_without_effect_does_not_win_even_if_the_default_failed_too() -> None:
    def value(point: Parametrization) -> float | None:
        now = roles(machine)
        return None if now[-1].startswith("final") and now.count(now[-1]) == 3 else seconds(point)

    machine = Machine(definition(), value)
    found = machine.to_the_end().result.comparison
    assert found and found.tuned.n == 2, "a pair in which both runs failed does not count"
    (last,) = [row.number for row in machine.rows if row.role is TrialRole.FINAL_TUNED and row.value is None]
    machine.rows[last] = dataclasses.replace(
        machine.rows[last], message=f"{OBJECTION}component a: no hint of it was seen"
    )
    step = machine.step()
    assert isinstance(step, Done) and step.result.comparison is None
    assert step.result.note == "the best parametrization failed when it was run again"


PAIRS = {"repetitions": {"default_runs": 2, "final_pairs": 3, "more_pairs": 4}}
# run times in s of the winner in the final pairs; the default takes 3.3 s
OPEN, CLEAR, WORSE = (1.0, 5.0, 1.0), (1.0, 1.1, 1.0), (5.0, 6.0, 5.0)


def machine_with(first: tuple[float, ...]) -> Machine:
    """Return a machine on which the winner's first final runs take the seconds in `first`, and later runs take 1 s."""
    machine = Machine(definition(**PAIRS))

    def value(point: Parametrization) -> float:
        tuned = roles(machine).count("final-tuned")
        return (*first, *[1.0] * 4)[tuned - 1] if roles(machine)[-1] == "final-tuned" else seconds(point)

    machine.value = value
    return machine


@pytest.mark.parametrize(("first", "pairs"), [(OPEN, 7), (CLEAR, 3)])
def test_there_are_more_pairs_where_the_winner_seems_better_and_noise_leaves_it_open(
    first: tuple[float, ...], pairs: int
) -> None:
    machine = machine_with(first)
    found = machine.to_the_end().result.comparison
    assert found and roles(machine).count("final-tuned") == roles(machine).count("final-default") == pairs
    assert found.tuned.n == pairs and found.gain_low > 0


def compared(machine: Machine) -> list[Parametrization]:
    return [row.parametrization for row in machine.rows if row.role is TrialRole.FINAL_TUNED]


def test_a_winner_that_was_only_lucky_makes_room_for_the_runner_up() -> None:
    machine = machine_with(WORSE)
    found = machine.to_the_end().result.comparison
    means = {SPACE.key(r.parametrization): r.value for r in machine.rows if r.role is TrialRole.SEARCH}
    lucky, runner_up = sorted(means, key=lambda key: means[key] or 0.0)[:2]
    assert [SPACE.key(point) for point in compared(machine)] == [lucky] * 3 + [runner_up] * 4
    assert found and SPACE.key(found.winner) == runner_up
    assert found.tuned.n == found.default.n == 4 and found.gain_low > 0


def test_a_runner_up_is_not_compared_with_a_single_pair() -> None:
    machine = machine_with(WORSE)
    machine.definition = definition(repetitions={"default_runs": 2, "final_pairs": 3, "more_pairs": 1})
    machine.to_the_end()
    assert len(compared(machine)) == 3


def test_without_more_pairs_there_is_no_runner_up() -> None:
    machine = machine_with(WORSE)
    machine.definition = definition()
    found = machine.to_the_end().result.comparison
    assert found and len(compared(machine)) == 3 and found.gain < 0


def test_a_runner_up_that_did_not_beat_the_default_is_not_compared() -> None:
    def value(point: Parametrization) -> float:
        if roles(machine)[-1] == "final-tuned":
            return 5.0
        return 1.0 if point == {"size": 6, "kind": "c"} else 3.3

    machine = Machine(definition(**PAIRS, search={"method": "exhaustive", "budget": 24, "window": 0}), value)
    found = machine.to_the_end().result.comparison
    assert found and found.winner == {"size": 6, "kind": "c"} and len(compared(machine)) == 3


@pytest.mark.slow
def test_the_winners_comparison_stays_if_the_runner_up_cannot_be_compared() -> None:
    """Either the runner-up fails when it is run again, or the node-hours pay for only one of its pairs."""

    def fails(point: Parametrization) -> float | None:
        return None if roles(machine).count("final-tuned") == 4 and roles(machine)[-1] == "final-tuned" else old(point)

    machine = machine_with(WORSE)
    old, machine.value = machine.value, fails
    failed = machine.to_the_end().result.comparison
    assert failed and failed.winner == compared(machine)[0] != compared(machine)[-1]
    seen = set()
    for allowance in range(80, 150):
        machine = machine_with(WORSE)
        machine.allowance = allowance
        found = machine.to_the_end().result.comparison
        pairs = len(compared(machine))
        if pairs > 2:
            assert found and found.winner == compared(machine)[0 if pairs < 5 else -1]
            seen.add(pairs)
    assert {4, 5} & seen and max(seen) == 7


def test_more_pairs_are_run_only_if_the_node_hours_pay_for_them() -> None:
    pairs = set()
    for allowance in range(80, 150, 10):
        machine = machine_with(OPEN)
        machine.allowance = allowance
        machine.to_the_end()
        assert sum(2 * (row.elapsed_s or 0) for row in machine.rows) <= allowance
        pairs.add(roles(machine).count("final-tuned"))
    assert {4, 5, 6} & pairs and max(pairs) == 7


def test_budget_left_when_every_point_was_tried_repeats_the_leaders() -> None:
    """Once no new point is left, the leaders are repeated, even if more of the budget is left than repetitions need."""
    search = {"method": "genetic", "initial": 4, "budget": 200, "window": 0}
    machine = Machine(definition(search=search, noise={"policy": "racing"}), lambda point: seconds(point) ** 2)
    machine.to_the_end()
    searched = [SPACE.key(row.parametrization) for row in machine.rows if row.role is TrialRole.SEARCH]
    assert len(set(searched)) == len(SPACE.points) - 1 < len(searched)  # all points except the default
