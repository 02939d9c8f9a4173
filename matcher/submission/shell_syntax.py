# SPDX-License-Identifier: Apache-2.0
"""Parser of shell scripts, which yields their simple commands in order, with variables unexpanded.

The parser supports the shell's quoting, comments, line continuations, here-documents, expansions, redirections and
operators. It runs nothing and does not evaluate branches, but yields every command of the text once. It accepts any
text, and reads the text in one pass.

No library is used, for these reasons (measured 2026-11 with Debian 12's Python 3.11). bashlex is under the GPL.
tree-sitter 0.26.1 with tree-sitter-bash 0.25.1 can crash the process. In the C locale, `{` and a character from U+C7000
on cause a segmentation fault or a bus error (with 154 of 1,024 characters tried; with none in C.UTF-8; its issue 337),
because the parser looks up every character in libc's table of character classes. tree-sitter's Python binding has no
timeout and cannot be cancelled. The tree-sitter parser took more than 20 ms for 89 of 115 hostile scripts of 128 KiB,
and more than 3 s for 11 of them (among them `a=(`, `<<A` and `|`, repeated). This parser takes at most 11 ms for these
scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reprise.matcher.submission.work_limit import OutOfWorkError, Work

_PLAIN = re.compile(r"[^ \t\r\f\v\n'\"\\$`;&|<>()#]+")
# The pattern matches a whole word without special characters, a word that is quoted as a whole, blanks, a comment, or a
# line continuation. It matches no digit that may belong to `2>` and no name that may belong to `name()`.
_TOKEN = re.compile(
    r"[ \t\r\f\v]*+(?P<word>[^ \t\r\f\v\n'\"\\$`;&|<>()#]++)(?=[ \t\r\n;&|]|\Z)"
    r"|[ \t\r\f\v]*+\"(?P<double>[^\"\\$`]*+)\"(?=[ \t\r\n;&|]|\Z)|[ \t\r\f\v]*+'(?P<single>[^']*+)'(?=[ \t\r\n;&|]|\Z)"
    r"|[ \t\r\f\v]++|#[^\n]*+|\\\n"
)
_MARKS = frozenset({"[[", "]]", "in", "esac"})
_IN_DOUBLE_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_BRACKETS = re.compile(r"[^'\"\\`(){}#]+")
_IN_OPERAND = re.compile(r"[^'\"\\$`]+")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
# Blank lines and comments. One match takes at most 512 lines, so that the work limit is checked in time.
_BLANK_LINES = re.compile(r"(?:[ \t\r\f\v\n]*\n|[ \t\r\f\v]*+#[^\n]*+\n){1,512}")
_TO_OPERATOR = re.compile(r"[^\n;&|()<>'\"\\$`#]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*+(?:\[(?:[^][{}()`\"'\\]|\$\{\w{1,32}\}){1,64}\])?|[0-9]++|[@*#])(?:(:?[-=+?]|%%?|##?|//?|\^\^?|,,?|:)(.*))?\Z",
    re.DOTALL,
)
_WHICH = re.compile(r"\s*+(?:which|command\s++-v|type\s++-[pP])\s++([\w./+-]++)\s*+\Z")
_REDIRECTION = re.compile(r"[0-9]*+(?:<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<|>)")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w -]{0,64}>(?=[\s/]|\Z)")
"""Pattern of a placeholder in a template, such as `<your account>`, but not of the redirections in `./x <in> out`."""
_SAME_OPERATORS = re.compile(r"[&|]++")
_EMPTY_BRACKETS = re.compile(r"[ \t]*\)")
_TO_BACK_QUOTE = re.compile(r"(?:[^`\\]++|\\.)*`", re.DOTALL)
_TO_DOUBLE_QUOTE = re.compile(r'(?:[^"\\]++|\\.)*"', re.DOTALL)
_CLOSING = {"(": ")", "{": "}"}
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(\[[^\]]*+\])?(\+?)=")
"""Pattern of the start of `NAME=value`, `NAME[INDEX]=value` or `NAME+=value`; groups: name, index, plus sign."""
WORD_LIMIT = 512
"""Maximum number of a command's words that are kept; further words are skipped."""
_OPERAND_DEPTH = 3
"""Maximum depth of nested operands, as in `${A:-${B:-...}}`, that are expanded; deeper operands stay as written."""


class Piece(NamedTuple):
    """A part of a word that is either all quoted, all unquoted, or a variable; `text` is the part as written.

    `variable` is the name if the part is a variable (`NAME[@]` for a whole array), else "". For `${NAME%.sh}`,
    `operator` is `%` and `operand` is the word `.sh`. The values of unquoted variables are split at blanks.
    """

    text: str
    quoted: bool = False
    variable: str = ""
    operator: str = ""
    operand: tuple[Piece, ...] = ()


Word = tuple[Piece, ...]
_IN_QUOTES = Piece("", quoted=True)
"""Empty piece at the beginning of each text in double quotes, so that "" is also a word."""


@dataclass(slots=True)
class Command:
    """A simple command, with its redirections separated from its words.

    If `defines_function` is True, the command is `name()`, and the function's body follows. `here_document` is the text
    that the script gives as standard input. `input` and `output` are the files of standard input and output.
    `characters` is the length of the words in the script. `follows_test` is True if the command follows `&&` or `||`;
    `joined_by` is then `&` or `|`. `in_background` is True if `&` follows the command.
    """

    words: list[Word] = field(default_factory=list)
    characters: int = 0
    defines_function: bool = False
    here_document: str = ""
    input: Word = ()
    output: Word = ()
    follows_test: bool = False
    joined_by: str = ""
    in_background: bool = False


def as_written(word: Word) -> str:
    """Return the word's text without its quotes, with variables unexpanded."""
    return word[0].text if len(word) == 1 else "".join(piece.text for piece in word)


def is_assignment(text: str) -> bool:
    """Return whether an expanded word has the form of an assignment, such as the `NAME=value` arguments of `env`."""
    return ASSIGNMENT.match(text) is not None


def commands(text: str, work: Work) -> Iterator[Command]:
    """Yield the simple commands of a script. Raises OutOfWorkError when `work` is used up."""
    work.spend(1, len(text))
    return _Scanner(text.replace("\r\n", "\n"), work).run()


def _plain_word(token: re.Match[str]) -> Word:
    text = token[token.lastgroup or 0]
    if token.lastgroup == "word":
        return (Piece(text),)
    return (
        (Piece("", quoted=True), Piece(text, quoted=True))
        if token.lastgroup == "double"
        else (Piece(text, quoted=True),)
    )


class _Scanner:
    def __init__(self, text: str, work: Work, depth: int = 0) -> None:
        self.text = text
        self.work = work
        self.depth = depth  # nesting depth if the text is an operand
        self.at = 0
        self.in_test = False  # between [[ and ]], where operators do not end a command
        self.in_pattern = False  # between `in` or `;;` and the `)` of a `case`
        self.command = Command()
        self.here_documents: list[tuple[Command, str, bool]] = []

    def run(self) -> Iterator[Command]:
        text, work = self.text, self.work
        token = _TOKEN.match
        while self.at < len(text):
            work.left -= 1  # same as `work.spend(1)`, but inline because this is the innermost loop
            if work.left < 0:
                raise OutOfWorkError
            if found := token(text, self.at):
                self.at = found.end()
                if found.lastgroup:  # most tokens
                    self._add_word(_plain_word(found), self.at - found.start())
                continue
            character = text[self.at]
            if character in "\n;&|()":
                if finished := self._operator(character):
                    yield finished
            elif (redirection := _REDIRECTION.match(text, self.at)) and not _PLACEHOLDER.match(text, self.at):
                self._redirect(redirection)
            else:
                start = self.at
                self._add_word(self._word(), self.at - start)
        if finished := self._end():
            yield finished

    def _add_word(self, word: Word, characters: int) -> None:
        command = self.command
        words = command.words
        if len(words) == WORD_LIMIT:
            if beyond := _TO_OPERATOR.match(self.text, self.at):
                self.at = beyond.end()
            return
        words.append(word)
        command.characters += characters
        written = word[0].text
        if written in _MARKS and len(word) == 1:
            self._mark(written, words)

    def _mark(self, written: str, words: list[Word]) -> None:
        """Process one of `[[`, `]]`, `in` and `esac`, which change how later operators and patterns are read."""
        if written in ("[[", "]]"):
            self.in_test = written == "[["
        elif written == "esac":
            self.in_pattern = False
        elif len(words) >= 3 and as_written(words[-3]) == "case":
            self.in_pattern = True

    def _end(self) -> Command | None:
        """Return the command that ends at the current position; None if the command has no words."""
        finished = self.command
        if not finished.words:
            return None
        self.work.spend(2)
        self.command = Command()
        return finished

    def _operator(self, character: str) -> Command | None:
        """Skip an operator and return the command that it ends."""
        if self.text.startswith("((", self.at):
            start = self.at  # arithmetic, equivalent to `let`
            self.command.words += [(Piece("let"),), (Piece(self._brackets(), quoted=True),)]
            self.command.characters += self.at - start
            return None
        self.at += 1
        run = _SAME_OPERATORS.match(self.text, self.at) if character in "&|" else None
        self.at = run.end() if run else self.at
        if character == "\n":
            self._end_line()
        if self.in_pattern:
            if character == ")":
                self.in_pattern, self.command = False, Command(self._up_to_case())
            return None
        if self.in_test:
            return None
        if character == "(" and len(self.command.words) == 1 and (empty := _EMPTY_BRACKETS.match(self.text, self.at)):
            self.at = empty.end()
            self.command.defines_function = True
        finished = self._end()
        if run:
            self.command.follows_test, self.command.joined_by = True, character
        elif finished and character in "&|":
            finished = self._before_and_or_pipe(finished, character)
        if character == ";" and self.text.startswith((";", "&"), self.at):
            self.at += 1
            self.in_pattern = True
        return finished

    def _end_line(self) -> None:
        """Read the here-documents, blank lines and comments that follow the end of a line."""
        self._read_here_documents()
        while blank := _BLANK_LINES.match(self.text, self.at):
            self.work.spend(self.text.count("\n", self.at, blank.end()) // 4)
            self.at = blank.end()

    def _before_and_or_pipe(self, finished: Command, character: str) -> Command | None:
        """Return the command before a single `&` or `|`; None if it is a `cat` that only passes on a here-document.

        In `cat <<END | program`, the text of the here-document becomes the program's input.
        """
        if character == "&":
            finished.in_background = not self.text.startswith(">", self.at)
        elif (
            self.here_documents
            and self.here_documents[-1][0] is finished
            and [as_written(word) for word in finished.words] == ["cat"]
        ):
            self.here_documents[-1] = (self.command, *self.here_documents[-1][1:])
            return None
        return finished

    def _up_to_case(self) -> list[Word]:
        """Return the words up to `case` before a pattern, such as `then case` in `then case WORD in PATTERN`.

        These words begin the command that follows the pattern.
        """
        words = self.command.words
        at = next((i for i, word in enumerate(words[:-2]) if as_written(word) == "case"), -1)
        return words[: at + 1]

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _redirect(self, redirection: re.Match[str]) -> None:
        self.work.spend(2)
        operator = redirection.group().lstrip("0123456789")
        self.at = redirection.end()
        while blanks := _BLANKS.match(self.text, self.at):
            self.at = blanks.end()
        if self.text.startswith("(", self.at):  # process substitution, as in `< <(command)`
            self._word()
        elif self.at < len(self.text) and self.text[self.at] not in "\n;&|)<>":
            target = self._word()
            if operator in ("<<", "<<-"):
                self.here_documents.append((self.command, as_written(target), operator == "<<-"))
            elif operator == "<":
                self.command.input = target
            elif operator in (">", ">|", ">>") and redirection.group()[0] not in "023456789":
                self.command.output = target

    def _read_here_documents(self) -> None:
        for command, delimiter, tabs in self.here_documents:
            start = self.at
            end = self._closing_line(delimiter, tabs)
            command.here_document = self.text[start:end]
            self.at = min(end + len(delimiter) + 1, len(self.text))
        self.here_documents.clear()

    def _closing_line(self, delimiter: str, tabs: bool) -> int:
        """Return the position of the line that ends a here-document; the text's end if there is no such line."""
        if not tabs:
            found = f"{self.text}\n".find(f"\n{delimiter}\n", self.at - 1)
            self.work.spend(1, 2 * len(self.text))
            return found + 1 if found >= 0 else len(self.text)
        while self.at < len(self.text):
            self.work.spend(1)
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end].lstrip("\t")
            if line == delimiter:
                return end - len(line)
            self.at = end + 1
        return len(self.text)

    def _word(self) -> Word:
        pieces: list[Piece] = []
        text = self.text
        while self.at < len(text):
            self.work.spend(1)
            if plain := _PLAIN.match(text, self.at):
                pieces.append(Piece(plain.group()))
                self.at = plain.end()
                continue
            character = text[self.at]
            if character in " \t\n;&|<>)":
                placeholder = _PLACEHOLDER.match(text, self.at)
                if not placeholder or (pieces and not pieces[-1].text.endswith(("=", "/"))):
                    break
                pieces.append(Piece(placeholder.group(), quoted=True))
                self.at = placeholder.end()
                continue
            if character == "#":  # within a word, where it does not begin a comment
                pieces.append(Piece("#"))
                self.at += 1
            elif character == "(":
                if pieces and not pieces[-1].text.endswith("="):
                    break
                pieces.append(Piece(self._brackets()))  # an array's value, or process substitution
            elif not self._add_quoted_or_expansion(pieces):
                break
        return tuple(pieces)

    def _add_quoted_or_expansion(self, pieces: list[Piece]) -> bool:
        """Read a piece that begins with a backslash, quote, dollar or backquote; return False for other characters."""
        character = self.text[self.at]
        if character == "\\":
            pieces.append(Piece(self._escaped(), quoted=True))
        elif character == "'":
            pieces.append(Piece(self._single_quoted(), quoted=True))
        elif character == '"':
            pieces += self._double_quoted()
        elif character in "$`":
            pieces.append(self._expansion(quoted=False))
        else:
            return False
        return True

    def operand(self, quoted: bool) -> Word:
        """Return the whole text, which is an operand as in `${NAME:-...}`, as one word."""
        pieces: list[Piece] = []
        while self.at < len(self.text):
            self.work.spend(1)
            if plain := _IN_OPERAND.match(self.text, self.at):
                pieces.append(Piece(plain.group(), quoted))
                self.at = plain.end()
            else:
                self._add_quoted_or_expansion(pieces)
        return tuple(pieces)

    def _escaped(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if following == "\n" else following

    def _single_quoted(self) -> str:
        self.work.spend(1)
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        quoted = self.text[self.at + 1 : end]
        self.at = end + 1
        return quoted

    def _double_quoted(self) -> list[Piece]:
        self.at += 1
        self.work.spend(1)
        pieces = [_IN_QUOTES]
        while self.at < len(self.text) and self.text[self.at] != '"':
            self.work.spend(1)
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
        """Return the piece that begins with `$` or a backquote: a variable, `x` for `$(which x)`, or unchanged text."""
        start = self.at
        self.work.spend(2)
        if self.text[start] == "`":
            closing = _TO_BACK_QUOTE.match(self.text, start + 1)
            self.at = closing.end() if closing else len(self.text)
            if found := _WHICH.match(self.text[start + 1 : self.at - 1]):
                return Piece(found.group(1), quoted=True)
        elif self.text.startswith("$(", start):
            self.at += 1
            if found := _WHICH.match(self._brackets()[1:-1]):
                return Piece(found.group(1), quoted=True)
        elif self.text.startswith("${", start):
            self.at += 1
            return self._braced(start, self._brackets(quoted)[1:-1], quoted)
        elif not quoted and self.text.startswith(("$'", '$"'), start):
            self.at += 1  # the quotes that follow are read as if the dollar were not there
            return Piece("", quoted=True)
        elif name := _NAME.match(self.text, start + 1):
            self.at = name.end()
            return Piece(self.text[start : self.at], quoted, name.group())
        else:
            self.at += 1
        return Piece(self.text[start : self.at], quoted=True)

    def _braced(self, start: int, inside: str, quoted: bool) -> Piece:
        written = self.text[start : self.at]
        found = _BRACED.match(inside) if self.depth < _OPERAND_DEPTH else None
        if not found:
            return Piece(written, quoted=True)
        name, operator, operand = found.groups()
        self.work.spend(1, len(inside))
        word = _Scanner(operand, self.work, self.depth + 1).operand(quoted) if operand else ()
        return Piece(written, quoted, name, operator or "", word)

    def _brackets(self, quoted: bool = False) -> str:
        """Return the text from an opening bracket to its closing bracket, respecting quotes and comments in between.

        If `quoted` is True, the brackets are within double quotes, where an apostrophe in `${NAME:-...}` is not a
        quote.
        """
        start = self.at
        open_brackets: list[str] = []
        while self.at < len(self.text):
            if plain := _IN_BRACKETS.match(self.text, self.at):
                self.at = plain.end()
                continue
            self.work.spend(1)
            character = self.text[self.at]
            if character == "'" and not (quoted and open_brackets == ["}"]):
                self._single_quoted()
                continue
            if character == "#" and open_brackets[-1:] == [")"] and self.text[self.at - 1] in " \t\n;":
                self._skip_comment()
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
