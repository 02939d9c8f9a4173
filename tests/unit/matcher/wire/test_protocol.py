# SPDX-License-Identifier: Apache-2.0
"""Test the protocol in Python against docs/reference/protocol.md, the shared vectors and random messages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.allowlist import ALLOW_LIST, VERSION, is_allowed, is_reported
from reprise.database.entities import Decision
from reprise.matcher.errors import ProtocolError
from reprise.matcher.submission import SCRIPT_LIMIT, JobFacts, Script, Submission
from reprise.matcher.support import explainer
from reprise.matcher.wire import protocol
from tests.places import ROOT
from tests.unit.matcher_daemon import request

DOCUMENT = (ROOT / "docs/reference/protocol.md").read_text()
MESSAGES = (ROOT / "docs/reference/messages.md").read_text()
VARIABLES = (ROOT / "docs/reference/variables.md").read_text()
VECTORS = json.loads((ROOT / "tests" / "vectors" / "protocol.json").read_text())


def body_of(vector: dict[str, Any]) -> bytes:
    if "json" in vector:
        return json.dumps(vector["json"]).encode()
    if "text" in vector:
        return str(vector["text"]).encode()
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    return "".join(text * count for text, count in vector["parts"]).encode()


def by_name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=by_name)
def test_requests_are_accepted_or_refused_as_the_vectors_state(vector: dict[str, Any]) -> None:
    if vector["accept"]:
        protocol.read_request(body_of(vector))
    else:
        with pytest.raises(ProtocolError) as caught:
            protocol.read_request(body_of(vector))
        assert 10 < len(str(caught.value)) < 400
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=by_name)
def test_lengths_are_accepted_or_refused_as_the_vectors_state(vector: dict[str, Any]) -> None:
    header = bytes.fromhex(vector["header"])
    for side, limit in (("request", protocol.REQUEST_LIMIT), ("reply", protocol.REPLY_LIMIT)):
        whole = len(header) == protocol.HEADER_BYTES and "pad" in vector
        try:
            accepted = protocol.body_length(header, limit) > 0
        except ProtocolError:
            accepted = False
        assert (accepted and whole) == vector[side], side


@pytest.mark.parametrize("vector", VECTORS["envelopes"], ids=lambda vector: vector["name"])
def test_a_request_in_a_credential_must_follow_a_nonce(vector: dict[str, Any]) -> None:
    payload = bytes.fromhex(vector["hex"])
    if not vector["request"]:
        with pytest.raises(ProtocolError):
            protocol.opened_envelope(payload)
        return
    number, message = protocol.opened_envelope(payload)
    assert number == payload[:16]
    assert message.decode() == vector["text"] if "text" in vector else payload == number + message


def documented(row: str) -> int:
    found = re.search(rf"^\| {row} \| ([\d,]+) bytes", DOCUMENT, re.MULTILINE)
    assert found, row
    return int(found[1].replace(",", ""))


def test_limits_equal_those_in_the_document() -> None:
    assert documented("request") == protocol.REQUEST_LIMIT
    assert documented("reply") == protocol.REPLY_LIMIT
    assert documented("reply `explanation`") == protocol.EXPLANATION_LIMIT
    assert (
        f"if {explainer.WAITING_OF_ONE} requests of the same user, or {explainer.WAITING_LIMIT} in total"
        in " ".join(MESSAGES.split())
    )
    told = (explainer.DECISIONS_LIMIT, explainer.TOLD_OUTCOMES_LIMIT)
    assert "At most the {} newest decisions and {} reports".format(*told) in " ".join(MESSAGES.split())
    assert documented("script text in a request") == SCRIPT_LIMIT
    twice = [protocol.CREDENTIAL_FACTOR * limit for limit in (protocol.REQUEST_LIMIT, protocol.REPLY_LIMIT)]
    assert "({:,} for a request, {:,} for a reply)".format(*twice) in DOCUMENT
    assert f"| 0 to {protocol.NONCE_BYTES - 1} |" in DOCUMENT
    counts = (protocol.VARIABLE_COUNT_LIMIT, protocol.VARIABLE_NAME_LIMIT, protocol.VARIABLE_VALUE_LIMIT)
    assert "| {}, names at most {} bytes, values at most {:,} bytes |".format(*counts) in DOCUMENT
    assert f"at most {protocol.REASON_LIMIT} bytes" in MESSAGES
    assert f'Every message has `"v": {protocol.VERSION}`' in DOCUMENT


def test_the_allow_list_equals_that_in_the_document() -> None:
    table = VARIABLES.split("## The allow-list")[1]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert tuple(name for row in rows for name in re.findall(r"`([^`]+)`", row)) == ALLOW_LIST


@pytest.mark.parametrize("name", ["OMPI_MCA_a", "ROMIO_HINTS", "ROMIO_x", "SRO_A", "REPRISE_1", "PMIX_MCA__"])
def test_listed_names_are_allowed(name: str) -> None:
    assert is_allowed(name)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "OMPI_MCA_", "OMPI_MCA", "XOMPI_MCA_a", "OMPI_MCA_a-b", "OMPI_MCA_a\n", "SRO_Ä", "PATH", ""]
)
def test_other_names_are_not_allowed(name: str) -> None:
    assert not is_allowed(name)


def test_a_newer_version_of_the_list_has_all_names_of_an_older_one() -> None:
    names = [pattern.replace("*", "x") for pattern in ALLOW_LIST]
    for version in range(1, VERSION):
        older, newer = ({name for name in names if is_allowed(name, number)} for number in (version, version + 1))
        assert older < newer
    assert {name for name in names if is_allowed(name, VERSION)} == set(names)


def test_the_first_version_of_the_list_is_that_of_release_0_1_0() -> None:
    names = "OMPI_MCA_a PRTE_MCA_a PMIX_MCA_a ROMIO_HINTS ROMIO_A PNETCDF_HINTS SRO_A SBB_A FASTIO_A REPRISE_A"
    patterns = [pattern.replace("*", "x") for pattern in ALLOW_LIST]
    assert all(is_allowed(name, 1) for name in names.split())
    assert sum(is_allowed(name, 1) for name in patterns) == len(names.split())


def test_the_document_states_the_version_of_each_pattern() -> None:
    table = VARIABLES.split("## The allow-list")[1]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    for cells in rows:
        since = int(cells[2])
        for name in re.findall(r"`([^`]+)`", cells[1]):
            found = [version for version in range(1, VERSION + 1) if is_allowed(name.replace("*", "x"), version)]
            assert found[0] == since, name


@pytest.mark.parametrize(
    "name", ["MPIR_CVAR_DEBUG_HOLD", "MPIR_CVAR_CH4_OFI_ENABLE_TAGGED", "MPICH_DBG", "I_MPI_ROOT", "MV2_USE_ALIGNED_X"]
)
def test_other_variables_of_mpich_and_its_family_are_reported_but_never_set(name: str) -> None:
    assert not is_allowed(name) and is_reported(name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.binary(max_size=300))
def test_any_bytes_are_accepted_or_refused_with_one_line(data: bytes) -> None:
    try:
        protocol.read_request(data)
    except ProtocolError as error:
        assert "\n" not in str(error)


@given(st.sampled_from(["point", "mode", "client", "submission", "job"]), json_values)
def test_a_field_with_any_value_is_accepted_or_refused(field: str, value: Any) -> None:
    try:
        protocol.read_request(json.dumps({**request(), field: value}).encode(errors="replace"))
    except ProtocolError as error:
        assert len(str(error)) < 400


def test_a_request_is_read_directly_into_the_matchers_values() -> None:
    message = request("#!/bin/sh\n", job={"id": 7, "array_task": 3, "nodes": 4, "tasks": 32, "restarts": 1, "later": 1})
    message["submission"] |= {"env": {"SLURM_JOB_ID": "7"}, "set": ["SRO_A"], "later": 1}
    read = protocol.read_request(json.dumps(message).encode())
    assert isinstance(read, protocol.Decide)
    script = Script("/home/alice/job.sh", "#!/bin/sh\n")
    environment = {"SLURM_JOB_ID": "7"}
    assert read.submission == Submission("sbatch", ("sbatch", "job.sh"), "/home/alice", environment, ("SRO_A",), script)
    assert read.job == JobFacts(nodes=4, tasks=32, id=7, array_task=3, restarts=1)


def test_a_nul_inside_a_text_is_refused() -> None:
    with pytest.raises(ProtocolError, match="NUL"):
        protocol.read_request(json.dumps(request("#!/bin/sh\0\n")).encode())


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ProtocolError):
        protocol.read_request(b'{"v":1,"kind":"ping","x":"\\ud800"}')


@given(st.text(), st.integers(min_value=3, max_value=600))
def test_a_shortened_text_fits_and_is_a_prefix(text: str, limit: int) -> None:
    short = protocol.shortened(text, limit)
    assert len(short.encode()) <= limit
    whole = text.encode(errors="replace").decode()
    assert short == whole or (short.endswith("...") and whole.startswith(short[:-3]))


def test_the_limit_of_a_frame_is_exact() -> None:
    empty = len(protocol.frame({"x": ""})) - protocol.HEADER_BYTES
    largest = protocol.frame({"x": "a" * (protocol.REPLY_LIMIT - empty)})
    assert int.from_bytes(largest[:4], "big") == len(largest) - 4 == protocol.REPLY_LIMIT
    with pytest.raises(ProtocolError):
        protocol.frame({"x": "a" * (protocol.REPLY_LIMIT - empty + 1)})


def test_an_explanation_has_a_limit_of_its_own() -> None:
    empty = len(protocol.frame(protocol.explanation_reply({"x": ""}))) - protocol.HEADER_BYTES
    largest = {"x": "a" * (protocol.EXPLANATION_LIMIT - empty)}
    protocol.frame(protocol.explanation_reply(largest))
    with pytest.raises(ProtocolError):
        protocol.frame(protocol.explanation_reply({"x": largest["x"] + "a"}))


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({f"SRO_{i}": "1" for i in range(65)}, "65 variables"),
        ({"SRO_" + "A" * 125: "1"}, "allow-list"),
        ({"LD_PRELOAD": "x.so"}, "allow-list"),
        ({"SRO_A": "a" * 4097}, "longer"),
        ({"SRO_A": "a\nb"}, "newline"),
        ({"NCCL_TUNER_PLUGIN": "/tmp/x.so"}, "is a path"),
        ({f"SRO_{i}": "a" * 4000 for i in range(20)}, "more than fit in a reply"),
    ],
)
def test_an_environment_that_the_plugin_would_refuse_has_its_reason(environment: dict[str, str], why: str) -> None:
    assert why in (protocol.environment_problem(environment) or "")


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["a", "ä", "\N{GRINNING FACE}", '"', "\x01"])
def test_the_largest_accepted_environment_fits_a_reply(letter: str) -> None:
    names = [f"SRO_{i:02}".ljust(128, "A") for i in range(64)]
    sizes = (n for n in range(1024, 0, -1) if not protocol.environment_problem(dict.fromkeys(names, letter * n)))
    environment = dict.fromkeys(names, letter * next(sizes))
    reason = "\u20ac" * 600
    decision = Decision(
        "d" * 64, 0.0, "submit", "c", 0, "u", "on", "apply", reason, "m", 0.5, {}, injected=environment, record_id=1
    )
    assert len(protocol.frame(protocol.decision_reply(decision))) <= protocol.REPLY_LIMIT
