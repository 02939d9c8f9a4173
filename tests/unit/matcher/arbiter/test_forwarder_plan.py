# SPDX-License-Identifier: Apache-2.0
"""Test the plan of a file: what is read, what is refused, and the reasons for shares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.forwarder_queues.printed_results import APPLICATIONS, TABLE_5_3, table_5_3_jobs
from reprise.matcher.arbiter import plan_file, share_reason
from reprise.matcher.arbiter.forwarder_plan import document, plan, text
from reprise.matcher.arbiter.forwarder_policies import Policy
from reprise.matcher.arbiter.forwarding_job import Pool, Share
from reprise.matcher.arbiter.share_reason import KEPT
from reprise.matcher.errors import ArbiterError
from tests.unit.matcher.arbiter.arbiter_values import job

TABLE: dict[str, Any] = {
    "forwarders": 12,
    "compute_nodes": 512,
    "jobs": [
        {
            "id": name,
            "nodes": APPLICATIONS[name].nodes,
            "processes": APPLICATIONS[name].processes,
            "curve": {str(number): value for number, value in points.items()},
        }
        for name, points in TABLE_5_3.items()
    ],
}
POOL = Pool(8, 64)


def changed(**keys: Any) -> str:
    return json.dumps(TABLE | keys)


def with_job(**keys: Any) -> str:
    return changed(jobs=[{"id": "a", "nodes": 8, "processes": 64} | keys])


def reasons(policy: Policy, *jobs: Any, pool: Pool = POOL) -> dict[str, str]:
    return dict(next(one for one in plan(jobs, pool) if one.policy is policy).reasons)


def test_a_file_has_a_pool_and_jobs_with_curves() -> None:
    pool, jobs = plan_file.read(json.dumps(TABLE), "file")
    assert pool == Pool(12, 512)
    assert list(jobs) == table_5_3_jobs()


def test_a_curve_may_have_runs_and_exact_numbers() -> None:
    _, (one,) = plan_file.read(with_job(curve={"4": [90.0, 100.0, 110.0], "0": 50.0}), "file")
    assert one.curve is not None
    assert list(one.curve) == [0, 4]
    assert one.curve[0].low == 50.0
    assert one.curve[4].samples == 3 and one.curve[4].low < 90.0 < one.curve[4].mean == 100.0


def test_a_job_without_a_curve_is_unknown() -> None:
    _, (one,) = plan_file.read(with_job(), "file")
    assert one.curve is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        (b"\xff\xfe{", "is not valid JSON"),
        ("[]", "valid dictionary"),
        (changed(forwarders=-1), "'forwarders'"),
        (changed(forwarder=1), "did you mean 'forwarders'?"),
        (changed(compute_nodes=0), "'compute_nodes'"),
        (changed(counts=[2, 4]), "file: counts of a pool"),
        (with_job(nodes=0), "'jobs.0.nodes'"),
        (with_job(nodes=2.5), "'jobs.0.nodes'"),
        (with_job(curve={"-1": 5}), "jobs.0.curve"),
        (with_job(curve={"1.5": 5}), "jobs.0.curve"),
        (with_job(curve={"99999": 5}), "file: job a: 99999 forwarders"),
        (with_job(curve={}), "file: job a: a curve without any bandwidth"),
        (with_job(curve={"1": []}), "file: job a: no bandwidth with 1 forwarders"),
        (with_job(curve={"1": -5}), "file: job a: bandwidth -5.0 with 1 forwarders"),
        (with_job(curve={"1": "5"}), "jobs.0.curve"),
        (with_job(curve={"1": True}), "jobs.0.curve"),
        (with_job(curve={"1": [5, None]}), "jobs.0.curve"),
        (with_job(curve={"1": 10**400}), "jobs.0.curve"),
        (changed(direct="no"), "'direct'"),
        (with_job(curve={"1": 1}).replace('"1": 1', '"1": NaN'), "file: job a: bandwidth nan"),
        (changed(jobs=[TABLE["jobs"][0]] * 2), "two jobs have the id 'BT-C'"),
    ],
)
def test_invalid_files_are_refused_in_one_line(content: str | bytes, problem: str) -> None:
    with pytest.raises(ArbiterError) as raised:
        plan_file.read(content, "file")
    message = str(raised.value)
    assert message.startswith("file: ") and problem in message and "\n" not in message


def test_a_plan_has_the_shares_and_sums_of_all_policies() -> None:
    found = document(plan(table_5_3_jobs(), Pool(12, 512)))["policies"]
    assert [one["policy"] for one in found] == [policy.value for policy in Policy]
    mckp = next(one for one in found if one["policy"] == "mckp")
    assert mckp["bandwidth"] == pytest.approx(6791.9) and mckp["forwarders"] == 11
    assert [one["forwarders"] for one in mckp["jobs"]] == [0, 1, 8, 2, 0, 0]
    zero = found[0]
    assert zero["unknown"] == ["BT-D", "IOR-MPI", "POSIX-L"]
    json.dumps(found, allow_nan=False)


def test_a_table_has_a_column_for_each_policy_that_has_shares() -> None:
    jobs = table_5_3_jobs()
    lines = text(plan(jobs, Pool(3, 512)), jobs, Policy.MCKP).splitlines()
    assert lines[0].split() == ["job", "zero", "one", "static", "size", "process", "oracle"]
    assert lines[7].split()[0] == "forwarders"
    assert lines[-1].startswith("mckp: the running jobs need 4 forwarders at least")


def test_names_cannot_change_the_terminal() -> None:
    one = job("a\x1b[2J\nb", {0: 1.0})
    assert "a?[2J?b" in text(plan([one], POOL), [one], Policy.ZERO)


def test_no_jobs_have_an_empty_plan() -> None:
    assert text(plan([], POOL), [], Policy.MCKP).splitlines()[0].split()[0] == "job"


def test_reasons_under_mckp_say_why_a_number_was_not_chosen() -> None:
    found = reasons(
        Policy.MCKP,
        job("a", {0: 10.0, 1: 9.0, 4: 40.0, 8: 50.0, 16: 90.0}, nodes=8),
        job("b", {0: 10.0, 4: 400.0, 8: 410.0}, nodes=12),
        job("c"),
        pool=Pool(10, 64),
    )
    assert found["a"] == (
        "40.0 MB/s; 8 give 50.0 MB/s, but no allocation with them has a larger sum; 1 is not surely faster than 0; "
        "16 is impossible: the pool has 10"
    )
    assert found["b"] == "400.0 MB/s, its best option; 8 is impossible: 12 nodes are not divisible by it"
    assert found["c"] == "unknown application: the default"


def test_reasons_under_mckp_name_shared_forwarders_and_full_pools() -> None:
    pool = Pool(2, 64, direct=False)
    jobs = [job(name, {0: 5.0, 1: 30.0 * number}) for number, name in enumerate("abc", 1)]
    found = reasons(Policy.MCKP, *jobs, pool=pool)
    assert found["a"] == (
        "10.0 MB/s at least by sharing a forwarder; no allocation without that has a larger sum; 0 is impossible: "
        "direct access is not allowed"
    )
    assert found["c"].startswith("90.0 MB/s, its best option")
    unknown = reasons(Policy.MCKP, *(job(name, nodes=64) for name in "ab"), pool=Pool(8, 64))
    assert unknown["b"] == "unknown application: the pool is too small for its default, so it has direct access"
    sharing = reasons(Policy.MCKP, *(job(name) for name in "abc"), pool=pool)
    assert sharing["c"] == "unknown application: the pool is too small for its default, so it shares a forwarder"
    impossible = reasons(Policy.MCKP, job("a", {16: 5.0}))
    assert impossible["a"] == "no number of its curve is possible: the default"


def test_reasons_under_formulas_show_the_computation() -> None:
    jobs = table_5_3_jobs()
    pool = Pool(12, 512)
    assert (
        reasons(Policy.STATIC, *jobs, pool=pool)["BT-C"] == "12 x 32 / 512 nodes of the system = 0.75, rounded up to 1"
    )
    assert reasons(Policy.SIZE, *jobs, pool=pool)["BT-D"] == (
        "12 x 64 / 272 nodes of running jobs = 2.82, rounded to 3; 2 is possible"
    )
    assert reasons(Policy.PROCESS, *jobs, pool=pool)["MAD"] == (
        "12 x 64 / 1856 processes of running jobs = 0.41, rounded to 0"
    )
    assert reasons(Policy.ORACLE, *jobs, pool=pool)["IOR-MPI"] == "5089.9 MB/s, its fastest number"
    assert reasons(Policy.ZERO, *jobs)["MAD"] == "direct access for all jobs"
    assert reasons(Policy.ONE, *jobs)["MAD"] == "one for each job"


def test_a_share_that_is_held_but_not_offered_has_a_reason() -> None:
    steep = job("a", {0: 10.0, 4: 50.0, 8: 40.0})
    assert share_reason.reasons(Policy.MCKP, [steep], POOL, {"a": Share(8)}) == {"a": KEPT}
