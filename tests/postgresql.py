# SPDX-License-Identifier: Apache-2.0
"""A server of PostgreSQL for tests: Debian's programs, a cluster in a temporary directory, a Unix socket and peer auth.

The server runs for the whole session of pytest. A test's database is a copy of a template.
"""

from __future__ import annotations

import functools
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reprise.database import Database
from tests.waiting import wait_for

VERSIONS = Path("/usr/lib/postgresql")
# Without fsync, only a crash of the machine loses what was written, which no test needs.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "30",
    "shared_buffers": "32MB",
    "listen_addresses": "",
    "log_line_prefix": "",
}
_numbers = itertools.count()


def programs() -> Path:
    """Return the directory of the newest installed release's programs. Fail if none is installed."""
    found = [place for place in VERSIONS.glob("*/bin") if (place / "initdb").exists()]
    assert found, f"no PostgreSQL in {VERSIONS}: run `make deps-postgresql`"
    return max(found, key=lambda place: int(re.sub(r"\D", "", place.parent.name)))


class Server:
    """A running server; its superuser is the user who runs the tests, because peer auth knows no other."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._programs = programs()
        self._user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
        self.me = pwd.getpwuid(os.geteuid()).pw_name

    def url(self, database: str, **parameters: str) -> str:
        """Return the URL of a database."""
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        return f"postgresql:///{database}?host={self.directory}{more}"

    def run(self, program: str, *arguments: str, as_me: bool = False) -> str:
        """Run a program of PostgreSQL as the server's user or, with `as_me`, as this one, and return its output."""
        user = None if as_me else self._user
        done = subprocess.run(
            [self._programs / program, *arguments],
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}{self.log()}"
        return done.stdout

    def start(self) -> None:
        """Make the cluster, unless it exists, and start the server."""
        data = self.directory / "data"
        if not data.exists():
            if self._user:
                shutil.chown(self.directory, self._user, self._user)
            locale = ("--locale-provider=icu", "--icu-locale=en-US")  # does not sort by bytes
            account = ("--username", self.me, "--auth=peer")
            self.run("initdb", "--no-sync", "--encoding=UTF8", *account, *locale, "-D", str(data))
            with (data / "postgresql.conf").open("a") as file:
                file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
                file.write(f"unix_socket_directories = '{self.directory}'\n")
        user = ["--reuid", self._user, "--regid", self._user, "--clear-groups"] if self._user else []
        # the server ends with the tests, however they end: SIGQUIT is its immediate shutdown
        command = ["setpriv", *user, "--pdeathsig", "QUIT", str(self._programs / "postgres"), "-D", str(data)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("the server", self._accepts, every_s=0.02)

    def _accepts(self) -> bool:
        assert self._process.poll() is None, f"the server ended: {self.log()}"
        ready = [str(self._programs / "pg_isready"), "--quiet", "--host", str(self.directory)]
        return subprocess.run(ready, check=False).returncode == 0

    def stop(self) -> None:
        """Stop the server at once."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def log(self) -> str:
        """Return the server's log."""
        log = self.directory / "log"
        return log.read_text() if log.exists() else ""

    def sql(self, statement: str, database: str = "postgres") -> None:
        """Execute a statement as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)

    def empty(self) -> str:
        """Return the URL of a new database without a schema."""
        name = f"test{next(_numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    @functools.cached_property
    def _template(self) -> str:
        url = self.empty()
        Database.open(url, create=True).close()
        return url.partition("///")[2].partition("?")[0]

    def new(self) -> str:
        """Return the URL of a new database with the newest schema."""
        name = f"test{next(_numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Delete a database."""
        self.sql(f"DROP DATABASE IF EXISTS {url.partition('///')[2].partition('?')[0]} WITH (FORCE)")


@contextmanager
def running() -> Iterator[Server]:
    """Start a server in a temporary directory, and remove both afterwards."""
    with tempfile.TemporaryDirectory(prefix="reprise-postgresql-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        server = Server(directory)
        server.start()
        try:
            yield server
        finally:
            server.stop()
