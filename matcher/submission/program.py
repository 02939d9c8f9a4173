# SPDX-License-Identifier: Apache-2.0
"""Choice of the job's program among the commands that its script starts.

Commands are ranked. Commands run by a launcher rank first, commands that do the job's work rank before those that
prepare or evaluate it, and utilities rank last. Among launched commands of equal rank, the one with the most tasks is
chosen; otherwise, the first command is chosen. A command whose program cannot be read from the script is also ranked.
If such a command ranks first, the job's program is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from posixpath import basename

from reprise.matcher.submission.interpreters import INTERPRETERS, PYTHON
from reprise.matcher.submission.loaded_modules import Modules
from reprise.matcher.submission.script_execution import Started
from reprise.matcher.submission.side_work import SITE_TOOL, SOURCED, Side, side
from reprise.matcher.submission.submitted import TEXT_LIMIT
from reprise.matcher.submission.utilities import BUILDERS, CONFIGURES, NEVER, UTILITIES
from reprise.matcher.submission.work_limit import OutOfWorkError

PROGRAMS_LIMIT = 16
"""Maximum number of program names that are kept for one job; 16 are enough to distinguish longer pipelines."""

_MODULE = re.compile(r"\w/[0-9]+(?:\.[0-9]+)+(?:-[\w.+-]+)?\Z")
"""Pattern of a module's name and version in the place of a command, such as `TensorFlow/2.11.0-CUDA-11.7.0`."""


class Rank(IntEnum):
    """Rank of a command as the job's program; the command with the lowest rank is the most likely program."""

    LAUNCHED = 0
    LAUNCHED_PERHAPS = 1
    LAUNCHED_UNSEEN = 2
    DIRECT_CODE = 3
    DIRECT_MAIN = 4
    DIRECT = 5
    UNSEEN = 6
    DIRECT_PERHAPS = 7
    LAUNCHED_PREPARES = 8
    PREPARES = 9
    LAUNCHED_UTILITY = 10
    BUILDS = 11
    UTILITY = 12
    LOOKS = 13
    NEVER = 14


_SURE = (Rank.LAUNCHED, Rank.LAUNCHED_PERHAPS, Rank.DIRECT_CODE)
_RANKS = {
    (True, Side.CODE): Rank.LAUNCHED,
    (True, Side.MAIN): Rank.LAUNCHED,
    (True, Side.WORK): Rank.LAUNCHED,
    (True, Side.PERHAPS): Rank.LAUNCHED_PERHAPS,
    (True, Side.PREPARES): Rank.LAUNCHED_PREPARES,
    (True, Side.INSTALLS): Rank.UTILITY,
    (True, Side.LOOKS): Rank.LOOKS,
    (False, Side.CODE): Rank.DIRECT_CODE,
    (False, Side.MAIN): Rank.DIRECT_MAIN,
    (False, Side.WORK): Rank.DIRECT,
    (False, Side.PERHAPS): Rank.DIRECT_PERHAPS,
    (False, Side.PREPARES): Rank.PREPARES,
    (False, Side.INSTALLS): Rank.UTILITY,
    (False, Side.LOOKS): Rank.LOOKS,
}


@dataclass(frozen=True)
class Program:
    """A program and the way it is started; `path` is "" if the program is unknown.

    `tasks` is the number of tasks that the launcher starts, or None if there is no launcher or no number. A script's
    `wait` commands divide it into numbered stretches. `stretch` is the number of the stretch in which the program
    starts. `beside` equals `stretch` if the program runs in the background, and is -1 otherwise.
    """

    path: str = ""
    arguments: tuple[str, ...] = ()
    launcher: str = ""
    tasks: int | None = None
    rank: Rank = Rank.NEVER
    beside: int = -1
    stretch: int = 0

    @property
    def name(self) -> str:
        """Base name of the program's path."""
        return basename(self.path)


@dataclass
class Programs:
    """The programs that a job starts.

    `main` is the job's program. `names` are the base names of all known programs except utilities, in order. `modules`
    are the modules that are loaded when the main program starts.
    """

    main: Program = field(default_factory=Program)
    names: list[str] = field(default_factory=list)
    modules: tuple[str, ...] = ()

    def add(self, program: Program, modules: Modules) -> None:
        """Add a command's program, and make it the main program if it is more likely than the current one."""
        if program.path and program.rank < Rank.LAUNCHED_UTILITY and program.name not in self.names:
            self.names.append(program.name)
            del self.names[PROGRAMS_LIMIT:]
        if program.launcher and program.rank < Rank.LAUNCHED_UTILITY:
            modules.use()
        if _is_before(program, self.main):
            self.main, self.modules = program, tuple(modules.loaded)


def programs_of(started: Iterable[Started], modules: Modules) -> Programs:
    """Return the programs that the commands start.

    If the work limit is reached before the script's end, the main program counts as known only if a launcher starts it
    or no other program has been found.
    """
    found = Programs()
    try:
        for command in started:
            for program in _programs(command):
                found.add(program, modules)
    except OutOfWorkError:
        if found.main.rank not in _SURE and (found.main.rank > Rank.DIRECT_PERHAPS or found.names[1:]):
            found = Programs(names=found.names)
    if found.main.rank is Rank.NEVER:
        found.main = Program()
    if not found.main.path and not found.modules:
        found.modules = tuple(modules.loaded)
    return found


def _programs(command: Started) -> Iterable[Program]:
    """Yield the program that a command starts, or several programs if the command passes code to a shell."""
    invocation, inside, beside, stretch = command
    nothing = True
    for one in inside or ():
        for program in _programs(one):
            nothing = False
            launcher = invocation.launcher or program.launcher
            tasks = invocation.tasks or program.tasks
            rank = program.rank
            if invocation.launcher and not program.launcher and rank is not Rank.NEVER:
                rank = _rank(program.path, program.arguments, launcher)
            yield replace(program, launcher=launcher, tasks=tasks, rank=rank, beside=beside, stretch=stretch)
    path, arguments, launcher, tasks = invocation[:4]
    if inside is None or (nothing and path):
        is_site_tool = not invocation.is_inside and not launcher and _is_site_tool(path, arguments)
        rank = Rank.NEVER if is_site_tool else _rank(path, arguments, launcher)
        yield Program(path, arguments, launcher, tasks, rank, beside, stretch)


def _is_before(one: Program, other: Program) -> bool:
    """Return whether `one` is more likely to be the job's program than `other`, which starts earlier.

    If `other` still runs in the background when `one` starts, because there is no `wait` between them, then `other` is
    more likely a server that `one` uses.
    """
    if one.rank is other.rank and one.name != other.name and one.beside < 0 and other.beside == one.stretch:
        return True
    if one.rank is other.rank <= Rank.LAUNCHED_PERHAPS and one.name != other.name:
        return (one.tasks or 0) > (other.tasks or 0) > 0
    return one.rank < other.rank


def _rank(path: str, arguments: tuple[str, ...], launcher: str) -> Rank:
    if not path:
        return Rank.LAUNCHED_UNSEEN if launcher else Rank.UNSEEN
    path = path[:TEXT_LIMIT]
    if _MODULE.search(path):
        return Rank.NEVER
    if _is_utility(path):
        if basename(path) in NEVER:
            return Rank.NEVER
        if launcher:
            return Rank.LAUNCHED_UTILITY
        return Rank.BUILDS if _builds(basename(path), arguments) else Rank.UTILITY
    return _RANKS[bool(launcher), side(path, arguments)]


def _is_site_tool(name: str, arguments: tuple[str, ...]) -> bool:
    """Return whether a name without a path is probably a site's tool, or a function that a sourced file defines."""
    if not name or "/" in name or len(name) > TEXT_LIMIT:
        return False
    if not arguments:
        return bool(SITE_TOOL.match(name) or SOURCED.match(name))
    return bool(SITE_TOOL.match(name)) or arguments[0] in ("load", "unload", "purge")


def _builds(name: str, arguments: tuple[str, ...]) -> bool:
    """Return whether a utility builds or installs software; without --build, `cmake` only writes makefiles."""
    return "--build" in arguments if name == "cmake" else name in BUILDERS


def _is_utility(path: str) -> bool:
    """Return whether a command is a utility, or an interpreter without a script; `./sort` is a user's program."""
    name = basename(path)
    if name in CONFIGURES:
        return True
    known = name in UTILITIES or name in INTERPRETERS or PYTHON.match(name)
    return bool(known) and ("/" not in path or path.startswith("/") or path.endswith(f"/bin/{name}"))
