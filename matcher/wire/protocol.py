# SPDX-License-Identifier: Apache-2.0
"""The protocol between plugin and daemon, version 1, as docs/protocol.md states it: limits, frames and messages.

Requests are checked here and nowhere else: what leaves `read_request` has the right types and sizes. Keys that are not
known are ignored. Nothing here touches a socket.
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

from reprise.allowlist import is_allowed
from reprise.database.entities import Decision as LoggedDecision
from reprise.database.entities import Verdict
from reprise.matcher.errors import ProtocolError
from reprise.matcher.submission import JobFacts, Script, Submission

VERSION = 1
HEADER_BYTES = 4
REQUEST_LIMIT = 262_144  # bytes; what a 128 KiB script, an argument list and the SLURM_* variables need, with room
REPLY_LIMIT = 65_536  # bytes; also the size of what is carried to the job
EXPLANATION_LIMIT = 262_144  # bytes of the one reply that no plugin reads: decisions with both jobs' command lines
NONCE_BYTES = 16  # of a number that is used once: begins what is in a credential, and a reply repeats its request's
CREDENTIAL_FACTOR = 2  # a credential is at most this many times longer than what is in it: base64 takes 4/3
VARIABLE_COUNT_LIMIT = 64  # variables in a decision
VARIABLE_NAME_LIMIT = 128  # bytes
VARIABLE_VALUE_LIMIT = 4_096  # bytes
REASON_LIMIT = 512  # bytes
PATH_LIMIT = 4_095  # bytes of the path that a job is asked about: Linux has no longer ones
SHARE_COUNT_LIMIT = 128  # names in a profile; there are some 60 kinds of calls
ESCAPED_BYTES = 12  # of JSON, at most, for one character
NOT_NOW = "not now: too many requests at once or within a short time; the job runs as it is"
ELAPSED_LIMIT_S = 1e9  # 31 years; a start that lies further back is no date that can be shown


def environment_problem(environment: Mapping[str, str]) -> str | None:
    """Why the plugin would refuse to set these variables, or None if it would set them."""
    if problem := _names_problem(tuple(environment)):
        return problem
    for name, value in environment.items():
        is_long = 4 * len(value) > VARIABLE_VALUE_LIMIT < len(value.encode(errors="replace"))
        if is_long or "\n" in value or "\0" in value:
            return f"the value of {name} is longer than {VARIABLE_VALUE_LIMIT} bytes, or holds a newline or NUL"
    room = REPLY_LIMIT - 4 * REASON_LIMIT  # the rest of a reply: reason, id, verdict, numbers
    if ESCAPED_BYTES * sum(map(len, environment.values())) > room // 2:  # names and quotes take far less than half
        carried = json.dumps({"env": dict(environment)}).encode()
        if len(carried) > room:
            return f"its variables are {len(carried)} bytes together, more than a reply holds"
    return None


@lru_cache(maxsize=4096)  # of each record at the start, and most have the same
def _names_problem(names: tuple[str, ...]) -> str | None:
    if len(names) > VARIABLE_COUNT_LIMIT:
        return f"it holds {len(names)} variables, and a decision carries at most {VARIABLE_COUNT_LIMIT}"
    for name in names:
        if len(name.encode()) > VARIABLE_NAME_LIMIT or not is_allowed(name):
            return f"the plugin does not set {shortened(name, 60)!r} (it is not on the allow-list)"
    return None


def shortened(text: str, limit: int) -> str:
    """`text`, at most `limit` bytes of UTF-8 long; what was cut is marked."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode(errors="ignore") + "..."


# --- requests


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Texts = Annotated[list[Text], AfterValidator(tuple)]
Id32 = Annotated[int, Field(ge=0, le=2**32 - 1)]
DecisionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ClusterName = Annotated[str, Field(pattern=r"^[a-z0-9._-]{1,64}$")]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Client(_Message):
    plugin: Text
    slurm: Text


def _checked_into(
    value: type, fields: Mapping[str, Any], *, called: Mapping[str, str] | None = None, optional: Collection[str] = ()
) -> GetPydanticSchema:
    """Validate an object of a message straight into the frozen dataclass `value`, whose module needs no pydantic.

    Args:
        value: The dataclass.
        fields: The type on the wire of each of its fields, in the order in which they are checked.
        called: The key on the wire of a field that has another name there.
        optional: The fields that a message may leave out; they get the dataclass's default.
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
        config = core_schema.CoreConfig(strict=True)  # of the fields; a strict dataclass itself refuses a dictionary
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
    """A request for a decision."""

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
    id: Id32
    array_task: Id32 | None
    uid: Id32
    cluster: ClusterName | None = None


class Outcome(_Message):
    """What became of a job."""

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


class Identity(_Message):
    """Who the program of a decision's job is, of which `ok` has asked: an executable's parts, or a script's text."""

    decision: DecisionId
    build_id: BuildId = ""
    functions: Sketch = ""
    imports: Sketch = ""
    contents: Sketch = ""
    runtime: Runtime = ""
    script: Text | None = None


class Forwarded(_Message):
    """A row of the database, as a replica has it; `state` is an outcome's."""

    kind: Literal["decision", "outcome"]
    state: Literal["started", "step", "ended"] | None = None
    row: dict[str, str | int | float | None]


class Forward(_Message):
    """What a replica has decided and heard."""

    entries: list[Forwarded]


class Explain(_Message):
    """Why a job of the caller's got what it got. `job`: its number, an array's task (`4711_3`), or a decision's id.

    `cluster`: where the job ran; the configured one, unless given.
    """

    job: DecisionId
    cluster: ClusterName | None = None


class Preview(_Message):
    """What the caller would be given for this submission; nothing is decided."""

    submission: CheckedSubmission


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ShareName = Annotated[str, Field(pattern=r"^[a-z0-9_.]{1,64}$")]


class Compare(_Message):
    """Whether a job of the caller's behaves as the record that it matched, by the profile of the job.

    `job` and `cluster` are as in `Explain`; `shares` are of the job's run time, `waiting` is the one for other ranks.
    """

    job: DecisionId
    cluster: ClusterName | None = None
    shares: Annotated[dict[ShareName, Share], Field(max_length=SHARE_COUNT_LIMIT)]
    waiting: Share


class Token(_Message):
    """A request for a token for the web pages."""


class Ping(_Message):
    """A request for a sign of life."""


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
    """The length that a frame's header announces. Raises ProtocolError outside 1 to `limit`."""
    length = int.from_bytes(header, "big")
    if not 1 <= length <= limit:
        raise ProtocolError(f"a frame of {length} bytes is not accepted (1 to {limit})")
    return length


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def frame(message: Mapping[str, Any], limit: int | None = None) -> bytes:
    """A message as a frame. Raises ProtocolError where it is longer than `limit`, by default a reply's of its kind."""
    return framed(body(message, limit))


def framed(body: bytes) -> bytes:
    """A frame's body behind its header."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body(message: Mapping[str, Any], limit: int | None = None) -> bytes:
    """A message as a frame's body; `limit` and what is raised as for `frame`."""
    limit = limit or (EXPLANATION_LIMIT if message.get("kind") == "explanation" else REPLY_LIMIT)
    return _within(_ENCODER.encode(message).encode(errors="replace"), limit)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise ProtocolError(f"a message of {len(body)} bytes does not fit a frame (at most {limit})")
    return body


def opened_envelope(payload: bytes) -> tuple[bytes, bytes]:
    """What is in a request's credential: the number that is used once, and the message. Raises ProtocolError."""
    if not NONCE_BYTES < len(payload) <= NONCE_BYTES + REQUEST_LIMIT:
        raise ProtocolError(f"a credential of {len(payload)} bytes is not accepted")
    return payload[:NONCE_BYTES], payload[NONCE_BYTES:]


def read_message(body: bytes) -> dict[str, Any]:
    """The object in a frame's body, its version checked. Raises ProtocolError."""
    try:
        message = pydantic_core.from_json(body)
    except ValueError as error:
        raise ProtocolError(f"the frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"the frame holds {type(message).__name__}, not an object")
    if type(message.get("v")) is not int or message["v"] != VERSION:
        raise ProtocolError(f"version {shortened(repr(message.get('v')), 20)} is not spoken here, only {VERSION}")
    return message


def read_request(body: bytes) -> Request:
    """Check a request. Raises ProtocolError with one line that names the field and what is wrong with it."""
    message = read_message(body)
    kind = message.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ProtocolError(f"kind {shortened(repr(kind), 40)} is not known; known are {', '.join(_KINDS)}")
    try:
        return _KINDS[kind].model_validate(message)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in (kind, *problem["loc"]))
        what = problem["msg"].removeprefix("Value error, ")
        raise ProtocolError(f"{shortened(where, 120)}: {shortened(what, 200)}") from error


# --- replies


def decision_reply(decision: LoggedDecision, score: float | None = None) -> dict[str, Any]:
    """The answer to `decide`; variables go out only with the verdict `apply`. `score`: what the user may know of it."""
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
    """The answer to `outcome` and `identity`. `identify`: the path of a program that the job is asked about."""
    return {"v": VERSION, "kind": "ok"} | ({"identify": identify} if identify else {})


def explanation_reply(story: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to `explain` and `preview`: what `reprise match explain --json` prints."""
    return {"v": VERSION, "kind": "explanation", "story": story}


def comparison_reply(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to `compare`: fields as `behaviour.Comparison` has them."""
    return {"v": VERSION, "kind": "comparison", **comparison}


def token_reply(token: str) -> dict[str, Any]:
    """The answer to `token`."""
    return {"v": VERSION, "kind": "token", "token": token}


def pong_reply(*, version: str, records: int, uptime_s: float) -> dict[str, Any]:
    """The answer to `ping`."""
    return {**ok_reply(), "version": version, "records": records, "uptime_s": round(uptime_s, 3)}


def error_reply(reason: str) -> dict[str, Any]:
    """The answer to a request that cannot be served."""
    return {"v": VERSION, "kind": "error", "reason": shortened(reason, REASON_LIMIT)}
