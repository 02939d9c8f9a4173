# SPDX-License-Identifier: Apache-2.0
"""The variables that a script itself sets, and its commands with them filled in. What is not known stays as written.

What is given to a variable whose name says that it holds a secret is masked there, so that it is wherever it arrives:
within a word, in part, or by way of other variables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from posixpath import basename
from typing import NamedTuple

from reprise.database.secret_masking import MASK, masked_words
from reprise.database.secret_names import names_secret
from reprise.matcher.submission import loaded_modules
from reprise.matcher.submission.parameter_expansion import slice_of, transform
from reprise.matcher.submission.script_functions import Functions
from reprise.matcher.submission.shell_syntax import ASSIGNMENT, WORD_LIMIT, Command, Piece, Word, as_written, commands
from reprise.matcher.submission.size_options import positive
from reprise.matcher.submission.submitted import ARGUMENT_LIMIT
from reprise.matcher.submission.utilities import KEYWORDS, PREPARATION, prepares
from reprise.matcher.submission.work_limit import Work
from reprise.matcher.submission.wrappers import RUNNERS

# Fields between blanks; what is not known, such as $(dirname $0), is not torn apart.
_FIELD = re.compile(r"(?:\$\((?:[^()]++|\([^()]*+\))*\)|`[^`]*+`|\$\{[^{}]*+\}|\S)+")
VALUE_LIMIT = 4096
"""Characters of a variable's value; a longer one counts as unknown, so that doubling variables stay harmless."""
FILES_LIMIT = 16
"""Files written by here-documents that are kept; scripts write one or two that they run."""
_CHARACTERS_PER_STEP = 8
"""Of a value that is split into fields, or an array: a field may be as short as two characters."""
_MASKING = 4
"""How often as much as copying a text masking it costs."""
_COMMAND_STEPS = 6
"""What a command costs that may be the program, or sets something, beside its words."""
# What `eval "$(conda shell.bash hook)"` and its like run: it sets the shell up.
_SETS_UP = re.compile(
    r"conda|mamba|hook|module|lmod|activate|spack|brew|ssh-agent|scram|dircolors|init|env|getopt|opam|direnv|setup|"
    r"perl|shell|path|complet|echo|cat|printf|grep|parse|OPTS|ARGS",
    re.IGNORECASE,
)
# Variables from which Python libraries for simulation (ASE and its like) take the command that they run.
_COMMAND_NAME = re.compile(
    r"(?:ASE_|VASP_|ESPRESSO_|LAMMPS_|CP2K_|AIMS_|ORCA_|SIESTA_|GAUSSIAN_)\w*(?:COMMAND|CMD|SCRIPT)\b"
)
_CODE_LIMIT = 512  # characters of it that are looked at
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_READERS = frozenset({"read", "mapfile", "readarray", "getopts"})  # into variables
_ALL_ARGUMENTS = ("@", "*")
UNSEEN = "$"
"""The name of a command that cannot be seen."""
_WITHOUT_EFFECT = (
    PREPARATION
    - RUNNERS.keys()
    - _DECLARATIONS
    - _READERS
    - {":", "eval", "unset", "printf", "shift", "let", "set", "setenv", *loaded_modules.COMMANDS}
)
_CHANGED = re.compile(r"\b([A-Za-z_]\w*+)\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*+([A-Za-z_]\w*+)")


class Expanded(NamedTuple):
    """A command whose variables are filled in. `stdin` is its here-document, `input_file` the file that its standard
    input comes from; `nesting` says how many levels of functions and of code may still be followed from there."""

    argv: list[str]
    stdin: str
    nesting: int
    input_file: str = ""


@dataclass
class Variables:
    """What is known of the variables of a script. `work` bounds the reading of the whole script."""

    values: dict[str, str] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """The files that the script writes here-documents to, by their base names."""
    exported: list[str] = field(default_factory=list)
    """Of the variables that the last command exported, those that tell a program what to run."""

    def of_child(self) -> Variables:
        """Those of a shell that is started here: what it sets is not known outside."""
        self.work.spend(1 + (len(self.values) + len(self.arrays)) // 4)
        return Variables(dict(self.values), self.work, dict(self.arrays), self.files)

    def expanded(
        self,
        script: Iterable[Command],
        functions: Functions,
        nesting: int,
        arguments: Sequence[str] | None = None,
    ) -> Iterator[Expanded]:
        """The commands with their variables filled in, without assignments and builtins that neither set nor start
        anything. Each command is read when it is asked for, and what it sets is known to those after it.

        The commands of a function come where it is called; those of functions that nobody is seen to call come last.
        `arguments` are those of the shell that reads the commands; None leaves those that are known.
        """
        if arguments is not None:
            self._give_arguments(masked_words(arguments[:ARGUMENT_LIMIT]))
        return chain(self._followed(script, functions, nesting), self._uncalled(functions))

    def _uncalled(self, functions: Functions) -> Iterator[Expanded]:
        for name, body in functions.bodies.items():
            if name not in functions.called:  # perhaps it is, where that is not seen: by `trap`, or as "$name"
                yield from self._followed(body, functions, 0)

    def _followed(self, body: Iterable[Command], functions: Functions, nesting: int) -> Iterator[Expanded]:
        """Expand commands, and follow calls of functions and `eval` for so many levels of nesting."""
        for command in body:
            self.work.spend(2, command.characters)
            argv = self._words_of(command)
            if not argv:
                if len(command.words) == 1 and command.words[0][-1].variable in _ALL_ARGUMENTS:
                    yield Expanded([UNSEEN], "", 0)  # "$@" of a script that is given no arguments
                continue
            name = argv[0]
            is_eval = name == "eval" and len(argv) > 1
            if name in functions.bodies and (is_eval or not prepares(name)):
                functions.called.add(name)
                if nesting:
                    with self._called_with(argv[1:]):
                        yield from self._followed(functions.bodies[name], functions, nesting - 1)
            elif is_eval:
                yield from self._evaluated(" ".join(argv[1:WORD_LIMIT]), functions, nesting)
            elif name in ("cat", "tee") and command.here_document:
                self._keep_file(argv, command)
            else:
                yield Expanded(argv, command.here_document, nesting, "".join(self._expand(command.input)))
            if self.exported:
                yield from self._told_to_programs(nesting)

    def _evaluated(self, code: str, functions: Functions, nesting: int) -> Iterator[Expanded]:
        """What `eval` runs. Of what is not known, only that it is run, unless it sets up the shell as most does."""
        if not code.startswith(("$", "`")):
            if nesting:
                yield from self._followed(functions.outside(commands(code, self.work)), functions, nesting - 1)
        elif not _SETS_UP.search(code, 0, _CODE_LIMIT):
            yield Expanded([UNSEEN], "", 0)

    def _told_to_programs(self, nesting: int) -> Iterator[Expanded]:
        """What the exported variables tell a program to run, `ASE_VASP_COMMAND="mpirun vasp_std"`."""
        for value in map(self.values.get, self.exported):
            for command in commands(value or "", self.work):
                yield Expanded(self._expand_all(command.words) or [""], "", nesting)
        self.exported = []

    def _keep_file(self, argv: Sequence[str], command: Command) -> None:
        """Take note of what `cat > FILE <<END` or `tee FILE <<END` writes."""
        written = self._expand(command.output) or [word for word in argv[1:] if not word.startswith("-")]
        if written and len(self.files) < FILES_LIMIT:
            self.work.spend(2, len(command.here_document))
            self.files[basename(written[0])] = command.here_document.replace("\\$", "$")

    def _words_of(self, command: Command) -> list[str]:
        """The words of one command, after taking note of what it sets."""
        words = self._after_keywords(command.words)
        assigned = 0
        while assigned < len(words) and self._assign(words[assigned]):
            assigned += 1
        words = words[assigned:]
        if not words or (len(words[0]) == 1 and words[0][0].text in _WITHOUT_EFFECT):
            return []
        self.work.spend(_COMMAND_STEPS + len(words) // 2)
        argv = self._expand_all(words)
        if argv:
            self._take_note(basename(argv[0]), words, argv)
        return argv

    def _after_keywords(self, words: Sequence[Word]) -> Sequence[Word]:
        """The words of the command that follows `if`, `do` and the like. A loop gives its variable the first value."""
        position = 0
        while position < len(words) and (first := as_written(words[position])) in KEYWORDS:
            position += 1
            if first in ("for", "select"):
                values = self._expand_all(words[position + 2 : position + 3])
                if values:
                    self._set(as_written(words[position]), values[0])
                return ()
            if first == "case":
                return ()
        return words[position:]

    def _take_note(self, name: str, words: Sequence[Word], argv: Sequence[str]) -> None:
        """Do to the variables what a builtin does. A value that is computed or read is not known."""
        if name in _DECLARATIONS:
            for word in words[1:]:
                self._assign(word)
            self.exported = [word.partition("=")[0] for word in argv[1:] if _COMMAND_NAME.match(word)]
        elif name in ("set", "setenv"):
            self._set_as_csh(name, argv)
        elif name == "unset" or name in _READERS or (name == "printf" and "-v" in argv):
            for variable in argv[1:]:
                self._unset(variable)
        elif name == "let":
            expressions = " ".join(argv[1:])
            self.work.spend(len(expressions) // 4)
            for found in _CHANGED.finditer(expressions):
                self._unset(found.group(1) or found.group(2))
        elif name == "shift":
            self._shift(positive("".join(argv[1:2])) or 1)

    def _set_as_csh(self, name: str, argv: Sequence[str]) -> None:
        """`set NAME = VALUE`, `set NAME=VALUE` and `setenv NAME VALUE` of csh; `set -e` sets nothing."""
        variable, equals, value = "".join(argv[1:2]).partition("=")
        if name == "setenv":
            value = "".join(argv[2:3])
            self.exported = [variable] if _COMMAND_NAME.match(variable) else []
        elif not equals and argv[2:3] == ["="]:
            value = "".join(argv[3:4])
        elif not equals:
            return
        if variable.isidentifier() and not value.startswith("("):
            self._unset(variable)
            self._set(variable, value)

    @contextlib.contextmanager
    def _called_with(self, arguments: Sequence[str]) -> Iterator[None]:
        """A function's own arguments, for as long as its body is read."""
        outer = self._take_arguments()
        self.work.spend(2 * len(arguments), _MASKING * sum(map(len, arguments)))
        self._give_arguments(masked_words(arguments[:ARGUMENT_LIMIT]))
        yield
        self._take_arguments()
        if outer is not None:
            self._give_arguments(outer)

    def _shift(self, count: int) -> None:
        """What `shift` does; nothing where the arguments are not known."""
        arguments = self._take_arguments()
        if arguments is not None:
            self._give_arguments(arguments[count:])

    def _give_arguments(self, arguments: Sequence[str]) -> None:
        arguments = arguments[:ARGUMENT_LIMIT]
        self.values |= {str(number): value for number, value in enumerate(arguments, start=1)}
        self.values["#"] = str(len(arguments))
        self.arrays["@"] = self.arrays["*"] = list(arguments)

    def _take_arguments(self) -> list[str] | None:
        arguments = self.arrays.pop("@", None)
        self.work.spend(1 + len(arguments or ()) // 4)
        self.arrays.pop("*", None)
        for number in range(1, len(arguments or ()) + 1):
            self.values.pop(str(number), None)
        self.values.pop("#", None)
        return arguments

    def _assign(self, word: Word) -> bool:
        """Take `NAME=value`, `NAME+=value` or `NAME=(...)`; False where the word is none of them."""
        found = ASSIGNMENT.match(word[0].text) if word and not word[0].quoted and not word[0].variable else None
        if not found:
            return False
        self.work.spend(2)
        name, index, plus = found.groups()
        rest = (Piece(word[0].text[found.end() :]), *word[1:])
        if rest[1:] and not rest[1].quoted and rest[1].text.startswith("("):
            old = self.arrays.get(name, []) if plus else []
            text = rest[1].text[1:-1]
            inside = (one for command in commands(text, self.work) for one in command.words)
            self._assign_array(name, [*old, *self._expand_all(list(inside))])
            return True
        value = (self.values.get(name, "") if plus else "") + "".join(self._value(piece) for piece in rest)
        self._unset(name)
        if not index and len(value) <= VALUE_LIMIT:
            self._set(name, value)
        return True

    def _assign_array(self, name: str, elements: list[str]) -> None:
        self._unset(name)
        if sum(len(element) + 1 for element in elements) <= VALUE_LIMIT:
            elements = [_without_secret(name, element) for element in elements]
            self.arrays[name] = elements
            self.values[name] = elements[0] if elements else ""  # what $NAME is

    def _set(self, name: str, value: str) -> None:
        self.values[name] = _without_secret(name, value[:VALUE_LIMIT])

    def _unset(self, name: str) -> None:
        self.values.pop(name, None)
        self.arrays.pop(name, None)

    def _expand(self, word: Word) -> list[str]:
        """The word's fields: unquoted variables are split at blanks, an unset one as written is one field."""
        if len(word) == 1 and not word[0].variable:  # most words
            return [word[0].text] if word[0].text or word[0].quoted else []
        fields = [""]
        quoted = False
        for piece in word:
            elements = self._elements(piece)
            quoted = quoted or (piece.quoted and elements is None)
            if elements is not None:
                parts = elements
            else:
                value = self._value(piece)
                split = piece.variable and not piece.quoted and value != piece.text
                parts = _FIELD.findall(value) if split else [value]
            fields[-1] += parts[0] if parts else ""
            fields += parts[1:]
        return fields if len(fields) > 1 or fields[0] or quoted else []

    def _expand_all(self, words: Sequence[Word]) -> list[str]:
        return [field for word in words for field in self._expand(word)]

    def _elements(self, piece: Piece) -> list[str] | None:
        """What `$@`, `${NAME[@]}` or `${@:2}` stands for, None where the piece is no array that is known."""
        if not piece.variable.endswith(("@", "*", "]")):
            return None
        elements = self.arrays.get(piece.variable.removesuffix("[@]").removesuffix("[*]"))
        if elements is None:
            return None
        if piece.operator:
            part = slice_of("".join(one.text for one in piece.operand)) if piece.operator == ":" else None
            if part is None:
                return None
            elements = [piece.text, *elements][part] if piece.variable in "@*" else elements[part]
        self.work.spend(1 + sum(len(element) + 1 for element in elements) // _CHARACTERS_PER_STEP)
        if piece.quoted and piece.variable.endswith(("*", "[*]")):
            return [" ".join(elements)]
        return elements if piece.quoted else [field for element in elements for field in _FIELD.findall(element)]

    def _value(self, piece: Piece) -> str:
        if not piece.variable:
            return piece.text
        elements = self._elements(piece)
        if elements is not None:
            return " ".join(elements)
        value = self._transformed(piece)
        value = piece.text if value is None else value
        self.work.spend(1 + len(value) // _CHARACTERS_PER_STEP)
        return value

    def _transformed(self, piece: Piece) -> str | None:
        """The variable's value after its operator, None where one of them is not known."""
        value = self.values.get(piece.variable)
        if value is None and piece.variable.endswith("]"):
            value = self._element(piece.variable)
        if not piece.operator:
            return value
        given = value is not None and (value != "" or not piece.operator.startswith(":"))
        match piece.operator.lstrip(":"):
            case "-" | "=" if given:
                return value
            case "-":
                return _without_secret(piece.variable, self._operand(piece))
            case "=":
                self._set(piece.variable, self._operand(piece))
                return self.values[piece.variable]
            case "+":
                return self._operand(piece) if given else value
            case "?":
                return value
        return None if value is None else transform(value, piece.operator, self._operand(piece))

    def _operand(self, piece: Piece) -> str:
        return "".join(self._value(one) for one in piece.operand)

    def _element(self, variable: str) -> str | None:
        """One element of an array, `A[2]` or `A[I]`; the first where each task of a job array has its own."""
        name, _, index = variable[:-1].partition("[")
        elements = self.arrays.get(name)
        index = self.values.get(index.lstrip("$"), index)
        if elements and "SLURM_ARRAY_TASK_ID" in index and "SLURM_ARRAY_TASK_ID" not in self.values:
            return elements[0]
        if elements is None or not re.fullmatch(r"[0-9]{1,6}", index) or int(index) >= len(elements):
            return None
        return elements[int(index)]


def _without_secret(name: str, value: str) -> str:
    """What a variable of this name is to hold."""
    return MASK if names_secret(name, value) else value
