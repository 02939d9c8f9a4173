# SPDX-License-Identifier: Apache-2.0
"""Limits, frames and messages of version 1 of the protocol between plugin and daemon (docs/reference/protocol.md).

`read_request` checks the types and sizes in a request, so that no other code has to check them. Unknown keys are
ignored. This module does not use sockets.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    ValidationError,
    model_validator,
)
from pydantic_core import core_schema

from reprise.allowlist import UNSTATED_VERSION, first_unknown, takes
from reprise.allowlist import VERSION as ALLOW_LIST_VERSION
from reprise.database.entities import Decision as LoggedDecision
from reprise.database.entities import Verdict
from reprise.matcher.errors import ProtocolError
from reprise.matcher.submission import JobFacts, Script, Submission

VERSION = 1
HEADER_BYTES = 4
REQUEST_LIMIT = 262_144  # bytes; sufficient for a script of 128 KiB, arguments and SLURM_* variables
REPLY_LIMIT = 65_536  # bytes; also limits the data that the plugin passes to the job
EXPLANATION_LIMIT = 262_144  # bytes of an explanation, which contains the command lines of two jobs
NONCE_BYTES = 16  # bytes at the start of a credential's payload; a reply repeats the request's nonce
CREDENTIAL_FACTOR = 2  # maximum bytes of a credential per byte of its payload; base64 takes 4/3
VARIABLE_COUNT_LIMIT = 64  # maximum number of variables in a decision
VARIABLE_NAME_LIMIT = 128  # bytes
VARIABLE_VALUE_LIMIT = 4_096  # bytes
REASON_LIMIT = 512  # bytes
PATH_LIMIT = 4_095  # Linux's maximum number of bytes in a path; here, of a program that a job is asked to identify
SHARE_COUNT_LIMIT = 128  # maximum number of names in a profile, one for each kind of calls; there are some 60 kinds
ESCAPED_BYTES = 12  # maximum bytes of JSON for one character
NOT_NOW = "not now: too many requests at once or within a short time; the job runs unchanged"
ELAPSED_LIMIT_S = 1e9  # 31 years; with a longer time, the computed start may not be a valid date


def environment_problem(environment: Mapping[str, str]) -> str | None:
    """Return the reason why the plugin would refuse to set these variables; None if it would set them."""
    if problem := _names_problem(tuple(environment)):
        return problem
    for name, value in environment.items():
        is_long = 4 * len(value) > VARIABLE_VALUE_LIMIT < len(value.encode(errors="replace"))
        if is_long or "\n" in value or "\0" in value:
            return f"the value of {name} is longer than {VARIABLE_VALUE_LIMIT} bytes, or contains a newline or NUL"
        if not takes(name, value):
            return f"the value of {name} is a path, and the plugin sets it only to the name of a library"
    room = REPLY_LIMIT - 4 * REASON_LIMIT  # the rest of a reply is for the reason, id, verdict, score and record
    if ESCAPED_BYTES * sum(map(len, environment.values())) > room // 2:  # names take less than the other half
        carried = json.dumps({"env": dict(environment)}).encode()
        if len(carried) > room:
            return f"its variables have {len(carried)} bytes in total, more than fit in a reply"
    return None


@lru_cache(maxsize=4096)  # called for each record at the daemon's start; most records have the same names
def _names_problem(names: tuple[str, ...]) -> str | None:
    if len(names) > VARIABLE_COUNT_LIMIT:
        return f"it has {len(names)} variables, and a decision can have at most {VARIABLE_COUNT_LIMIT}"
    long = (name for name in names if len(name.encode()) > VARIABLE_NAME_LIMIT)
    if (name := next(long, None) or first_unknown(names, ALLOW_LIST_VERSION)) is not None:
        return f"the plugin does not set {shortened(name, 60)!r} (it is not on the allow-list)"
    return None


def shortened(text: str, limit: int) -> str:
    """Return `text`, truncated to at most `limit` bytes of UTF-8; a truncated text ends in "..."."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode(errors="ignore") + "..."


# --- requests


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Texts = Annotated[list[Text], AfterValidator(tuple)]
Id32 = Annotated[int, Field(ge=0, le=2**32 - 1)]
DecisionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ClusterName = Annotated[str, Field(pattern=r"^[a-z0-9._-]{1,64}$")]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Client(_Message):
    """Versions of the client's plugin and Slurm, and of the list of variables that the plugin may set."""

    plugin: Text
    slurm: Text
    allow_list: Annotated[int, Field(ge=1, le=2**31 - 1)] = UNSTATED_VERSION


def _checked_into(
    value: type, fields: Mapping[str, Any], *, called: Mapping[str, str] | None = None, optional: Collection[str] = ()
) -> GetPydanticSchema:
    """Return a schema that validates an object in a message and converts it into the frozen dataclass `value`.

    With this schema, the module that defines the dataclass does not need pydantic.

    `fields` maps each field of the dataclass to its type in messages, in the order of checking. `called` maps a field
    to its key in messages if the key is not the field's name. `optional` are the fields that a message may omit; an
    omitted field gets the dataclass's default.
    """

    def schema(_: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        defaults = {field.name: field.default for field in dataclasses.fields(value)}
        read = []
        for name, kind in fields.items():
            checked = handler.generate_schema(kind)
            if name in optional:
                checked = core_schema.with_default_schema(checked, default=defaults[name])
            key = (called or {}).get(name)
            read.append(core_schema.dataclass_field(name, checked, validation_alias=key))
        arguments = core_schema.dataclass_args_schema(value.__name__, read)
        # Only the fields are strict: a strict dataclass would refuse the dictionary in a message.
        config = core_schema.CoreConfig(strict=True)
        return core_schema.dataclass_schema(value, arguments, list(fields), strict=False, config=config)

    return GetPydanticSchema(schema)


CheckedScript = Annotated[Script, _checked_into(Script, {"path": Text, "text": Text, "truncated": bool})]
CheckedSubmission = Annotated[
    Submission,
    _checked_into(
        Submission,
        {
            "command": Literal["sbatch", "salloc", "srun", "batch"],
            "argv": Texts,
            "cwd": Text,
            "env": dict[Text, Text],
            "set_names": Texts,
            "script": CheckedScript | None,
        },
        called={"set_names": "set"},
    ),
]
CheckedJob = Annotated[
    JobFacts,
    _checked_into(
        JobFacts,
        {
            "id": Id32,
            "array_task": Id32 | None,
            "nodes": Annotated[int, Field(ge=1, le=2**31 - 1)],
            "tasks": Annotated[int, Field(ge=1, le=2**31 - 1)] | None,
            "restarts": Id32,
            "cluster": ClusterName | None,
        },
        optional=("cluster",),
    ),
]


class Decide(_Message):
    """Request for a decision about a job, at its submission or its start."""

    point: Literal["submit", "start"]
    mode: Literal["on", "observe", "explain"]
    client: Client
    submission: CheckedSubmission
    job: CheckedJob | None = None

    @model_validator(mode="after")
    def _job_is_known_at_start(self) -> Decide:
        if self.point == "start" and self.job is None:
            raise ValueError("point 'start' needs 'job'")
        return self


class ReportedJob(_Message):
    """The job that an outcome is about."""

    id: Id32
    array_task: Id32 | None
    uid: Id32
    cluster: ClusterName | None = None


class Outcome(_Message):
    """A job's report of its start, its first step or its end."""

    state: Literal["started", "step", "ended"]
    decision: DecisionId | None
    verdict: Verdict
    applied: Annotated[int, Field(ge=0, le=VARIABLE_COUNT_LIMIT)]
    unreadable: Annotated[int, Field(ge=0, le=VARIABLE_COUNT_LIMIT)] = 0
    present: Annotated[int, Field(ge=0, le=VARIABLE_COUNT_LIMIT)] | None = None
    job: ReportedJob
    elapsed_s: Annotated[float, Field(ge=0, le=ELAPSED_LIMIT_S, allow_inf_nan=False)] | None = None
    exit_status: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _end_is_complete(self) -> Outcome:
        if self.state == "ended" and (self.elapsed_s is None or self.exit_status is None):
            raise ValueError("state 'ended' needs 'elapsed_s' and 'exit_status'")
        if self.state == "step" and self.present is None:
            raise ValueError("state 'step' needs 'present'")
        return self


BuildId = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2}){0,32}$")]
Sketch = Annotated[str, Field(pattern=r"^(?:[0-9A-Za-z+-]{32})?$")]
Runtime = Annotated[str, Field(pattern=r"^[!-~]{0,64}$")]
MPILibrary = Annotated[str, Field(pattern=r"^(?:libmpi[\w+.-]{0,26})?$", max_length=32)]


class Identity(_Message):
    """The identity of a job's program, requested by an `ok` reply: fingerprints, or the text of a script."""

    decision: DecisionId
    build_id: BuildId = ""
    functions: Sketch = ""
    imports: Sketch = ""
    contents: Sketch = ""
    runtime: Runtime = ""
    mpi_library: MPILibrary = ""
    script: Text | None = None


class Forwarded(_Message):
    """A row of a replica's database, which is a decision or an outcome; `state` is set for an outcome only."""

    kind: Literal["decision", "outcome"]
    state: Literal["started", "step", "ended"] | None = None
    row: dict[str, str | int | float | None]


class Forward(_Message):
    """A request to store decisions and outcomes that a replica has recorded."""

    entries: list[Forwarded]


class Explain(_Message):
    """A request to explain a decision about one of the caller's jobs.

    `job` is the id of a job, of an array task (`4711_3`) or of a decision. `cluster` is the cluster on which the job
    ran, by default the configured one.
    """

    job: DecisionId
    cluster: ClusterName | None = None


class Preview(_Message):
    """A request to preview the settings that the caller would get for a submission; no decision is recorded."""

    submission: CheckedSubmission


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ShareName = Annotated[str, Field(pattern=r"^[a-z0-9_.]{1,64}$")]


class Compare(_Message):
    """A request to compare the profile of the caller's job with the profile of the record that the job matched.

    `job` and `cluster` have the same meaning as in `Explain`. `shares` maps the names in the job's profile to shares of
    its run time. `waiting` is the share of the run time in which ranks waited for other ranks.
    """

    job: DecisionId
    cluster: ClusterName | None = None
    shares: Annotated[dict[ShareName, Share], Field(max_length=SHARE_COUNT_LIMIT)]
    waiting: Share


class Token(_Message):
    """A request for a token for the web pages."""


class Ping(_Message):
    """A request to check that the daemon answers."""


Request = Decide | Outcome | Identity | Forward | Explain | Preview | Compare | Token | Ping
_KINDS: dict[str, type[Request]] = {
    "decide": Decide,
    "outcome": Outcome,
    "identity": Identity,
    "forward": Forward,
    "explain": Explain,
    "preview": Preview,
    "compare": Compare,
    "token": Token,
    "ping": Ping,
}


def body_length(header: bytes, limit: int = REQUEST_LIMIT) -> int:
    """Return the body's length in bytes from a frame's header. Raises ProtocolError unless it is 1 to `limit`."""
    length = int.from_bytes(header, "big")
    if not 1 <= length <= limit:
        raise ProtocolError(f"a frame of {length} bytes is not accepted (1 to {limit})")
    return length


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def frame(message: Mapping[str, Any], limit: int | None = None) -> bytes:
    """Return a message as a frame. Raises ProtocolError if its body has more than `limit` bytes.

    The default limit depends on the kind of reply.
    """
    return framed(body(message, limit))


def framed(body: bytes) -> bytes:
    """Return a frame, which is a header followed by the given body."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body(message: Mapping[str, Any], limit: int | None = None) -> bytes:
    """Return a message as a frame's body, with the same limit and errors as `frame`."""
    limit = limit or (EXPLANATION_LIMIT if message.get("kind") == "explanation" else REPLY_LIMIT)
    return _within(_ENCODER.encode(message).encode(errors="replace"), limit)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise ProtocolError(f"a message of {len(body)} bytes does not fit a frame (at most {limit})")
    return body


def opened_envelope(payload: bytes) -> tuple[bytes, bytes]:
    """Split the payload of a request's credential into nonce and message. Raises ProtocolError for a wrong length."""
    if not NONCE_BYTES < len(payload) <= NONCE_BYTES + REQUEST_LIMIT:
        raise ProtocolError(f"a credential of {len(payload)} bytes is not accepted")
    return payload[:NONCE_BYTES], payload[NONCE_BYTES:]


def read_message(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a frame's body. Raises ProtocolError for other content or another protocol version."""
    try:
        message = pydantic_core.from_json(body)
    except ValueError as error:
        raise ProtocolError(f"the frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"the frame contains a {type(message).__name__}, not an object")
    if type(message.get("v")) is not int or message["v"] != VERSION:
        raise ProtocolError(f"version {shortened(repr(message.get('v')), 20)} is not supported here, only {VERSION}")
    return message


def read_request(body: bytes) -> Request:
    """Parse and check a request. Raises ProtocolError with one line that names the invalid field and the problem."""
    message = read_message(body)
    kind = message.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ProtocolError(f"unknown kind {shortened(repr(kind), 40)}: use one of {', '.join(_KINDS)}")
    try:
        return _KINDS[kind].model_validate(message)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in (kind, *problem["loc"]))
        what = problem["msg"].removeprefix("Value error, ")
        raise ProtocolError(f"{shortened(where, 120)}: {shortened(what, 200)}") from error


# --- replies


def decision_reply(decision: LoggedDecision, score: float | None = None) -> dict[str, Any]:
    """Return the reply to a `decide` request, with variables if the verdict is `apply`.

    `score` must be one that the user may see.
    """
    return {
        "v": VERSION,
        "kind": "decision",
        "id": decision.id,
        "verdict": decision.verdict,
        "reason": shortened(decision.reason, REASON_LIMIT),
        "env": dict(decision.injected) if decision.verdict == "apply" else {},
        "score": score,
        "record": decision.record_id,
    }


def ok_reply(identify: str | None = None) -> dict[str, Any]:
    """Return the reply to an `outcome` or `identity` request; `identify` is the path of a program to identify."""
    return {"v": VERSION, "kind": "ok"} | ({"identify": identify} if identify else {})


def explanation_reply(story: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to an `explain` or `preview` request: the output of `reprise match explain --json`."""
    return {"v": VERSION, "kind": "explanation", "story": story}


def comparison_reply(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a `compare` request, with the fields of `behaviour.Comparison`."""
    return {"v": VERSION, "kind": "comparison", **comparison}


def token_reply(token: str) -> dict[str, Any]:
    """Return the reply to a `token` request, with a new token for the web pages."""
    return {"v": VERSION, "kind": "token", "token": token}


def pong_reply(*, version: str, records: int, uptime_s: float) -> dict[str, Any]:
    """Return the reply to a `ping` request: the matcher's version, number of records, and seconds since its start."""
    return {**ok_reply(), "version": version, "records": records, "uptime_s": round(uptime_s, 3)}


def error_reply(reason: str) -> dict[str, Any]:
    """Return the reply to a request that cannot be served; the reason is truncated to REASON_LIMIT bytes."""
    return {"v": VERSION, "kind": "error", "reason": shortened(reason, REASON_LIMIT)}
