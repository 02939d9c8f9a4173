# SPDX-License-Identifier: Apache-2.0
"""Effects of builtins of bash and csh (declare, read, shift, unset and others) on variables."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from reprise.database.secret_masking import masked_words
from reprise.matcher.submission import loaded_modules
from reprise.matcher.submission.shell_syntax import Word
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.size_options import positive
from reprise.matcher.submission.submitted import ARGUMENT_LIMIT
from reprise.matcher.submission.utilities import PREPARATION
from reprise.matcher.submission.wrappers import RUNNERS

_MASKING = 4
"""Cost of masking secrets in a text, as a multiple of the cost of copying the text."""
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_READERS = frozenset({"read", "mapfile", "readarray", "getopts"})  # builtins that read values into variables
WITHOUT_EFFECT = (
    PREPARATION
    - RUNNERS.keys()
    - _DECLARATIONS
    - _READERS
    - {":", "eval", "unset", "printf", "shift", "let", "set", "setenv", *loaded_modules.COMMANDS}
)
"""Commands that neither set variables nor start programs."""
_CHANGED = re.compile(r"\b([A-Za-z_]\w*+)\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*+([A-Za-z_]\w*+)")


def take_note(variables: Variables, name: str, words: Sequence[Word], argv: Sequence[str]) -> Sequence[str]:
    """Apply a builtin's effect on variables, and return the names of the variables that it exports.

    A variable becomes unknown if its new value is computed or read from input.
    """
    if name in _DECLARATIONS:
        for word in words[1:]:
            variables.assign(word)
        return [word.partition("=")[0] for word in argv[1:]]
    if name in ("set", "setenv"):
        return _set_as_csh(variables, name, argv)
    if name == "unset" or name in _READERS or (name == "printf" and "-v" in argv):
        for variable in argv[1:]:
            variables.unset(variable)
    elif name == "let":
        expressions = " ".join(argv[1:])
        variables.work.spend(len(expressions) // 4)
        for found in _CHANGED.finditer(expressions):
            variables.unset(found.group(1) or found.group(2))
    elif name == "shift":
        _shift(variables, positive("".join(argv[1:2])) or 1)
    return ()


def _set_as_csh(variables: Variables, name: str, argv: Sequence[str]) -> Sequence[str]:
    """Apply csh's `set NAME = VALUE`, `set NAME=VALUE` or `setenv NAME VALUE`; return the names that it exports.

    `set -e` and other options do not set a variable.
    """
    variable, equals, value = "".join(argv[1:2]).partition("=")
    if name == "setenv":
        value = "".join(argv[2:3])
    elif not equals and argv[2:3] == ["="]:
        value = "".join(argv[3:4])
    elif not equals:
        return ()
    if variable.isidentifier() and not value.startswith("("):
        variables.unset(variable)
        variables.set(variable, value)
    return [variable] if name == "setenv" else ()


@contextlib.contextmanager
def called_with(
    variables: Variables, arguments: Sequence[str], other_passes: Sequence[Sequence[str]] = ()
) -> Iterator[None]:
    """Set `$1`, `$@` and similar variables to a function's arguments until the function's body has been read.

    `other_passes` are the arguments in the second and later passes of the loop around the call.
    """
    outer = _take_arguments(variables)
    variables.work.spend(2 * len(arguments), _MASKING * sum(map(len, arguments)))
    give_arguments(variables, arguments)
    for number in range(len(arguments)) if other_passes else ():
        others = [argv[number] for argv in other_passes if number < len(argv)]
        variables.set_in_other_passes(str(number + 1), masked_words(others))
    yield
    _take_arguments(variables)
    if outer is not None:
        _keep_arguments(variables, outer)


def give_arguments(variables: Variables, arguments: Sequence[str]) -> None:
    """Set `$1`, `$@` and similar variables to the arguments of a script or function, with secrets masked."""
    _keep_arguments(variables, masked_words(arguments[:ARGUMENT_LIMIT]))


def _shift(variables: Variables, count: int) -> None:
    """Apply `shift`; do nothing if the arguments are unknown."""
    arguments = _take_arguments(variables)
    if arguments is not None:
        _keep_arguments(variables, arguments[count:])


def _keep_arguments(variables: Variables, arguments: Sequence[str]) -> None:
    arguments = arguments[:ARGUMENT_LIMIT]
    variables.values |= {str(number): value for number, value in enumerate(arguments, start=1)}
    variables.values["#"] = str(len(arguments))
    variables.arrays["@"] = variables.arrays["*"] = list(arguments)


def _take_arguments(variables: Variables) -> list[str] | None:
    arguments = variables.arrays.pop("@", None)
    variables.work.spend(1 + len(arguments or ()) // 4)
    variables.arrays.pop("*", None)
    for number in range(1, len(arguments or ()) + 1):
        variables.values.pop(str(number), None)
    variables.values.pop("#", None)
    return arguments
