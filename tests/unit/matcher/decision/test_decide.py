# SPDX-License-Identifier: Apache-2.0
"""Test decisions: the conditions under which a job gets settings."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from reprise.allowlist import VERSION
from reprise.database.entities import Decision, Record, RecordStatus, Scope
from reprise.matcher.decision.decide import Question, answered, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.submission import JobFacts, Script, Submission
from reprise.matcher.wire.protocol import decision_reply
from tests.unit.matcher_daemon import RULES, SCRIPT, job, knowing
from tests.unit.matcher_daemon import record as fitting_record

MODEL = load("thesis", 0.7)
POLICY = Policy("test", openmpi=("4.1.4",))
AT = 1.7e9
FORCED = "OMPI_MCA_coll_tuned_bcast_algorithm"


def record(number: int = 1, **changes: Any) -> Record:
    return fitting_record(id=number, **changes)


def context(**changes: Any) -> dict[str, Any]:
    return {"context": {**fitting_record().context, **changes}}


def submission(script: str | None = SCRIPT, *argv: str, command: str = "sbatch", set_names: Any = ()) -> Submission:
    read = None if script is None else Script("/home/alice/job.sh", script)
    words = (command, *argv, *(["/home/alice/job.sh"] if read else []))
    return Submission(command, words, "/home/alice", {}, tuple(set_names), read)


def ask(*records: Record, policy: Policy = POLICY, of: Submission | None = None, **changes: Any) -> Decision:
    values: dict[str, Any] = {"user": "root", "uid": 0, "point": "submit", "mode": "on", "at": AT}
    question = Question(of or submission(), **{**values, **changes})
    return decide(question, knowing(*records, model=MODEL), policy, "d-1")


def test_a_job_like_a_tuned_one_is_given_its_settings() -> None:
    decision = ask(record())
    assert (decision.verdict, decision.record_id, decision.injected) == ("apply", 1, RULES)
    assert decision.score == pytest.approx(1.0)
    assert "record 1" in decision.reason and "30%" in decision.reason
    assert sum(field["contribution"] for field in decision.fields) == pytest.approx(decision.score)
    assert [row["used"] for row in decision.alternatives] == [True]


def test_without_records_nothing_is_given() -> None:
    decision = ask()
    assert (decision.verdict, decision.score, decision.reason) == ("none", None, "no tuned job is known yet")


def test_a_score_under_the_threshold_gives_nothing_and_the_nearest_record_is_stored() -> None:
    decision = ask(record(), user="carol", of=submission("#!/bin/sh\n#SBATCH -N1\nsrun ./other --thing 3\n"))
    assert decision.verdict == "none" and decision.injected == {} and decision.record_id is None
    assert decision.score is not None and decision.score < 0.7
    assert decision.reason == "no similar tuned job is known"
    assert "below the threshold" in decision.alternatives[0]["why"]


def test_a_score_that_equals_the_threshold_is_enough() -> None:
    score = ask(record(), user="bob").score
    assert score is not None and 0.7 < score < 1
    question = Question(submission(), user="bob", uid=0, point="submit", mode="on", at=AT)
    at_score = knowing(record(), model=load("thesis", score))
    above = knowing(record(), model=load("thesis", score + 1e-6))
    assert decide(question, at_score, POLICY, "d").verdict == "apply"
    assert decide(question, above, POLICY, "d").verdict == "none"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": RecordStatus.QUARANTINED}, "is quarantined"),
        ({"gain_low": 0.0}, "may not gain anything"),
        ({"gain_low": -0.1}, "may not gain anything"),
        (context(cluster="other"), "tuned on cluster other, and this is test"),
        (context(nodes=8), "tuned for 8 nodes, and the job has 4"),
        (context(tasks_per_node=2), "tuned for 2 tasks per node, and the job has 1"),
        (context(nodes=1), "was tuned for 1 node, and the job has 4"),
        (context(openmpi=["5.0.7"]), "harmless to Open MPI 4.1.4"),
        (context(openmpi=[]), "harmless to Open MPI 4.1.4"),
        ({"environment": {"LD_PRELOAD": "/x.so"}}, "allow-list"),
        ({"environment": {"SRO_A": "x" * 5000}}, "longer"),
    ],
)
def test_a_record_that_fails_a_condition_gives_nothing_and_a_reason(changes: dict[str, Any], why: str) -> None:
    decision = ask(record(**changes))
    assert (decision.verdict, decision.injected) == ("none", {})
    assert why in decision.reason and decision.reason.startswith("record 1 (root's lattice")
    assert why in decision.alternatives[0]["why"]


MIXED = {"SRO_CLUSTER_THRESHOLD": "2", "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}
OF_MPICH = submission(SCRIPT.replace("mpirun", "module load mpich\nmpirun"))


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_plugin_gets_no_part_of_a_record_with_a_variable_that_it_does_not_know(version: int) -> None:
    decision = ask(record(environment=MIXED, context={}), of=OF_MPICH, allow_list=version)
    assert (decision.verdict, decision.injected) == ("none", {})
    assert "sets MPIR_CVAR_BCAST_INTRA_ALGORITHM, which the plugin of this job is too old to set" in decision.reason


@pytest.mark.parametrize("version", [VERSION, VERSION + 1, 2**31 - 1])
def test_a_plugin_of_this_release_or_a_later_one_gets_the_whole_record(version: int) -> None:
    assert ask(record(environment=MIXED, context={}), of=OF_MPICH, allow_list=version).injected == MIXED


def test_an_older_plugin_gets_the_records_that_it_knows() -> None:
    assert ask(record(), allow_list=1).injected == RULES


@pytest.mark.parametrize(
    ("releases", "why"),
    [((), "the site declares none"), (("4.0.2", "4.2.1"), "would end programs of MPICH 4.2.1"), (("4.0.2",), "")],
)
def test_a_selection_file_is_given_only_if_it_fits_all_releases_of_mpich(releases: tuple[str, ...], why: str) -> None:
    found = ask(record(**context(mpich=["4.0.2"])), policy=dataclasses.replace(POLICY, mpich=releases))
    assert found.verdict == ("none" if why else "apply")
    assert why in found.reason


PAIRED = "#!/bin/sh\n#SBATCH -N4 --ntasks-per-node=2 {}\nmpirun /home/alice/bin/lattice --steps 200 --size 64\n"


@pytest.mark.parametrize(
    ("measured", "options", "given"),
    [
        ({}, "", True),
        ({}, "-m block", True),
        ({}, "-m cyclic", False),
        ({"placement": "node"}, "-m cyclic", True),
        ({"placement": "node"}, "", False),
        ({"tasks_per_node": 1}, "-m cyclic", False),
    ],
)
def test_collectives_are_given_only_to_jobs_with_the_measured_task_placement(
    measured: dict[str, Any], options: str, given: bool
) -> None:
    known = {"nodes": 4, "tasks_per_node": 2, "openmpi": ["4.1.4"], **measured}
    decision = ask(record(context={"cluster": "test", **known}), of=submission(PAIRED.format(options)))
    assert (decision.verdict == "apply") == given, decision.reason
    if not given and known["tasks_per_node"] == 2:
        assert "tasks placed by" in decision.reason


@pytest.mark.parametrize(
    ("environment", "verdict", "why"),
    [
        ({"SLURM_JOB_CPUS_PER_NODE": "64(x4)"}, "apply", "record 1"),
        ({"SLURM_JOB_CPUS_PER_NODE": "4(x4)"}, "none", "tuned for 64 processors on a node, and the job has 4"),
        ({}, "none", "tuned for 64 processors on a node, and how many the job gets is unknown"),
        ({"SLURM_JOB_CPUS_PER_NODE": "64(x3),4"}, "none", "is unknown"),
    ],
)
def test_thread_settings_are_given_at_the_start_to_jobs_with_as_many_processors(
    environment: dict[str, str], verdict: str, why: str
) -> None:
    tuned = record(**context(processors=64))
    submitted = ask(tuned, of=dataclasses.replace(submission(), env={"SLURM_JOB_CPUS_PER_NODE": "64(x4)"}))
    assert (submitted.verdict, submitted.injected) == ("defer", {}), (
        "variables of the user's shell do not describe the job"
    )
    facts = JobFacts(nodes=4, tasks=4)
    batch = dataclasses.replace(submission(SCRIPT, command="batch"), env=environment)
    started = ask(tuned, point="start", of=batch, facts=facts)
    assert started.verdict == verdict and why in started.reason, started.reason


@pytest.mark.parametrize(
    ("tuned", "environment", "why"),
    [
        (4096, {"SLURM_MEM_PER_NODE": "4096"}, ""),
        (4096, {"SLURM_MEM_PER_CPU": "2048"}, ""),
        (4096, {}, ""),  # without SLURM_MEM_PER_*, the job gets all memory of the node
        (4096, {"SLURM_MEM_PER_NODE": "4095"}, "tuned with 4096 MiB of memory on a node, and the job has 4095 MiB"),
        (4096, {"SLURM_MEM_PER_CPU": "1000"}, "and the job has 2000 MiB"),
        (4096, {"SLURM_MEM_PER_GPU": "9000"}, "how much the job gets is unknown"),
        (0, {}, ""),
        (0, {"SLURM_MEM_PER_NODE": "999999"}, "tuned with all memory of a node, and the job has 999999 MiB"),
        (4096, {"SLURM_JOB_CPUS_PER_NODE": ""}, "how much the job gets is unknown"),
    ],
)
def test_memory_settings_are_given_only_to_jobs_with_the_memory_of_the_trials(
    tuned: int, environment: dict[str, str], why: str
) -> None:
    one = record(**context(memory=tuned))
    assert ask(one).verdict == "defer"
    given = {"SLURM_JOB_CPUS_PER_NODE": "2(x4)", **environment}
    batch = dataclasses.replace(submission(SCRIPT, command="batch"), env=given)
    started = ask(one, point="start", of=batch, facts=JobFacts(nodes=4, tasks=4))
    assert started.verdict == ("none" if why else "apply") and why in started.reason, started.reason


def test_tasks_that_the_script_does_not_name_are_known_at_the_start() -> None:
    script = "#!/bin/sh\n#SBATCH -N4 -c2\nmpirun /home/alice/bin/lattice --steps 200 --size 64\n"
    assert ask(record(), of=submission(script)).verdict == "defer"
    for tasks, verdict in (("1(x4)", "apply"), ("2(x4)", "none"), ("1(x3),2", "none")):
        batch = dataclasses.replace(submission(script, command="batch"), env={"SLURM_TASKS_PER_NODE": tasks})
        assert ask(record(), point="start", of=batch, facts=JobFacts(nodes=4)).verdict == verdict


@pytest.mark.parametrize(
    ("options", "on_nodes", "submitted", "started"),
    [
        ("-n 8", "2(x4)", "defer", "apply"),
        ("-n 8", "3,2(x2),1", "defer", "none"),
        ("-n 8 --ntasks-per-node=2", "2(x4)", "apply", "apply"),
        ("-n 8 --ntasks-per-node=3", "3,2(x2),1", "defer", "none"),  # with -n, --ntasks-per-node is a maximum per node
        ("-n 8 --ntasks-per-node=3", "2(x4)", "defer", "apply"),
    ],
)
def test_rules_are_not_given_to_jobs_with_unequal_tasks_per_node(
    options: str, on_nodes: str, submitted: str, started: str
) -> None:
    script = PAIRED.replace("--ntasks-per-node=2", options).format("")
    tuned = record(**context(tasks_per_node=2))
    assert ask(tuned, of=submission(script)).verdict == submitted
    batch = dataclasses.replace(submission(script, command="batch"), env={"SLURM_TASKS_PER_NODE": on_nodes})
    found = ask(tuned, point="start", of=batch, facts=JobFacts(nodes=4, tasks=8))
    assert found.verdict == started, found.reason
    assert started == "apply" or "more tasks on one node than on another" in found.reason


def test_a_retired_record_is_ignored() -> None:
    assert ask(record(status=RecordStatus.RETIRED)).reason == "no tuned job is known yet"


def test_a_context_that_names_nothing_restricts_nothing() -> None:
    assert ask(record(context={}), policy=Policy("anything")).verdict == "apply"


def test_predicted_settings_are_given_only_where_the_site_allows_them() -> None:
    predicted = record(**context(predicted=True))
    assert "set [matcher] predicted" in ask(predicted).reason and ask(predicted).verdict == "none"
    allowed = ask(predicted, policy=Policy("test", openmpi=("4.1.4",), predicted=True))
    assert allowed.verdict == "apply" and "predicted, and then measured gain of the tuned job: 30%" in allowed.reason
    searched = ask(predicted, record(2))
    assert searched.record_id == 2 and "predicted" not in searched.reason


def test_a_record_must_be_verified_with_every_declared_openmpi_release() -> None:
    both = Policy("test", openmpi=("4.1.4", "5.0.7"))
    assert ask(record(), policy=both).verdict == "none"
    assert "5.0.7" in ask(record(), policy=both).reason
    assert ask(record(**context(openmpi=["5.0.7", "4.1.4", "4.1.6"])), policy=both).verdict == "apply"
    undeclared = ask(record(), policy=Policy("test"))
    assert undeclared.verdict == "none" and "[openmpi] releases" in undeclared.reason


@pytest.mark.parametrize(
    "of",
    [
        submission(set_names=[FORCED]),
        submission(SCRIPT.replace("mpirun", f"export {FORCED}=6\nmpirun")),
        submission(SCRIPT.replace("mpirun", "mpirun --mca coll_tuned_bcast_algorithm 6")),
        submission(SCRIPT, f"--export=ALL,{FORCED}=6"),
    ],
)
def test_a_job_whose_user_sets_a_variable_of_the_component_gets_nothing(of: Submission) -> None:
    decision = ask(record(), of=of)
    assert decision.verdict == "none"
    assert f"who sets {FORCED}" in decision.reason


def test_an_injected_variable_that_the_user_sets_conflicts_without_a_pattern() -> None:
    decision = ask(record(conflicts=()), of=submission(set_names=["OMPI_MCA_coll_tuned_use_dynamic_rules"]))
    assert decision.verdict == "none"


def test_a_job_whose_user_sets_another_variable_gets_its_settings() -> None:
    assert ask(record(), of=submission(set_names=["OMPI_MCA_btl"])).verdict == "apply"


@pytest.mark.parametrize("runtime", ["libasan.so", "/opt/stack/lib/ld.so"])
def test_a_program_that_might_not_start_with_a_library_gets_no_library(runtime: str) -> None:
    library = record(1, environment={"REPRISE_PRELOAD": "jemalloc"}, conflicts=())
    variables = record(2, environment={"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}, conflicts=())
    asking = dataclasses.replace(job("root"), runtime=runtime)
    decision = ask(library, metadata=asking)
    assert decision.verdict == "none" and f"the program, which has {runtime}, might not start" in decision.reason
    assert runtime in decision.alternatives[0]["refusal"]
    assert ask(library, variables, metadata=asking).record_id == 2
    assert ask(library, metadata=job("root")).verdict == "apply"


def test_the_next_best_record_over_the_threshold_serves_when_the_best_is_refused() -> None:
    wrong_nodes = record(1, **context(nodes=16))
    good = record(2, metadata=job("alice").to_json())
    decision = ask(wrong_nodes, good)
    assert (decision.verdict, decision.record_id) == ("apply", 2)
    assert decision.score is not None and decision.score < 1
    told = {row["record"]: row for row in decision.alternatives}
    assert "16 nodes" in told[1]["why"] and not told[1]["used"] and told[2]["used"]


def test_a_good_record_is_found_behind_many_refused_ones() -> None:
    failing = [record(n, created_at=AT + n, status=RecordStatus.QUARANTINED) for n in range(1, 40)]
    good = record(99, metadata=job("alice").to_json())
    decision = ask(*failing, good)
    assert (decision.verdict, decision.record_id) == ("apply", 99)
    assert len(decision.alternatives) == 6


def test_a_record_under_the_threshold_never_serves() -> None:
    failing = [record(n, status=RecordStatus.QUARANTINED) for n in range(1, 8)]
    other = job("carol", "#!/bin/sh\n#SBATCH -N4 -n4\nsrun ./other --thing 3\n")
    assert ask(*failing, record(99, metadata=other.to_json())).verdict == "none"


def test_equal_scores_go_to_the_newest_record() -> None:
    assert ask(record(1, created_at=AT - 9), record(2, created_at=AT), record(3, created_at=AT - 5)).record_id == 2


NO_NODES = SCRIPT.replace("#SBATCH --nodes=4\n", "#SBATCH --nodes=2-8\n")


def test_the_decision_is_deferred_while_the_node_count_is_unknown() -> None:
    decision = ask(record(), of=submission(NO_NODES))
    assert decision.verdict == "defer" and decision.injected == {} and decision.record_id is None
    assert "4 nodes" in decision.reason and "is unknown" in decision.reason


def test_the_node_count_is_known_at_the_start() -> None:
    started: dict[str, Any] = {"point": "start", "of": submission(NO_NODES, command="batch")}
    decision = ask(record(), facts=JobFacts(nodes=4, tasks=4, id=12), **started)
    assert (decision.verdict, decision.job_id) == ("apply", 12)
    assert "the job has 2" in ask(record(), facts=JobFacts(nodes=2, tasks=2), **started).reason
    assert ask(record(), **started).verdict == "none", "still unknown"


def test_a_record_that_does_not_depend_on_nodes_is_not_deferred() -> None:
    assert ask(record(context={"cluster": "test"}), of=submission(NO_NODES)).verdict == "apply"


def test_a_decision_is_not_deferred_for_a_record_that_is_refused_anyway() -> None:
    assert ask(record(gain_low=-1.0), of=submission(NO_NODES)).verdict == "none"


def test_decisions_for_salloc_and_srun_are_never_deferred() -> None:
    of = submission(None, "--nodes=2-8", "mpirun", "/home/alice/bin/lattice", command="salloc")
    assert ask(record(), of=of).verdict == "none"


def test_the_decision_is_deferred_while_the_script_is_not_visible() -> None:
    decision = ask(record(), of=submission(None))
    assert decision.verdict == "defer" and "standard input" in decision.reason


@pytest.mark.parametrize("option", ["--export-file=vars", "--export-f=3"])
def test_the_decision_is_deferred_if_variables_come_from_a_file(option: str) -> None:
    decision = ask(record(), of=submission(SCRIPT, option))
    assert decision.verdict == "defer" and "--export-file" in decision.reason and decision.injected == {}
    other = submission("#!/bin/sh\n#SBATCH -N4\nsort words\n", option)
    assert ask(record(), of=other).verdict == "none", "a job that matches no record is not deferred"
    directive = submission(SCRIPT.replace("\n", f"\n#SBATCH -p main {option}\n", 1))
    assert ask(record(), of=directive).verdict == "defer"


def test_a_wrapped_command_is_visible() -> None:
    of = submission(
        None, "-N4", "-n4", "-J", "lattice", "--wrap", "mpirun /home/alice/bin/lattice --steps 200 --size 64"
    )
    assert ask(record(), of=of).verdict == "apply"


@pytest.mark.parametrize(("policy_mode", "user_mode", "who"), [("observe", "on", "site"), ("on", "observe", "user")])
def test_observe_mode_gives_nothing_but_stores_the_settings_it_would_give(
    policy_mode: str, user_mode: str, who: str
) -> None:
    policy = dataclasses.replace(POLICY, mode=policy_mode)
    decision = ask(record(), policy=policy, mode=user_mode)
    assert (decision.verdict, decision.record_id, decision.injected) == ("observe", 1, RULES)
    assert who in decision.reason
    assert decision_reply(decision)["env"] == {}


def test_the_verdict_on_a_job_without_a_match_is_none_in_observe_mode() -> None:
    assert ask(policy=dataclasses.replace(POLICY, mode="observe")).verdict == "none"


def test_the_mode_explain_decides_like_on() -> None:
    assert ask(record(), mode="explain").verdict == "apply"


def test_a_site_that_is_switched_off_gives_nothing() -> None:
    decision = ask(record(), policy=dataclasses.replace(POLICY, mode="off"))
    assert decision.verdict == "none" and "turned the matcher off" in decision.reason


CLUSTER = {"scope": Scope.CLUSTER, "metadata": {}}
OTHER = submission("#!/bin/sh\n#SBATCH -N4 --ntasks-per-node=1\nmpirun ./other\n")


def test_a_cluster_record_serves_any_mpi_job_that_its_context_covers() -> None:
    decision = ask(record(1), record(2, **CLUSTER), of=OTHER, user="carol")
    assert (decision.verdict, decision.record_id) == ("apply", 2)
    assert "whole cluster" in decision.reason


def test_an_application_record_is_preferred_to_a_cluster_record() -> None:
    decision = ask(record(1), record(2, **CLUSTER, environment={"OMPI_MCA_x": "1"}, created_at=AT + 9))
    assert (decision.record_id, decision.injected) == (1, RULES)
    assert {row["record"]: row["why"] for row in decision.alternatives}[2] == "record 1 is preferred"


def test_a_cluster_record_serves_where_the_application_record_is_refused() -> None:
    assert ask(record(1, status=RecordStatus.QUARANTINED), record(2, **CLUSTER)).record_id == 2


@pytest.mark.parametrize("line", ["./serial", "python3 a.py"])
def test_a_cluster_record_is_not_for_jobs_without_mpi(line: str) -> None:
    of = submission(f"#!/bin/sh\n#SBATCH -N4 --ntasks-per-node=1\n{line}\n")
    decision = ask(record(2, **CLUSTER), of=of)
    assert decision.verdict == "none" and "MPI" in decision.alternatives[0]["why"]


def test_a_cluster_record_is_not_for_other_node_counts() -> None:
    assert ask(record(2, **CLUSTER, **context(nodes=2)), of=OTHER).verdict == "none"


def test_a_component_that_the_user_sets_does_not_prevent_another() -> None:
    io = {"component": "sro", "environment": {"SRO_CACHE": "4096"}, "conflicts": ["SRO_*"]}
    assert ask(record(1), record(2, **io), of=submission(set_names=[FORCED])).injected == {"SRO_CACHE": "4096"}


@pytest.mark.parametrize(
    ("threshold", "context_nodes", "reason"),
    [
        (
            0.5,
            4,
            "record 1 (another user's job): 2 variables of openmpi-collectives, measured gain of the tuned job: 30% "
            "(at least 28%)",
        ),
        (0.5, 8, "record 1 (another user's job) matches, but its settings are not for a job like this one"),
        (0.99, 4, "no similar tuned job is known"),
        (0.99, 8, "no similar tuned job is known"),
    ],
)
def test_the_reason_states_only_component_and_gain_of_another_users_record(
    threshold: float, context_nodes: int, reason: str
) -> None:
    known = record(metadata=job("alice").to_json(), **context(nodes=context_nodes))
    question = Question(submission(), "bob", 1001, "submit", "explain", AT)
    knowledge = knowing(known, model=MODEL.model_copy(update={"threshold": threshold}))
    made = answered(question, knowledge, POLICY, "d-1")
    decision = made.explained(0.0)
    assert decision.reason == reason and made.score is None and decision.score is not None
    assert "alice" not in json.dumps(decision_reply(decision))
    assert (decision.alternatives[0]["user"], decision.alternatives[0]["job"]) == ("alice", "alice's lattice")


def test_a_record_under_the_threshold_also_has_its_refusal_stored() -> None:
    decision = ask(record(**context(nodes=8)), user="carol", of=submission("#!/bin/sh\n#SBATCH -N1\nsrun ./other\n"))
    [told] = decision.alternatives
    assert "below the threshold" in told["why"] and told["refusal"] == "was tuned for 8 nodes, and the job has 1"
    assert told["explained"] is True


def test_secrets_reach_neither_the_decision_nor_its_explanation() -> None:
    script = SCRIPT.replace("--size 64", "--size 64 --db-password hunter2 --url http://u:hunter2@h/")
    known = record(metadata=job(script=script).to_json())
    decision = ask(known, of=submission(script))
    assert decision.verdict == "apply" and decision.score == pytest.approx(1.0)
    assert "hunter2" not in repr(decision)


def test_a_decision_is_json() -> None:
    decision = ask(record(), record(2, **CLUSTER))
    assert json.loads(json.dumps(dataclasses.asdict(decision)))["id"] == "d-1"


def test_the_same_question_gets_the_same_answer() -> None:
    records = [record(n, metadata=job(f"u{n % 3}").to_json()) for n in range(1, 9)]
    assert ask(*records) == ask(*reversed(records))


NCCL = {"NCCL_TUNER_PLUGIN": "example", "NCCL_TUNER_CONFIG_FILE": "/shared/a.conf"}
TORCH = "#!/bin/sh\n#SBATCH -N4\ntorchrun train.py\n"


def test_a_record_for_gpus_is_given_to_jobs_with_gpus_only() -> None:
    of_gpus = record(environment=NCCL, conflicts=["NCCL_*"], scope=Scope.CLUSTER, context={"cluster": "test"})
    without = ask(of_gpus, of=submission())
    assert without.verdict == "none" and "requests none" in str(without.alternatives)
    given = ask(of_gpus, of=submission(SCRIPT, "--gpus-per-node=4"))
    assert (given.verdict, given.injected) == ("apply", NCCL)


def test_a_record_for_gpus_needs_no_mpi_launcher_but_yields_to_its_user() -> None:
    of_gpus = record(environment=NCCL, conflicts=["NCCL_*"], scope=Scope.CLUSTER, context={"cluster": "test"})
    assert ask(of_gpus, of=submission(TORCH, "--gres=gpu:4")).verdict == "apply"
    for name in ("NCCL_TUNER_PLUGIN", "NCCL_ALGO", "NCCL_DEBUG"):
        decided = ask(of_gpus, of=submission(TORCH, "--gres=gpu:4", set_names=[name]))
        assert decided.verdict == "none" and name in str(decided.alternatives)
    rules = record(scope=Scope.CLUSTER, context={"cluster": "test", "openmpi": ["4.1.4"]})
    assert ask(rules, of=submission(TORCH, "--gres=gpu:4")).verdict == "none"
