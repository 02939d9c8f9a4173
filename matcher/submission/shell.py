# SPDX-License-Identifier: Apache-2.0
"""A reader of shell scripts: their simple commands, in the order in which they stand, with variables still in them.

It knows the shell's quoting, comments, line continuations, here-documents, expansions, redirections and operators. It
runs nothing and follows no branch: every command of the text comes out once. It never fails, and takes one pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_PLAIN = re.compile(r"[^ \t\r\f\v\n'\"\\$`;&|<>()#]+")
_IN_DOUBLE_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_BRACKETS = re.compile(r"[^'\"\\`(){}]+")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\[[@*]\])?|[0-9]+|[@*])(?:(:?[-=])([^{}$`\"'\\]*))?\Z")
_WHICH = re.compile(r"\s*(?:which|command\s+-v|type\s+-[pP])\s+([\w./+-]+)\s*\Z")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<|>)")
_EMPTY_BRACKETS = re.compile(r"[ \t]*\)")
_TO_BACK_QUOTE = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)
_TO_DOUBLE_QUOTE = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_CLOSING = {"(": ")", "{": "}"}


@dataclass(frozen=True)
class Piece:
    """A stretch of a word. `variable` is the name of a variable that stands here (`NAME[@]`: all of an array), with
    `default` for when it is unset (None: no default); `text` is the stretch as written. Unquoted variables are split at
    blanks."""

    text: str
    quoted: bool = False
    variable: str = ""
    default: str | None = None


Word = tuple[Piece, ...]


@dataclass
class Command:
    """A simple command: its words, redirections left out. `defines_function`: `name()`, its body follows."""

    words: list[Word] = field(default_factory=list)
    defines_function: bool = False


def as_written(word: Word) -> str:
    """The word without its quotes, variables unexpanded."""
    return "".join(piece.text for piece in word)


def commands(text: str) -> Iterator[Command]:
    """The simple commands of a script."""
    yield from _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.in_test = False  # between [[ and ]], where operators end nothing
        self.in_pattern = False  # between `in` or `;;` and the `)` of a `case`
        self.command = Command()
        self.here_documents: list[tuple[str, bool]] = []

    def run(self) -> Iterator[Command]:
        while self.at < len(self.text):
            character = self.text[self.at]
            if blanks := _BLANKS.match(self.text, self.at):
                self.at = blanks.end()
            elif character == "#":
                self._skip_comment()
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif redirection := _REDIRECTION.match(self.text, self.at):
                self._redirect(redirection)
            elif character in "\n;&|()":
                yield from self._operator(character)
            else:
                self._add_word()
        yield from self._end()

    def _add_word(self) -> None:
        words = self.command.words
        words.append(self._word())
        written = as_written(words[-1])
        self.in_test = (self.in_test or written == "[[") and written != "]]"
        if written == "in" and len(words) >= 3 and as_written(words[-3]) == "case":
            self.in_pattern = True
        elif written == "esac":
            self.in_pattern = False

    def _end(self) -> Iterator[Command]:
        if self.command.words:
            yield self.command
        self.command = Command()

    def _operator(self, character: str) -> Iterator[Command]:
        if self.text.startswith("((", self.at):
            self._brackets()  # arithmetic
            return
        self.at += 1
        if character == "\n":
            self._skip_here_documents()
        if self.in_pattern:
            if character == ")":
                self.in_pattern, self.command = False, Command()
            return
        if self.in_test:
            return
        if character == "(" and len(self.command.words) == 1 and (empty := _EMPTY_BRACKETS.match(self.text, self.at)):
            self.at = empty.end()
            self.command.defines_function = True
        yield from self._end()
        if character == ";" and self.text.startswith((";", "&"), self.at):
            self.at += 1
            self.in_pattern = True

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _redirect(self, redirection: re.Match[str]) -> None:
        operator = redirection.group().lstrip("0123456789")
        self.at = redirection.end()
        while blanks := _BLANKS.match(self.text, self.at):
            self.at = blanks.end()
        if self.text.startswith("(", self.at):  # process substitution, as in `< <(command)`
            self._word()
        elif self.at < len(self.text) and self.text[self.at] not in "\n;&|)<>":
            target = as_written(self._word())
            if operator in ("<<", "<<-"):
                self.here_documents.append((target, operator == "<<-"))

    def _skip_here_documents(self) -> None:
        for delimiter, tabs in self.here_documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.here_documents.clear()

    def _word(self) -> Word:
        pieces: list[Piece] = []
        while self.at < len(self.text):
            character = self.text[self.at]
            if plain := _PLAIN.match(self.text, self.at):
                pieces.append(Piece(plain.group()))
                self.at = plain.end()
            elif character == "#":  # within a word, no comment
                pieces.append(Piece("#"))
                self.at += 1
            elif character == "\\":
                pieces.append(Piece(self._escaped(), quoted=True))
            elif character == "'":
                pieces.append(Piece(self._single_quoted(), quoted=True))
            elif character == '"':
                pieces += self._double_quoted()
            elif character in "$`":
                pieces.append(self._expansion(quoted=False))
            elif character == "(" and (not pieces or pieces[-1].text.endswith("=")):
                pieces.append(Piece(self._brackets()))  # an array's value, or process substitution
            else:
                break
        return tuple(pieces)

    def _escaped(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if following == "\n" else following

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        quoted = self.text[self.at + 1 : end]
        self.at = end + 1
        return quoted

    def _double_quoted(self) -> list[Piece]:
        self.at += 1
        pieces = [Piece("", quoted=True)]  # so that "" is a word
        while self.at < len(self.text) and self.text[self.at] != '"':
            if plain := _IN_DOUBLE_QUOTES.match(self.text, self.at):
                pieces.append(Piece(plain.group(), quoted=True))
                self.at = plain.end()
            elif self.text[self.at] == "\\":
                escaped = self._escaped()
                kept = escaped if escaped in tuple('$`"\\') or not escaped else "\\" + escaped
                pieces.append(Piece(kept, quoted=True))
            else:
                pieces.append(self._expansion(quoted=True))
        self.at += 1
        return pieces

    def _expansion(self, quoted: bool) -> Piece:
        """What `$` or a back-quote begins. Variables and `$(which x)` are understood; all else stays as written."""
        start = self.at
        if self.text[start] == "`":
            closing = _TO_BACK_QUOTE.match(self.text, start + 1)
            self.at = closing.end() if closing else len(self.text)
            if found := _WHICH.match(self.text[start + 1 : self.at - 1]):
                return Piece(found.group(1), quoted=True)
        elif self.text.startswith(("$(", "${"), start):
            self.at += 1
            inside = self._brackets()[1:-1]
            braced = _BRACED.match(inside) if self.text[start + 1] == "{" else None
            if self.text[start + 1] == "(" and (found := _WHICH.match(inside)):
                return Piece(found.group(1), quoted=True)
            if braced:
                return Piece(self.text[start : self.at], quoted, braced.group(1), braced.group(3))
        elif not quoted and self.text.startswith(("$'", '$"'), start):
            self.at += 1  # the quotes that follow are read as plain ones
            return Piece("", quoted=True)
        elif name := _NAME.match(self.text, start + 1):
            self.at = name.end()
            return Piece(self.text[start : self.at], quoted, name.group())
        else:
            self.at += 1
        return Piece(self.text[start : self.at], quoted=True)

    def _brackets(self) -> str:
        """From an opening bracket to the one that closes it, quotes within it respected."""
        start = self.at
        open_brackets: list[str] = []
        while self.at < len(self.text):
            character = self.text[self.at]
            if plain := _IN_BRACKETS.match(self.text, self.at):
                self.at = plain.end()
                continue
            if character == "'":
                self._single_quoted()
                continue
            self.at += 2 if character == "\\" else 1
            if character == '"':
                self._skip_double_quoted()
            elif character in _CLOSING:
                open_brackets.append(_CLOSING[character])
            elif open_brackets and character == open_brackets[-1]:
                open_brackets.pop()
                if not open_brackets:
                    break
        self.at = min(self.at, len(self.text))
        return self.text[start : self.at]

    def _skip_double_quoted(self) -> None:
        closing = _TO_DOUBLE_QUOTE.match(self.text, self.at)
        self.at = closing.end() if closing else len(self.text)
