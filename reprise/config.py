# SPDX-License-Identifier: Apache-2.0
"""The configuration file, `reprise.toml`: every setting, its unit, its default and its bounds.

Unknown keys are refused with the nearest known one as a suggestion. `etc/reprise.toml` shows all settings with their
defaults; a test compares it with this module.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from reprise.errors import RepriseError

DEFAULT_PATH = Path("/etc/reprise/reprise.toml")
SOCKET_PATH = Path("/run/reprise/matcher.sock")
_HOST_AND_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")
# Of a path `//x` browsers make another host, and of `/../x` another path.
_URL = re.compile(r"https?://([^/]+?)(:[0-9]+)?(?:/(?!\.\.?(?:/|$))[A-Za-z0-9_.~-]+)*/?")
HOST_LIMIT = 253  # characters of a name in the DNS
SOCKET_PATH_LIMIT = 107  # bytes, sun_path without its NUL (unix(7))


class ConfigError(RepriseError):
    """The configuration cannot be used; the message names the file, the setting, the cause and the remedy."""


def _known_zone(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"no time zone is called {name!r}: use a name like 'Europe/Paris', or '' for this host's"
            ) from error
    return name


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"{str(path)!r} is not an absolute path")
    if "\0" in str(path):
        raise ValueError("a path holds no NUL")
    return path


def host_and_port(text: str) -> tuple[str, int]:
    """What `host:port` or `[address]:port` names. Raises ValueError."""
    found = _HOST_AND_PORT.fullmatch(text)
    host = (found[1] or found[2]) if found else ""
    if not found or len(host) > HOST_LIMIT or not 1 <= int(found[3]) <= 65535:
        raise ValueError(f"{text!r} is not HOST:PORT or [ADDRESS]:PORT")
    return host, int(found[3])


def path_or_host(text: str) -> tuple[Path | None, str, int]:
    """What `unix:/path`, `tcp:host:port` or `tcp:[address]:port` names: a path, or host and port. Raises ValueError."""
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest.startswith("/") and len(os.fsencode(rest)) <= SOCKET_PATH_LIMIT:
        return Path(rest), "", 0
    if kind == "tcp":
        return None, *host_and_port(rest)
    raise ValueError(f"{text!r} is not unix:/PATH, tcp:HOST:PORT or tcp:[ADDRESS]:PORT")


def _endpoint(text: str) -> str:
    path_or_host(text)
    return text


def _host_and_port(text: str) -> str:
    host_and_port(text)
    return text


def _url_or_nothing(text: str) -> str:
    if text and not _is_url(text):
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT][/PATH]")
    return text.rstrip("/")


def _is_url(text: str) -> bool:
    found = _URL.fullmatch(text)
    if not found:
        return False
    try:
        host, _ = host_and_port(found[1] + (found[2] or ":80"))
        return ":" not in host or bool(IPv6Address(host))
    except ValueError:
        return False


def _host_and_port_or_nothing(text: str) -> str:
    if text:
        host_and_port(text)
    return text


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
UserId = Annotated[int, Field(ge=0, le=2**32 - 2)]


class Section(BaseModel):
    """A table of the file: frozen, and refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Site(Section):
    """What is true of the machine."""

    cluster: Annotated[str, StringConstraints(to_lower=True)] = Field(  # as Slurm does
        "cluster", min_length=1, description="Slurm's ClusterName; records of other clusters are not used"
    )
    nodes: int = Field(
        1, ge=1, le=2**20, description="compute nodes of the cluster (d_max of the node-count comparison)"
    )
    timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "", description="zone of submission times; '' is this host's"
    )


class Matcher(Section):
    """The daemon."""

    socket: AbsolutePath = Field(SOCKET_PATH, description="Unix socket; every user may connect")
    listen: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT for hosts that share munge's key; '' is none"
    )
    endpoints: list[Annotated[str, AfterValidator(_endpoint)]] = Field(
        default_factory=list, description="where commands ask, like the plugin's endpoint=; empty: at `socket`"
    )
    uid: UserId = Field(0, description="user id of the daemon, which commands believe over TCP")
    munge_socket: AbsolutePath | None = Field(None, description="munged's socket, where it is not the usual one")
    model: str = Field("site", description="preset name, or absolute path of a model file (TOML)")
    threshold: float | None = Field(None, ge=0, le=1, description="overrides the model's threshold")
    mode: Literal["on", "observe", "off"] = Field("on", description="observe: decide and log, inject nothing")
    holdout: float = Field(0.05, ge=0, le=0.95, description="share of matched jobs that are given nothing, to compare")
    identity: bool = Field(True, description="recognise programs by their files, too, where everybody may read them")
    predicted: bool = Field(False, description="give jobs what a model chose, too, once a comparison has confirmed it")
    max_connections: int = Field(
        512, ge=1, le=65536, description="connections served at once, of either kind, a 16th by one user; more wait"
    )
    request_timeout_s: float = Field(2.0, gt=0, le=60, description="seconds a client may take to send its frame")
    retention_days: int = Field(365, ge=1, le=36500, description="days that decisions and outcomes are kept")
    metrics: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT of metrics for Prometheus; '' is none"
    )
    publish: AbsolutePath | None = Field(None, description="file in which replicas find the records")


class Replica(Section):
    """A matcher that stands in for another one."""

    records: AbsolutePath | None = Field(None, description="the file in which the primary publishes its records")
    primary: list[Annotated[str, AfterValidator(_endpoint)]] = Field(
        default_factory=list, description="where the primary listens, like the plugin's endpoint="
    )

    @model_validator(mode="after")
    def _knows_its_primary(self) -> Replica:
        if self.records and not self.primary:
            raise ValueError("where `records` come from a primary, `primary` must say where it listens")
        return self


class Access(Section):
    """Whose jobs get settings, and who may read of others' jobs. Denied goes before allowed; an empty list of allowed
    ones is everyone."""

    allow_users: list[str | UserId] = Field(default_factory=list, description="names or ids")
    deny_users: list[str | UserId] = Field(default_factory=list, description="names or ids")
    allow_accounts: list[str] = Field(default_factory=list, description="Slurm's accounts")
    deny_accounts: list[str] = Field(default_factory=list, description="Slurm's accounts")
    allow_partitions: list[str] = Field(default_factory=list, description="Slurm's partitions")
    deny_partitions: list[str] = Field(default_factory=list, description="Slurm's partitions")
    staff: str = Field(
        "", description="group whose members `reprise jobs` and `match` tell of others' jobs; '': all who may read"
    )


class DatabaseSection(Section):
    """The database."""

    path: AbsolutePath = Field(Path("/var/lib/reprise/reprise.db"), description="SQLite file, on a local file system")
    snapshot: AbsolutePath | None = Field(
        None, description="copy of it for members of its group, which `reprise db snapshot` makes"
    )


class Artifacts(Section):
    """Rules files and the like."""

    directory: AbsolutePath = Field(
        Path("/var/lib/reprise/artifacts"), description="directory that every node sees under this path, world-readable"
    )


class Tuner(Section):
    """Campaigns."""

    components: AbsolutePath = Field(Path("/etc/reprise/components"), description="directory of component files (YAML)")
    work: AbsolutePath = Field(
        Path("/var/lib/reprise/campaigns"), description="directory for trial scripts and output, that every node sees"
    )
    libexec: AbsolutePath = Field(
        Path("/usr/local/libexec/reprise"), description="directory of the benchmark programs, that every node sees"
    )
    functions: AbsolutePath = Field(
        Path("/etc/reprise/functions"), description="directory of Python modules that read a trial's objective"
    )
    preload_directory: AbsolutePath = Field(
        Path("/usr/local/lib"), description="directory of accelerators' libraries, as in the plugin's line"
    )


class Web(Section):
    """The pages."""

    listen: Annotated[str, AfterValidator(_host_and_port)] = Field(
        "127.0.0.1:7818", description="HOST:PORT of the pages, which are not encrypted"
    )
    url: Annotated[str, AfterValidator(_url_or_nothing)] = Field(
        "", description="where browsers reach them through a reverse proxy; '' is at `listen`"
    )
    operators: str = Field("", description="group whose members may start and end campaigns there; '': nobody")
    token_hours: float = Field(12.0, gt=0, le=720, description="hours for which a token holds")


class OpenMPI(Section):
    """The Open MPI releases that jobs of this site may load."""

    releases: list[str] = Field(default_factory=list, description="e.g. ['4.1.4']; empty: the one that ompi_info names")
    ompi_info: str = Field("ompi_info", description="command that describes the build")
    mpirun: str = Field("mpirun", description="launcher of trials")


class Config(Section):
    """The whole file."""

    site: Site = Site()
    matcher: Matcher = Matcher()
    replica: Replica = Replica()
    access: Access = Access()
    database: DatabaseSection = DatabaseSection()
    artifacts: Artifacts = Artifacts()
    tuner: Tuner = Tuner()
    openmpi: OpenMPI = OpenMPI()
    web: Web = Web()


def in_use(path: Path | None = None) -> Path | None:
    """The file that is read: `path`, else `/etc/reprise/reprise.toml`; None where that does not exist."""
    if path is None:
        try:
            DEFAULT_PATH.stat()
        except FileNotFoundError:
            return None
        except OSError:
            pass  # it may be there: reading it says what is wrong
    return path or DEFAULT_PATH


def load(path: Path | None = None) -> Config:
    """Read and check a configuration file.

    Without `path` it is `/etc/reprise/reprise.toml` or, where that does not exist, the defaults.
    Raises ConfigError with one line.
    """
    path = in_use(path)
    if path is None:
        return Config()
    data = read_toml(path)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_problem(error, Config)}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError with one line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}): check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML ({error}): correct that line") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets within brackets
        raise ConfigError(f"{path}: no setting is that long or that deep ({error}): correct it") from error


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem of a file that `model` describes, as one line; a misspelt key comes with a suggestion."""
    problems = error.errors()  # a misspelt key explains the missing one beside it
    problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place, beside = _place(problem["loc"], model)
    where = ".".join(place)
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], beside, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(beside)}"
        return f"unknown setting {where!r}: {hint}"
    what = problem["msg"].removeprefix("Value error, ")
    if not where or problem["type"] == "missing":
        return f"setting {where!r}: is missing: add it" if where else what
    return f"setting {where!r}: {what} (it is {repr(problem['input'])[:200]})"


def _place(location: tuple[int | str, ...], model: type[BaseModel]) -> tuple[list[str], list[str]]:
    """The keys and positions that lead to a problem, and the keys known beside the last of them.

    Of a choice between tables pydantic also names the one that was taken; a reader of the file knows no such step.
    """
    place, choices = [], [model]
    for step in location:
        if len(choices) > 1 and isinstance(step, str):
            choices = [one for one in choices if _is_named(one, step)]
            continue
        place.append(str(step))
        if isinstance(step, str) and step != location[-1]:
            field = choices[0].model_fields.get(step)
            choices = (field and list(_tables(field.annotation))) or choices[:1]
    return place, [name for one in choices for name in one.model_fields]


def _is_named(table: type[BaseModel], tag: str) -> bool:
    return any(tag in get_args(field.annotation) for field in table.model_fields.values())


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:
    """The tables that a value of this type may be, or hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _tables(part)
