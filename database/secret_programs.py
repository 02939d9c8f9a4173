# SPDX-License-Identifier: Apache-2.0
"""Programs that take secrets in options whose names mean something else in other programs, such as `-p`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import basename


@dataclass(frozen=True)
class Habits:
    """How a program takes secrets from its command line.

    Options are written without dashes; "" means the words that do not belong to an option.

    `values`: options whose value is a secret. `pairs`: options whose value contains a secret after a separator, with
    the separator. `attached`: short options to which a secret may be attached (`-pSECRET`). `verbs`: subcommands, each
    with the options whose value is a secret only after that subcommand. `words`: subcommands whose arguments are
    secrets, with the number of arguments before the secrets. `last`: whether the last word is a secret.
    """

    values: frozenset[str] = frozenset()
    pairs: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()
    verbs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    last: bool = False


NONE = Habits()
_LOGIN = {"login": frozenset({"p"})}
_BY_PROGRAMS = {
    "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlbinlog mysqlsh mycli mydumper": Habits(
        frozenset({"p"}), attached=("p",)
    ),
    "mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check": Habits(frozenset({"p"}), attached=("p",)),
    "mongo mongosh mongodump mongorestore mongoimport mongoexport cqlsh dsbulk": Habits(frozenset({"p"})),
    "sqlcmd bcp": Habits(frozenset({"P"}), attached=("P",)),
    "sqlplus expdp impdp sqlldr rman": Habits(pairs={"": "/", "userid": "/"}),
    "redis-cli": Habits(frozenset({"a"}), attached=("a",)),
    "influx": Habits(frozenset({"t"})),
    "beeline rabbitmqadmin": Habits(frozenset({"p"})),
    "curl": Habits(
        frozenset({"b", "cookie"}),
        {"u": ":", "user": ":", "U": ":", "proxy-user": ":", "E": ":", "cert": ":"},
        attached=("u", "U", "b"),
    ),
    "http https": Habits(pairs={"a": ":", "auth": ":"}),
    "lftp": Habits(pairs={"u": ",", "user": ","}),
    "ncftpput ncftpget": Habits(frozenset({"p"})),
    "smbclient rpcclient smbget smbcacls smbtree net": Habits(pairs={"U": "%", "user": "%"}, attached=("U",)),
    "sshpass": Habits(frozenset({"p"}), attached=("p",)),
    "plink pscp psftp": Habits(frozenset({"pw"})),
    "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare": Habits(
        frozenset({"w"}), attached=("w",)
    ),
    "snmpwalk snmpget": Habits(frozenset({"c", "A", "X"})),
    "ipmitool": Habits(frozenset({"P"}), attached=("P",)),
    "mosquitto_pub mosquitto_sub": Habits(frozenset({"P"})),
    "7z 7za 7zr 7zz": Habits(frozenset({"p"}), attached=("p",)),
    "rar unrar": Habits(frozenset({"p"}), attached=("p", "hp")),
    "zip unzip": Habits(frozenset({"P"}), attached=("P",)),
    "openssl": Habits(frozenset({"k", "K", "passin", "passout"})),
    "swift": Habits(frozenset({"K"}), attached=("K",)),
    "mc mcli": Habits(words={("alias", "set"): 3, ("config", "host", "add"): 3}),
    "htpasswd xauth": Habits(last=True),
    "iinit": Habits(words={(): 0}),
    "wandb vault comet": Habits(words={("login",): 0}),
    "docker podman nerdctl skopeo buildah helm az oc synapse": Habits(verbs=_LOGIN),
    "apptainer singularity": Habits(verbs={**_LOGIN, "push": frozenset({"p"})}),
}
HABITS = {program: habits for programs, habits in _BY_PROGRAMS.items() for program in programs.split()}
"""Options and words in which each program takes secrets, by the program's name."""
LONG_NAMES = frozenset(
    """
askpass auth-file basic password port protocol pager pipe plugin-dir plugin_dir print-defaults prompt parallel pass
proxy unix-socket upload-file url url-query use-ascii user user-agent username wait
""".split()  # noqa: SIM905 (too many for one line)
)
"""Names of long options that begin like a short option with an attached secret, and must not be mistaken for one."""


def habits_of_program(path: str) -> Habits:
    """Return the options and words in which the program with this name or path takes secrets."""
    return HABITS.get(basename(path), NONE)
