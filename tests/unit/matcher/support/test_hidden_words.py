# SPDX-License-Identifier: Apache-2.0
"""Test the part of an explanation that users may read: all of their own data, and no word of another user's data."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import pytest
from rich.console import Console

from reprise.database.entities import Decision, Outcome, Record, RecordStatus
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage import Model, load
from reprise.matcher.linkage.features import FEATURES, Kind
from reprise.matcher.submission import Script, Submission
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import explanation_console
from reprise.matcher.support.explainer import _fitting
from reprise.matcher.support.explanation import share_text
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.job_story import Explained, Story
from reprise.matcher.support.shortfall import shortfall
from reprise.matcher.wire import protocol
from reprise.matcher.wire.protocol import decision_reply
from tests.unit.database_values import forwarder_share
from tests.unit.matcher.support.test_shortfall import BITS
from tests.unit.matcher_daemon import RULES, SCRIPT, job, knowing, record

ALICES = JobMetadata(
    user="alice",
    job_name="aliceword1",
    program="aliceword2",
    path="/home/alice/aliceword3",
    options={"aliceword4": ("aliceword5",), "": ("aliceword6",)},
    submit_time=1.7e9,
    nodes=4,
    tasks_per_node=1,
    tasks=4,
    partition="aliceword7",
    account="aliceword8",
    directory="/home/alice/aliceword9",
    launcher="aliceword10",
    modules=("aliceword11",),
    script="aliceword12",
)
COMPARERS = {Kind.TEXT: "levenshtein", Kind.NUMBER: "absolute", Kind.OPTIONS: "options"}
EVERYTHING = Model.model_validate(
    {
        "name": "everything",
        "version": 1,
        "threshold": 0.55,
        "evidence": {"source": "made up"},
        "fields": [
            {"name": name, "parts": [{"feature": name, "comparer": COMPARERS[feature.kind], **extra}]}
            for name, feature in FEATURES.items()
            for extra in ([{"maximum": 60}] if feature.kind is Kind.NUMBER else [{}])
        ],
    }
)


def alices(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "metadata": ALICES.to_json(),
        "parametrization": {"files": "/home/alice/aliceword13"},
        "environment": {**RULES, "SRO_FILES": "/home/alice/aliceword14"},
    }
    return dataclasses.replace(record(**(values | changes)), id=7)


def decided(
    model: Model, threshold: float, known: Record, *, mode: str = "on", site: str = "on", **job: Any
) -> Decision:
    script = None if job.get("stdin") else Script("/home/bob/job.sh", SCRIPT)
    submission = Submission("sbatch", ("sbatch", "job.sh", *job.get("words", ())), "/home/bob", {}, (), script)
    question = Question(submission, "bob", 1001, "submit", mode, 1.7e9)
    knowledge = knowing(known, model=model.model_copy(update={"threshold": threshold}))
    return decide(question, knowledge, Policy("test", mode=site, openmpi=("4.1.4",)), "d-1")


def story(decision: Decision, known: Record) -> Story:
    outcome = Outcome("test", 12, None, decision.uid, decision.verdict, 1.7e9, decision.id)
    return Story([Explained(decision, shortfall(decision))], [outcome], {known.id: known})


def shown(told: Story) -> str:
    """Return all text of an explanation, as printed and as JSON."""
    out = Console(file=io.StringIO(), width=300, highlight=False, markup=False)
    explanation_console.show(out, told)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue() + json.dumps(told.to_json())


@pytest.mark.parametrize("model", [load("thesis"), EVERYTHING, BITS], ids=lambda model: model.name)
@pytest.mark.parametrize(
    ("threshold", "verdict", "changes", "how"),
    [
        (0.001, "apply", {"environment": RULES}, {}),
        (0.999, "none", {}, {}),
        (0.001, "none", {"status": RecordStatus.QUARANTINED}, {}),
        (0.001, "none", {"environment": {"SRO_A": "aliceword15" * 900}}, {}),
        (0.001, "observe", {}, {"mode": "observe"}),
        (0.001, "observe", {}, {"site": "observe"}),
        (0.001, "none", {}, {"site": "off"}),
        (0.001, "defer", {}, {"words": ("--export-file=x",)}),
        (0.001, "defer", {}, {"stdin": True}),
    ],
)
def test_no_word_of_another_users_record_is_shown(
    model: Model, threshold: float, verdict: str, changes: dict[str, Any], how: dict[str, Any]
) -> None:
    known = alices(**changes)
    decision = decided(model, threshold, known, **how)
    assert decision.verdict == verdict
    everything = story(decision, known)
    assert "alice" in shown(everything), "the full story contains a word to hide"
    told = hide(everything, 1001)
    assert [one.decision.id for one in told.decisions] == ["d-1"]
    said = shown(told)
    # bob's job runs a program in alice's home directory, so her name in the path is also bob's data
    own = json.dumps(decision.metadata["path"]).strip('"')
    assert "alice" not in said.replace(own, "")
    assert "alice" not in json.dumps(decision_reply(decision))


def test_the_similarity_to_another_users_job_is_not_shown() -> None:
    """The score, the nearest records and the list of sufficient changes would reveal the similarity."""
    for threshold in (0.999, 0.5, 0.001):
        decision = decided(load("thesis"), threshold, alices())
        [told] = hide(story(decision, alices()), 1001).decisions
        assert (told.decision.score, told.decision.fields, told.shortfall) == (None, (), None)
        assert [row["score"] for row in told.decision.alternatives] == [None] * (decision.verdict == "apply")
        digits = [f"{number:.3f}" for row in decision.alternatives for number in [row["score"]]]
        assert not any(some in shown(hide(story(decision, alices()), 1001)) for some in digits)


def test_only_component_and_gain_of_another_users_record_are_shown() -> None:
    decision = decided(load("thesis"), 0.001, alices())
    assert decision.verdict == "apply"
    told = hide(story(decision, alices()), 1001).to_json()["records"]["7"]
    assert (told["component"], told["gain"]) == ("openmpi-collectives", 0.3)
    assert told["context"] is told["default"] is told["tuned"] is told["metadata"] is None


def test_a_gain_in_a_benchmark_is_shown_as_such_for_another_users_record() -> None:
    known = alices(parametrization={"rules": [{"problem": "bcast/4096", "applied": True}]}, environment=RULES)
    told = hide(story(decided(load("thesis"), 0.001, known), known), 1001)
    sent = Story.from_json(json.loads(json.dumps(told.to_json())))
    for text in (shown(told), shown(sent)):
        assert "gain of bcast of 4 KiB in a benchmark: 30.0% (28.0% to 32.0%)" in text
        assert "gain of bcast of 4 KiB in a benchmark: 30% (at least 28%)" in text
        assert "aliceword" not in text


def test_settings_of_another_users_record_are_hidden_in_observe_mode() -> None:
    decision = decided(load("thesis"), 0.001, alices(), mode="observe")
    told = hide(story(decision, alices()), 1001)
    assert told.decisions[0].decision.injected == {} and "injected" in told.decisions[0].hidden
    assert "Would have been set: (hidden)" in shown(told) and "another user's" in shown(told)


@pytest.mark.parametrize("threshold", [0.1, 0.999])
@pytest.mark.parametrize("mode", ["on", "observe"])
def test_nothing_is_hidden_of_the_users_own_record(threshold: float, mode: str) -> None:
    known = dataclasses.replace(record(metadata=job("bob").to_json()), id=7)
    whole = story(decided(load("thesis"), threshold, known, mode=mode), known)
    assert hide(whole, 1001) == whole


FAR = "#!/bin/bash\n#SBATCH --job-name=o{0}\n#SBATCH --nodes=1\nsrun /opt/other{0} -q {0}\n"


@pytest.mark.parametrize("given", [True, False])
def test_the_rank_of_another_users_record_is_not_revealed(given: bool) -> None:
    """A rank among many records of bob's own would reveal how similar alice's record is, as a score would."""
    script = Script("/home/bob/job.sh", SCRIPT)
    submission = Submission("sbatch", ("sbatch", "job.sh"), "/home/bob", {}, (), script)
    question = Question(submission, "bob", 1001, "submit", "on", 1.7e9)
    scripts = [SCRIPT] * given + [FAR.format(number) for number in range(6)]
    own = [
        dataclasses.replace(record(metadata=job("bob", text).to_json()), id=number)
        for number, text in enumerate(scripts, 1)
    ]
    near = alices(environment=RULES, metadata=job("alice").to_json())
    far = alices(environment=RULES, metadata=JobMetadata("alice").to_json())
    model = load("thesis").model_copy(update={"threshold": 0.001 if given else 0.9999})
    seen, looked_at = [], []
    for known in (own, [*own, near], [*own, far]):
        records = [dataclasses.replace(one, id=number) for number, one in enumerate(known, 1)]
        decision = decide(question, knowing(*records, model=model), Policy("test", openmpi=("4.1.4",)), "d-1")
        assert decision.verdict == ("apply" if given else "none")
        looked_at.append({row["user"] for row in decision.alternatives})
        seen.append(shown(hide(story(decision, records[0]), 1001)))
    assert looked_at == [{"bob"}, {"alice", "bob"}, {"bob"}]
    assert seen[0] == seen[1] == seen[2]


def test_nothing_is_hidden_of_a_record_for_the_whole_cluster() -> None:
    from reprise.database.entities import Scope

    known = dataclasses.replace(record(scope=Scope.CLUSTER, metadata={}), id=7)
    whole = story(decided(load("thesis"), 0.5, known, mode="observe"), known)
    assert whole.decisions[0].decision.injected == RULES
    assert hide(whole, 1001) == whole


def test_other_users_decisions_and_reports_with_the_same_job_id_are_not_shown() -> None:
    decision = decided(load("thesis"), 0.5, alices())
    assert not hide(story(decision, alices()), 1002)


def test_records_without_a_stored_owner_are_hidden() -> None:
    decision = decided(load("thesis"), 0.999, alices())
    rows = [
        {key: value for key, value in row.items() if key not in ("user", "explained")} for row in decision.alternatives
    ]
    said = shown(hide(story(dataclasses.replace(decision, alternatives=rows), alices()), 1001))
    assert "aliceword" not in said


def test_a_hidden_story_can_be_sent_and_read() -> None:
    told = hide(story(decided(load("thesis"), 0.001, alices()), alices()), 1001)
    read = Story.from_json(json.loads(json.dumps(told.to_json())))
    assert shown(read) == shown(told) and "another user's job" in shown(read)


def test_forwarders_of_the_users_job_are_shown_without_bandwidths_of_another_users_record() -> None:
    whole = story(decided(load("thesis"), 0.001, alices()), alices())
    shares = tuple(forwarder_share(12, uid=uid, reason="job 12 started: 598.9 MB/s") for uid in (1001, 1002))
    found = hide(dataclasses.replace(whole, forwarders=shares), 1001)
    assert [(share.uid, share.forwarders, share.reason) for share in found.forwarders] == [
        (1001, ("10.0.1.1:5640",), "")
    ]
    assert share_text(found.forwarders[0]).endswith(": 10.0.1.1:5640: by mckp")


def test_many_forwarders_do_not_keep_an_explanation_from_fitting_into_a_frame() -> None:
    many = tuple(f"/{number:03d}{'x' * 103}" for number in range(512))
    whole = story(decided(load("thesis"), 0.001, alices()), alices())
    reply = _fitting(dataclasses.replace(whole, forwarders=(forwarder_share(12, forwarders=many),) * 5))
    assert reply["kind"] == "explanation" and protocol.frame(reply)
    told = Story.from_json(reply["story"])
    assert 1 <= len(told.forwarders) < 5 and told.more and told.decisions
