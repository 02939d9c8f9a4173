# SPDX-License-Identifier: Apache-2.0
"""Commands that a shell would run, in order and with variables expanded, including those in functions and `eval`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission.mpi_signs import Signs
from reprise.matcher.submission.script_functions import Functions
from reprise.matcher.submission.shell_branches import BRANCH_WORDS, Branches
from reprise.matcher.submission.shell_builtins import WITHOUT_EFFECT, called_with, give_arguments, take_note
from reprise.matcher.submission.shell_syntax import WORD_LIMIT, Command, Word, as_written, commands
from reprise.matcher.submission.shell_variables import PASSES_LIMIT, Variables
from reprise.matcher.submission.utilities import KEYWORDS, prepares

CALLS_LIMIT = 128
"""Maximum number of commands that are read in repeated calls of one function, such as a function that logs."""
FILES_LIMIT = 16
"""Maximum number of files written by the script that are kept; scripts that run such files write one or two."""
LINES_LIMIT = 2_048
"""Maximum number of characters that are kept of a file that the script writes line by line."""
_COMMAND_STEPS = 6
"""Steps of the work limit that a command costs, in addition to its words, if it may be the program or set a variable.
"""
# Pattern of the code that sets up the shell, as in `eval "$(conda shell.bash hook)"`.
_SETS_UP = re.compile(
    r"conda|mamba|hook|module|lmod|activate|spack|brew|ssh-agent|scram|dircolors|init|env|getopt|opam|direnv|setup|"
    r"perl|shell|path|complet|echo|cat|printf|grep|parse|OPTS|ARGS",
    re.IGNORECASE,
)
_CODE_LIMIT = 512  # maximum number of characters of the code that are searched for _SETS_UP
# Variables whose value is the command that a Python library for simulation, such as ASE, runs.
_COMMAND_NAME = re.compile(
    r"(?:ASE_|VASP_|ESPRESSO_|LAMMPS_|CP2K_|AIMS_|ORCA_|SIESTA_|GAUSSIAN_)\w*(?:COMMAND|CMD|SCRIPT)\b"
)
_CALLS = frozenset({"time", "parallel", "env_parallel"})
"""Commands that can run a function of the script; all other commands run only files."""
_ALL_ARGUMENTS = ("@", "*")
UNSEEN = "$"
"""Name given to a command that the script does not show."""


class Expanded(NamedTuple):
    """A command with its variables expanded.

    `stdin` is the command's here-document, and `input_file` the file on its standard input. `nesting` is the number of
    levels of functions and code that may still be followed from the command. `stretch` is the number of `wait` commands
    before the command. `beside` equals `stretch` if the command runs in the background, and is -1 otherwise.
    `other_passes` has the words of the command in the other passes of a loop, if they differ.
    """

    argv: list[str]
    stdin: str
    nesting: int
    input_file: str = ""
    beside: int = -1
    stretch: int = 0
    other_passes: Sequence[list[str]] = ()


@dataclass
class Shell:
    """State of a shell whose commands are read, with its variables and the files that the script has written.

    `files` maps the base names of files that the script writes with `cat <<END`, `tee` or `echo` to their text. `waits`
    is the number of `wait` commands that have been read. `mpi_signs` are added by the reader of the commands.
    """

    variables: Variables = field(default_factory=Variables)
    files: dict[str, str] = field(default_factory=dict)
    mpi_signs: Signs = field(default_factory=Signs)
    in_doubt: bool = False
    """Whether the function being read may never be called, or is called in a branch that may not be taken."""
    within: list[str] = field(default_factory=list)
    """Functions whose calls are being followed; their recursive calls are not followed."""
    waits: int = 0
    other_passes: Sequence[list[str]] = ()
    """Words of the current command in the other passes of a loop."""

    def child(self) -> Shell:
        """Return a child of this shell; changes of variables in the child do not affect this shell."""
        return Shell(self.variables.of_child(), self.files, self.mpi_signs)

    def expanded(
        self,
        script: Iterable[Command],
        functions: Functions,
        nesting: int,
        arguments: Sequence[str] | None = None,
    ) -> Iterator[Expanded]:
        """Iterate over the expanded commands, except assignments and any builtins that neither set nor start anything.

        Commands are read on demand, and variables that a command sets apply to the commands after it. The commands of a
        function are yielded where the function is called, or at the end if no call is visible. `arguments` are the
        script's arguments; None keeps the current arguments.
        """
        if arguments is not None:
            give_arguments(self.variables, arguments)
        return chain(self._followed(script, functions, nesting), self._uncalled(functions))

    def _uncalled(self, functions: Functions) -> Iterator[Expanded]:
        self.in_doubt = True
        for name, body in functions.bodies.items():
            if name not in functions.calls:  # `trap` or "$name" may call the function
                yield from self._followed(body, functions, 0)

    def _followed(self, body: Iterable[Command], functions: Functions, nesting: int) -> Iterator[Expanded]:
        """Expand commands, and follow calls of functions and `eval` for `nesting` levels."""
        branches = Branches()
        for command in body:
            self.variables.work.spend(2, command.characters)
            argv, exported = self._words_of(command, branches)
            if not argv:
                if len(command.words) == 1 and _is_all_arguments(command.words[0]):
                    yield Expanded([UNSEEN], "", 0)  # the whole command is "$@", and the arguments are unknown
                continue
            name = argv[0]
            is_eval = name == "eval" and len(argv) > 1
            if name in functions.bodies and (is_eval or not prepares(name)):
                yield from self._called(argv, functions, nesting)
            elif name in _CALLS and (position := functions.called_in(argv)):
                yield from self._called(argv[position:], functions, nesting)
            elif is_eval:
                yield from self._evaluated(" ".join(argv[1:WORD_LIMIT]), functions, nesting)
            elif name in ("cat", "tee") and command.here_document:
                self._keep_file(argv, command)
            else:
                input_file = "".join(self.variables.expand(command.input))
                beside = self.waits if command.in_background else -1
                here = command.here_document
                yield Expanded(argv, here, nesting, input_file, beside, self.waits, self.other_passes)
            for variable in filter(_COMMAND_NAME.match, exported):
                yield from self._told_to_programs(variable, nesting)

    def _called(self, argv: Sequence[str], functions: Functions, nesting: int) -> Iterator[Expanded]:
        """Yield the commands of a called function, unless the function is called too often or is recursive."""
        name, *arguments = argv
        calls = functions.calls[name]
        functions.calls[name] += 1
        if not nesting or calls * len(functions.bodies[name]) > CALLS_LIMIT or name in self.within:
            return
        outside = self.in_doubt
        self.in_doubt = self.variables.in_doubt
        self.within.append(name)
        with called_with(self.variables, arguments, [argv[1:] for argv in self.other_passes]):
            yield from self._followed(functions.bodies[name], functions, nesting - 1)
        self.within.pop()
        self.in_doubt = outside

    def _evaluated(self, code: str, functions: Functions, nesting: int) -> Iterator[Expanded]:
        """Yield the commands in the code of `eval`; if the code is unknown, yield one unknown command.

        Unknown code that sets up the shell, such as `$(conda shell.bash hook)`, yields nothing.
        """
        if not code.startswith(("$", "`")):
            if nesting:
                outside = functions.outside(commands(code, self.variables.work))
                yield from self._followed(outside, functions, nesting - 1)
        elif not _SETS_UP.search(code, 0, _CODE_LIMIT):
            yield Expanded([UNSEEN], "", 0)

    def _told_to_programs(self, variable: str, nesting: int) -> Iterator[Expanded]:
        """Yield the command that an exported variable gives to a program, as `ASE_VASP_COMMAND="mpirun vasp"` does."""
        for command in commands(self.variables.values.get(variable, ""), self.variables.work):
            yield Expanded(self.variables.expand_all(command.words) or [""], "", nesting)

    def _keep_file(self, argv: Sequence[str], command: Command) -> None:
        """Store the text of the file that `cat > FILE <<END` or `tee FILE <<END` writes."""
        written = self.variables.expand(command.output) or [word for word in argv[1:] if not word.startswith("-")]
        if written and len(self.files) < FILES_LIMIT:
            self.variables.work.spend(2, len(command.here_document))
            self.files[basename(written[0])] = command.here_document.replace("\\$", "$")

    def _keep_line(self, words: Sequence[Word], command: Command) -> None:
        """Store a line that `echo LINE >> FILE` writes."""
        name = basename("".join(self.variables.expand(command.output)))
        text = self.files.get(name, "")
        if name and len(text) < LINES_LIMIT and (text or len(self.files) < FILES_LIMIT):
            self.variables.work.spend(2 + len(words), len(text))
            self.files[name] = f"{text}{' '.join(self.variables.expand_all(words[1:]))}\n"

    def _words_of(self, command: Command, branches: Branches) -> tuple[list[str], Sequence[str]]:
        """Apply the assignments of one command; return its words, and the names of the variables that it exports.

        The words are empty if the command only sets variables, has no effect, or is in a branch that is not taken.
        """
        variables = self.variables
        words = self._after_keywords(command.words, branches)
        if branches.levels:
            if branches.skipped:
                return [], ()
            if branches.reads_condition():
                branches.condition(words, command.joined_by, variables)
        variables.in_doubt = self.in_doubt or command.follows_test or branches.in_doubt
        assigned = 0
        while assigned < len(words) and variables.assign(words[assigned]):
            assigned += 1
        words = words[assigned:]
        if not words or (len(words[0]) == 1 and words[0][0].text in WITHOUT_EFFECT):
            builtin = words[0][0].text if words else ""
            self.waits += builtin == "wait"
            if builtin == "echo" and command.output:
                self._keep_line(words, command)
            return [], ()
        variables.work.spend(_COMMAND_STEPS + len(words) // 2)
        argv = variables.expand_all(words)
        self.other_passes = variables.in_other_passes(words) if variables.other_values else ()
        return argv, take_note(variables, argv[0].rpartition("/")[2], words, argv) if argv else ()

    def _after_keywords(self, words: Sequence[Word], branches: Branches) -> Sequence[Word]:
        """Return the words after `if`, `do` and other keywords.

        The variable of a `for` loop is set to the loop's first value, and its other values are kept for `module`.
        """
        position = 0
        while position < len(words) and (first := as_written(words[position])) in KEYWORDS:
            position += 1
            if first in BRANCH_WORDS:
                branches.word(first)
            if first in ("for", "select"):
                values = self.variables.expand_all(words[position + 2 : position + 3])
                if values and not branches.skipped:
                    self.variables.in_doubt = True
                    self.variables.set(as_written(words[position]), values[0])
                    every = self.variables.expand_all(words[position + 2 : position + 2 + PASSES_LIMIT])
                    self.variables.set_in_other_passes(as_written(words[position]), every[1:PASSES_LIMIT])
                return ()
            if first == "case" and words[position + 1 : position + 2] and as_written(words[position + 1]) == "in":
                return ()  # a `case` without patterns
        return words[position:]


def _is_all_arguments(word: Word) -> bool:
    return word[-1].variable in _ALL_ARGUMENTS and as_written(word) == word[-1].text
