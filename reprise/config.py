# SPDX-License-Identifier: Apache-2.0
"""Schema of the configuration file, `reprise.toml`: every setting with its unit, default and bounds.

Unknown keys are rejected, with the most similar known key as a suggestion. `etc/reprise.toml` shows all settings with
their defaults; a test compares that file with this module.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from reprise.errors import RepriseError

DEFAULT_PATH = Path("/etc/reprise/reprise.toml")
SOCKET_PATH = Path("/run/reprise/matcher.sock")
_HOST_AND_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")
# Browsers interpret `//x` in a path as another host, and `/../x` as another path.
_URL = re.compile(r"https?://([^/]+?)(:[0-9]+)?(?:/(?!\.\.?(?:/|$))[A-Za-z0-9_.~-]+)*/?")
_NUMERIC_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})")
_URL_CHARACTERS = re.compile(r"[A-Za-z0-9_.~:/?#@!$&'()*+,;=%\[\]-]+")  # RFC 3986
_MAIL_ADDRESS = re.compile(r"[A-Za-z0-9_.%+=-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
HOST_LIMIT = 253  # maximum number of characters in a DNS name
PREFIX_LIMIT, PREFIXES_LIMIT = 4095, 8  # limits of the forwarding library: bytes of a prefix, number of prefixes
HIDDEN = "hidden"  # type of an error whose message must not show the value, which may have a password
SOCKET_PATH_LIMIT = 107  # maximum number of bytes in the path: sun_path without its NUL (unix(7))


class ConfigError(RepriseError):
    """The configuration cannot be used; the message names the file, the setting, the cause and the remedy."""


def _known_zone(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"unknown time zone {name!r}: use a name like 'Europe/Paris', or '' for this host's time zone"
            ) from error
    return name


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"{str(path)!r} is not an absolute path")
    if "\0" in str(path):
        raise ValueError("a path cannot contain a NUL")
    return path


def host_and_port(text: str) -> tuple[str, int]:
    """Parse `host:port` or `[address]:port`. Raise ValueError for any other text."""
    found = _HOST_AND_PORT.fullmatch(text)
    host = (found[1] or found[2]) if found else ""
    if not found or len(host) > HOST_LIMIT or not 1 <= int(found[3]) <= 65535:
        raise ValueError(f"{text!r} is not HOST:PORT or [ADDRESS]:PORT")
    return host, int(found[3])


def path_or_host(text: str) -> tuple[Path | None, str, int]:
    """Parse `unix:/path`, `tcp:host:port` or `tcp:[address]:port` into a path, or into host and port.

    Raise ValueError for any other text.
    """
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


def is_loopback(host: str) -> bool:
    """Return whether a host is this one, so that nobody on the network can read what is sent to it."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def webhook_url(text: str) -> str:
    """Return the URL of a webhook. Raise ValueError if it has another scheme than http(s), or a user or password."""
    parts = urlsplit(text)
    if (
        not _URL_CHARACTERS.fullmatch(text)
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in parts.netloc
        or parts.port == 0  # and raise ValueError for a port that is no number
    ):
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT]/PATH without a user")
    return text


def _webhook_or_nothing(text: str) -> str:
    return webhook_url(text) if text else text


def _mail_address(text: str) -> str:
    if not _MAIL_ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is not a mail address such as admin@example.org")
    return text


def _mail_address_or_nothing(text: str) -> str:
    return _mail_address(text) if text else text


def _header_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", text) or text.lower() in ("authorization", "cookie", "host"):
        raise ValueError(f"{text!r} is not a header for this: name one such as X-Forwarded-User, without underscores")
    return text


def _listening_or_nothing(text: str) -> str:
    if text.startswith("/"):
        if len(os.fsencode(text)) > SOCKET_PATH_LIMIT or "\0" in text:
            raise ValueError(f"a path of a socket has at most {SOCKET_PATH_LIMIT} bytes")
        return text
    return _host_and_port_or_nothing(text)


def forwarder_address(text: str) -> str:
    """Return the address of an I/O forwarder, in the form that the forwarding library accepts.

    It is `1.2.3.4:PORT`, `[2001:db8::1]:PORT`, or the absolute path of a Unix socket. Names of hosts are not accepted:
    jobs resolve no names. Raise ValueError for any other text.
    """
    if text.startswith("/"):
        if len(os.fsencode(text)) <= SOCKET_PATH_LIMIT and all("!" <= one <= "~" or one > "\x7f" for one in text):
            return text
    elif found := _NUMERIC_ADDRESS.fullmatch(text):
        try:
            (IPv6Address(found[1]) if found[1] else IPv4Address(found[2]))
            if int(found[3]) <= 65535:
                return text
        except ValueError:
            pass
    raise ValueError(f"{text!r} is not ADDRESS:PORT or [ADDRESS]:PORT with a numeric address, or the path of a socket")


def database_url(text: str) -> str:
    """Return the URL of a database of PostgreSQL. Raise ValueError for any other text, or if it has a password."""
    try:
        parts = urlsplit(text)
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        parts, parameters = urlsplit(""), {}
    if parts.password is not None or {"password", "sslpassword"} & parameters.keys():
        text = "has a password, which others could read: put it into a password file (`?passfile=/PATH`)"
        raise PydanticCustomError(HIDDEN, text)
    named = parts.path.removeprefix("/") or parameters.get("dbname")
    if parts.scheme != "postgresql" or not named or "/" in named or parts.fragment or not text.isprintable():
        raise PydanticCustomError(HIDDEN, "is not postgresql://[USER@][HOST][:PORT]/DATABASE[?PARAMETER=VALUE&...]")
    return text


def _database_url_or_nothing(text: str) -> str:
    return database_url(text) if text else ""


def _each_once(texts: list[str]) -> list[str]:
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise ValueError(f"{twice[0]!r} is named twice: remove one of them")
    return texts


def _prefix(path: Path) -> Path:
    text = os.fspath(path)
    if ":" in text or "\n" in text or ".." in path.parts or len(os.fsencode(text)) > PREFIX_LIMIT or text == "/":
        raise ValueError(f"{text!r} is not a directory that can be forwarded: name one without `:` and `..`, and not /")
    return path


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
Prefix = Annotated[AbsolutePath, AfterValidator(_prefix)]
UserId = Annotated[int, Field(ge=0, le=2**32 - 2)]
OneLine = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]
HeaderName = Annotated[str, AfterValidator(_header_name)]
NotifyEvent = Literal["quarantine", "writes-wait", "campaign-end"]
NotifyChannel = Literal["mail", "webhook", "command"]


class Section(BaseModel):
    """Base class of the tables in a file; tables are immutable and reject unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Site(Section):
    """Settings of the cluster."""

    cluster: Annotated[str, StringConstraints(to_lower=True)] = Field(  # as in Slurm
        "cluster", min_length=1, description="Slurm's ClusterName; records of other clusters are ignored"
    )
    nodes: int = Field(
        1, ge=1, le=2**20, description="number of compute nodes, the scale for comparing node counts (d_max)"
    )
    timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "", description="time zone of submission times; '' means this host's"
    )


class Matcher(Section):
    """Settings of the matcher daemon."""

    socket: AbsolutePath = Field(SOCKET_PATH, description="Unix socket; every user may connect")
    listen: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT for hosts that share the key of munge or auth/slurm; '' means none"
    )
    endpoints: list[Annotated[str, AfterValidator(_endpoint)]] = Field(
        default_factory=list, description="endpoints for commands, like the plugin's endpoint=; if empty, `socket`"
    )
    uid: UserId = Field(0, description="user id of the daemon; over TCP, commands trust only replies from this user")
    credential: Literal["munge", "slurm"] | None = Field(
        None,
        description="how commands authenticate over TCP: munge, or slurm (auth/slurm); if none, munge if munged runs, "
        "else slurm",
    )
    munge_socket: AbsolutePath | None = Field(None, description="munged's socket, if it is not the default one")
    sack_socket: AbsolutePath | None = Field(
        None, description="socket of auth/slurm on this host, if it is not one of the default ones"
    )
    model: str = Field("site", description="preset name, or absolute path of a model file (TOML)")
    threshold: float | None = Field(
        None, ge=0, le=1, description="lowest score with which a record is used; if none, the model's threshold applies"
    )
    mode: Literal["on", "observe", "off"] = Field(
        "on", description="on; observe: decide and log, but set nothing; off: do not decide"
    )
    holdout: float = Field(
        0.05, ge=0, le=0.95, description="share of matched jobs that get no settings, for comparison"
    )
    identity: bool = Field(True, description="also recognize programs by their files, if every user may read them")
    predicted: bool = Field(
        False, description="also use settings that a model predicted, once real runs have confirmed them"
    )
    max_connections: int = Field(
        512,
        ge=1,
        le=65536,
        description="connections of each kind served at a time, at most a 16th per user; further connections wait",
    )
    request_timeout_s: float = Field(2.0, gt=0, le=60, description="seconds a client may take to send its frame")
    retention_days: int = Field(365, ge=1, le=36500, description="days that decisions and outcomes are kept")
    metrics: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT that serves metrics for Prometheus; '' means none"
    )
    publish: AbsolutePath | None = Field(None, description="file to which records are published for replicas")


class Replica(Section):
    """Settings of a replica, which is a matcher that can answer in place of the primary matcher."""

    records: AbsolutePath | None = Field(None, description="file in which the primary publishes its records")
    primary: list[Annotated[str, AfterValidator(_endpoint)]] = Field(
        default_factory=list, description="endpoints of the primary, like the plugin's endpoint="
    )

    @model_validator(mode="after")
    def _knows_its_primary(self) -> Replica:
        if self.records and not self.primary:
            raise ValueError("`records` needs `primary`: add the endpoints at which the primary listens")
        return self


class Access(Section):
    """Rules on whose jobs get settings, and on who may see other users' jobs.

    A deny list takes precedence over an allow list; an empty allow list allows everyone.
    """

    allow_users: list[str | UserId] = Field(
        default_factory=list, description="users (names or ids) whose jobs may get settings; [] means all"
    )
    deny_users: list[str | UserId] = Field(
        default_factory=list, description="users (names or ids) whose jobs never get settings"
    )
    allow_accounts: list[str] = Field(
        default_factory=list, description="Slurm accounts whose jobs may get settings; [] means all"
    )
    deny_accounts: list[str] = Field(default_factory=list, description="Slurm accounts whose jobs never get settings")
    allow_partitions: list[str] = Field(
        default_factory=list, description="Slurm partitions whose jobs may get settings; [] means all"
    )
    deny_partitions: list[str] = Field(
        default_factory=list, description="Slurm partitions whose jobs never get settings"
    )
    staff: str = Field(
        "",
        description="group that may see other users' jobs in `reprise jobs` and `match`; "
        "'' means all users who may read the database",
    )


class DatabaseSection(Section):
    """Settings of the database."""

    path: AbsolutePath = Field(Path("/var/lib/reprise/reprise.db"), description="SQLite file, on a local file system")
    snapshot: AbsolutePath | None = Field(
        None, description="copy that `reprise db snapshot` makes for members of its group"
    )
    url: Annotated[str, AfterValidator(_database_url_or_nothing)] = Field(
        "", description="URL of a central database on PostgreSQL, which only `reprise db` uses yet; '' means none"
    )


class Artifacts(Section):
    """Settings for artifacts, which are files that jobs read, such as rules files."""

    directory: AbsolutePath = Field(
        Path("/var/lib/reprise/artifacts"), description="world-readable directory with the same path on every node"
    )


class Tuner(Section):
    """Settings of campaigns."""

    components: AbsolutePath = Field(Path("/etc/reprise/components"), description="directory of component files (YAML)")
    work: AbsolutePath = Field(
        Path("/var/lib/reprise/campaigns"), description="shared directory for trial scripts and their output"
    )
    libexec: AbsolutePath = Field(
        Path("/usr/local/libexec/reprise"), description="shared directory of the benchmark programs"
    )
    functions: AbsolutePath = Field(
        Path("/etc/reprise/functions"), description="directory of Python modules that read the objective of a trial"
    )
    preload_directory: AbsolutePath = Field(
        Path("/usr/local/lib"),
        description="directory of the accelerators, which are libraries that jobs load; "
        "the plugin's line must name the same directory",
    )


class Notify(Section):
    """Settings of notifications to administrators, which are sent in each way that is configured."""

    events: list[NotifyEvent] = Field(list(get_args(NotifyEvent)), description="events that are notified")
    smtp: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT of a mail server; '' means no mail"
    )
    smtp_tls: Literal["starttls", "tls", "none"] = Field("starttls", description="encryption of the connection")
    smtp_user: OneLine = Field("", description="user at the mail server; '' means no authentication")
    smtp_password_file: AbsolutePath | None = Field(
        None, description="file with the password, which other users cannot read"
    )
    mail_from: Annotated[str, AfterValidator(_mail_address_or_nothing)] = Field("", description="sender of mails")
    mail_to: list[Annotated[str, AfterValidator(_mail_address)]] = Field(
        default_factory=list, description="recipients of mails"
    )
    webhook: Annotated[str, AfterValidator(_webhook_or_nothing)] = Field(
        "", description="URL that gets notifications as JSON; '' means none"
    )
    webhook_file: AbsolutePath | None = Field(
        None, description="file with that URL, if it is a secret, which other users cannot read"
    )
    webhook_token_file: AbsolutePath | None = Field(
        None, description="file with a token for `Authorization: Bearer`, which other users cannot read"
    )
    command: list[OneLine] = Field(
        default_factory=list,
        description="program and its arguments; it gets the notification as JSON on standard input; [] means none",
    )
    timeout_s: float = Field(10.0, ge=1, le=60, description="seconds that each way of sending may take")
    per_hour: int = Field(20, ge=1, le=1000, description="notifications of an event per hour; further ones are counted")

    @property
    def channels(self) -> Sequence[NotifyChannel]:
        """Ways of sending that are configured."""
        ways: Mapping[NotifyChannel, object] = {
            "mail": self.smtp,
            "webhook": self.webhook or self.webhook_file,
            "command": self.command,
        }
        return [name for name, setting in ways.items() if setting]

    def wants(self, event: str) -> bool:
        """Return whether an event is notified."""
        return event in self.events and bool(self.channels)

    @model_validator(mode="after")
    def _is_complete(self) -> Notify:
        if self.smtp and not (self.mail_from and self.mail_to):
            raise ValueError("`smtp` needs `mail_from` and `mail_to`: add the sender and the recipients")
        if bool(self.smtp_user) != bool(self.smtp_password_file):
            raise ValueError("`smtp_user` and `smtp_password_file` belong together: set both, or none")
        if self.smtp_user and self.smtp_tls == "none" and not is_loopback(host_and_port(self.smtp)[0]):
            raise ValueError("the password would be sent without encryption: set `smtp_tls`")
        if self.webhook and self.webhook_file:
            raise ValueError("`webhook` and `webhook_file` both have the URL: set one of them")
        if self.command and not Path(self.command[0]).is_absolute():
            raise ValueError("`command` starts with a program's name: use its absolute path")
        return self


class Web(Section):
    """Settings of the web pages."""

    listen: Annotated[str, AfterValidator(_host_and_port)] = Field(
        "127.0.0.1:7818", description="HOST:PORT of the pages; connections are not encrypted"
    )
    url: Annotated[str, AfterValidator(_url_or_nothing)] = Field(
        "", description="URL of the pages behind a reverse proxy; '' if users connect to `listen`"
    )
    operators: str = Field("", description="group that may start and stop campaigns on the pages; '' means nobody")
    token_hours: float = Field(12.0, gt=0, le=720, description="hours until a token expires")
    proxy_secret_file: AbsolutePath | None = Field(
        None, description="file with the secret of a proxy that signs users in; if none, no proxy is believed"
    )
    proxy_user_header: HeaderName = Field("X-Forwarded-User", description="header in which the proxy names the user")
    proxy_secret_header: HeaderName = Field(
        "X-Reprise-Proxy-Secret", description="header in which the proxy sends the secret"
    )
    proxy_addresses: list[IPv4Network | IPv6Network] = Field(
        [IPv4Network("127.0.0.1"), IPv6Network("::1")],
        description="addresses or networks from which the proxy connects",
    )
    proxy_domain: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]*$")] = Field(
        "", description="domain that is removed from names such as alice@example.org; others are then refused"
    )

    @model_validator(mode="after")
    def _has_distinct_headers(self) -> Web:
        if self.proxy_user_header.lower() == self.proxy_secret_header.lower():
            raise ValueError("`proxy_user_header` and `proxy_secret_header` are the same: change one of them")
        return self


class OpenMPI(Section):
    """Settings of Open MPI, including the releases that jobs of this site may load."""

    releases: list[str] = Field(
        default_factory=list,
        description="releases that jobs may load, e.g. ['4.1.4']; if empty, that of ompi_info",
    )
    ompi_info: str = Field("ompi_info", description="command that describes the build of Open MPI")
    mpirun: str = Field("mpirun", description="command that launches trials")


class Containers(Section):
    """Containers in which jobs run."""

    visible: list[AbsolutePath] = Field(
        default_factory=list, description="host directories that every container of the site contains, under this path"
    )


class Mpich(Section):
    """Settings of MPICH, including the releases that jobs of this site may load."""

    releases: list[str] = Field(
        default_factory=list,
        description="releases of MPICH that jobs may load, e.g. ['4.0.2']; if empty, jobs get no settings of MPICH",
    )
    library: str = Field("/usr/lib/x86_64-linux-gnu/libmpich.so.12", description="MPICH's library that campaigns tune")
    mpiexec: str = Field("mpiexec.hydra", description="command that launches trials with `launcher: hydra`")


class Forwarding(Section):
    """Settings of the arbiter, which shares out I/O forwarders among running jobs."""

    forwarders: Annotated[
        list[Annotated[str, AfterValidator(forwarder_address)]], Field(max_length=512), AfterValidator(_each_once)
    ] = Field(
        default_factory=list,
        description="addresses of the forwarders: ADDRESS:PORT, [ADDRESS]:PORT or the path of a Unix socket; "
        "[] means no forwarding",
    )
    prefixes: Annotated[list[Prefix], Field(max_length=PREFIXES_LIMIT)] = Field(
        default_factory=list,
        description="directories whose files go through forwarders, which export them under the same paths; "
        "[] means no forwarding",
    )
    auth: Literal["munge", "none"] = Field("munge", description="how the forwarders authenticate users")
    maps: AbsolutePath = Field(
        Path("/var/lib/reprise/forwarders"),
        description="directory of the maps, which name the forwarders of each job, with the same path on every node",
    )
    policy: Literal["zero", "one", "static", "size", "process", "mckp", "oracle"] = Field(
        "mckp", description="rule by which forwarders are shared out"
    )
    default: int | None = Field(
        None,
        ge=0,
        le=65536,
        description="forwarders of a job whose application was not measured; if none, in proportion to its nodes",
    )
    direct: bool = Field(True, description="whether jobs may access the file system without a forwarder")
    pause_s: float = Field(
        1.0, ge=0, le=3600, description="seconds without I/O that a change of its forwarders is assumed to cost a job"
    )
    settle_s: float = Field(10.0, ge=0, le=86400, description="minimum seconds between two changes of a job")
    check_s: float = Field(5.0, ge=0.5, le=3600, description="seconds between two checks of a forwarder")
    queue_s: float = Field(30.0, ge=1, le=3600, description="seconds between two comparisons with Slurm's queue")
    metrics: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT at which the arbiter serves metrics for Prometheus; '' means none"
    )


class Council(Section):
    """Settings of the council, which learns the window of the I/O forwarders."""

    listen: Annotated[str, AfterValidator(_listening_or_nothing)] = Field(
        "",
        description="HOST:PORT, [ADDRESS]:PORT or the path of a Unix socket at which forwarders report; '' means no "
        "council",
    )
    auth: Literal["munge", "none"] = Field(
        "munge", description="how the council and the forwarders recognize each other"
    )
    forwarder_uid: UserId = Field(0, description="user id of the forwarders; root is always believed")
    learner: Literal["ucb1", "epsilon"] = Field("ucb1", description="method that chooses windows to explore")
    explore: Literal["known", "all", "none"] = Field(
        "known",
        description="jobs on which windows are explored: those that the matcher knows, also others, or none; never "
        "those that opted out",
    )
    harm: float = Field(
        0.01, ge=0, le=1, description="largest share of a pattern's bandwidth that exploring may cost; 1: no limit"
    )
    timeout_s: float = Field(
        1.0, ge=0.1, le=5, description="seconds from a round's first report until the council decides without the rest"
    )
    detector: AbsolutePath | None = Field(
        None, description="file of the detector of access patterns; without it, the one of Reprise is used"
    )
    directory: AbsolutePath = Field(
        Path("/var/lib/reprise/council"), description="directory of what was learned, and of the recorded reports"
    )
    record_mb: int = Field(
        64, ge=0, le=1_000_000, description="size in MB at which recorded reports begin a new file; 0 records none"
    )
    metrics: Annotated[str, AfterValidator(_host_and_port_or_nothing)] = Field(
        "", description="HOST:PORT at which the council serves metrics for Prometheus; '' means none"
    )


class Config(Section):
    """Content of the configuration file."""

    site: Site = Site()
    matcher: Matcher = Matcher()
    replica: Replica = Replica()
    access: Access = Access()
    database: DatabaseSection = DatabaseSection()
    artifacts: Artifacts = Artifacts()
    tuner: Tuner = Tuner()
    openmpi: OpenMPI = OpenMPI()
    containers: Containers = Containers()
    mpich: Mpich = Mpich()
    forwarding: Forwarding = Forwarding()
    council: Council = Council()
    notify: Notify = Notify()
    web: Web = Web()


def in_use(path: Path | None = None) -> Path | None:
    """Return the configuration file to read: `path` if given, otherwise DEFAULT_PATH if it exists, otherwise None."""
    if path is None:
        try:
            DEFAULT_PATH.stat()
        except FileNotFoundError:
            return None
        except OSError:
            pass  # the file may exist; reading it will report the error
    return path or DEFAULT_PATH


def load(path: Path | None = None) -> Config:
    """Read and check a configuration file.

    Without `path`, read `/etc/reprise/reprise.toml` or, if that does not exist, return the defaults.
    Raise ConfigError, whose message is one line, if the file is unusable.
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
    """Read the tables of a TOML file. Raise ConfigError, whose message is one line, if that fails."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}): check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML ({error}): correct that line") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, or deeply nested brackets
        raise ConfigError(f"{path}: a value is too long or nested too deeply ({error}): correct it") from error


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """Describe in one line the first problem in a file of type `model`, with a suggestion for a misspelled key."""
    problems = error.errors()  # an unknown key is reported first: it may be a misspelled required key
    problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place, beside = _place(problem["loc"], model)
    where = ".".join(place)
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], beside, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(beside)}"
        return f"unknown setting {where!r}: {hint}"
    what = problem["msg"].removeprefix("Value error, ")
    if not where or problem["type"] == "missing":
        return f"setting {where!r} is missing: add it" if where else what
    if problem["type"] == HIDDEN:
        return f"setting {where!r}: {what}"
    return f"setting {where!r}: {what} (it is {repr(problem['input'])[:200]})"


def _place(location: tuple[int | str, ...], model: type[BaseModel]) -> tuple[list[str], list[str]]:
    """Return the keys and list indexes that lead to a problem, and the known keys of the innermost table.

    If a value may have one of several types of tables, pydantic's location also names the type that pydantic chose.
    This name is left out, since it does not appear in the file.
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
    """Yield the types of tables that a value of this type may be or contain."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _tables(part)
