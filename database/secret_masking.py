# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in users' texts; secrets are found by option name, program, position in an address, or appearance.

docs/reference/secrets.md lists the forms of secrets. If it is uncertain where a secret ends, more text is masked. The
time that masking takes is proportional to the text's length. Masking a text that is already masked changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from posixpath import basename

from reprise.database.secret_names import NAME_LIMIT, Likely, likely, names_secret
from reprise.database.secret_programs import HABITS, LONG_NAMES, NONE, Habits
from reprise.database.secret_shapes import (
    DRAWN_LENGTH,
    REMEMBERED_LENGTH,
    looks_drawn,
    may_have_shape,
    without_drawn,
    without_tokens,
)

MASK = "***"
REMEMBERED = 8_192
"""Maximum number of options and of texts that are cached. Users submit the same texts again and again, so the cache
makes masking 30 times as fast."""

# `@sha256:...` after an address is the digest of a container image, not a host.
_AT = re.compile(r"@(?!sha\d+:)")
_AUTHORITY_ENDS = re.compile(r"[/?#]")
_PORT = re.compile(r"\d*")
_BLANKS = re.compile(r"(\s+)")

# An assignment: `name=value`, or `name: value` and `"name": "value"` as in headers and files. The name must not be a
# variable reference (`$PWD:/data`), and must not follow an @. In a path, only names count whose values are certainly
# secrets. The text after the colon must not be the `//` of an address.
_ASSIGNMENT = re.compile(
    r"""(?<![\w$.@-])(?<!\$\{)-{0,2}(?P<name>[A-Za-z_][\w.-]*+)["']?\s*+(?P<sign>[=:])(?!//|:)\s*+(?=\S)"""
)
_NEXT = re.compile(r"""[,;&\s]-{0,2}["']?[A-Za-z_][\w.-]*+["']?=""")
_VALUE = re.compile(r"""["']?([^\s,;&"'=]{0,256}+={0,2})""")
# An authentication scheme such as `Basic` with its credential, as in a header whose name is missing.
_SCHEME = re.compile(r"\b(Basic|Bearer|Negotiate)\s++([\w.~+/-]{8,}+=*)", re.IGNORECASE)
_ORACLE = re.compile(r"(\boracle:\w{1,16}:[^\s/@:]{0,256}+/)[^\s@]{1,256}+(?=@)")  # jdbc:oracle:thin:user/password@host
_LOGIN = re.compile(r"(?<![\w/@:.+-])([A-Za-z][\w.+-]{0,64}+:)(?!\d++@)[^\s/@:]{4,64}+(?=@(?!sha\d+:)[A-Za-z])")
_IDENTIFIED = re.compile(r"(\bIDENTIFIED\s++BY\s++)\S++", re.IGNORECASE)  # SQL
_WITH_USER = frozenset({"user", "username", "login", "proxy-user", "http-user", "userpwd", "user-pass", "u"})
USER_AND_SECRET = re.compile(r"([A-Za-z][\w.@+-]*+:)(?!//|[0-9]*\Z|[$])\S+")
_NUMBER = re.compile(r"-\.?[0-9]")
_CLUSTER = re.compile(r"[A-Za-z]{2,6}")
_SIGNS = frozenset({"=", ":", ""})
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]*")


def masked_text(text: str) -> str:
    """Return the text with its secrets masked."""
    if len(text) <= REMEMBERED_LENGTH:
        return _remembered(text)
    return _masked_text(text)


def masked_value(name: str, value: str, habits: Habits = NONE) -> str:
    """Return the value of the option or variable `name` with its secrets masked."""
    if not value or value == MASK:
        return value
    if habits.attached and _CLUSTER.fullmatch(name) and name not in {*LONG_NAMES, *habits.values, *habits.pairs}:
        name = name[-1]  # in `-sSu name:password`, the value belongs to the option `u`
    if name in habits.values:
        return MASK
    separator = habits.pairs.get(name)
    if separator and "://" not in value:
        user, found, secret = value.partition(separator)
        return f"{user}{found}{MASK}" if user and secret else value
    if names_secret(name, value):
        return MASK
    if ":" in value and name in _WITH_USER and (pair := USER_AND_SECRET.fullmatch(value)):
        return f"{pair[1]}{MASK}"
    return masked_text(value)


def masked_options(options: Mapping[str, Sequence[str]], habits: Habits) -> dict[str, tuple[str, ...]]:
    """Return a program's options, in the form that JobMetadata has them, with secrets masked.

    `habits` describes how the program takes secrets. The names of options have no dashes; the name "" has the words
    that do not belong to an option.
    """
    if habits is NONE:
        return _merged(_option(key, tuple(values)) for key, values in options.items())
    words = tuple(options.get("", ()))
    habits = _of_subcommand(habits, words)
    logs_in = any(words[: len(verb)] == verb for verb in habits.words)
    return _merged(_masked_option(key, values, habits, logs_in=logs_in) for key, values in options.items())


def masked_words(words: Sequence[str], habits: Habits = NONE) -> list[str]:
    """Return the words of a command line with secrets masked.

    `habits` describes how the command's program takes secrets. After a word that is the name of a program in HABITS,
    the habits of that program apply.
    """
    masked: list[str] = []
    option = ""
    for word in _after_subcommand(words, habits):
        if option and word in _SIGNS:
            masked.append(word)
        elif option and (not word.startswith("-") or _NUMBER.match(word)):
            masked.append(masked_value(option, word, habits))
            option = ""
        elif len(word) > 1 and word.startswith("-"):
            option, equals, value = word.lstrip("-").partition("=")
            shown = masked_value(option, value, habits) if equals else ""
            masked.append(f"{word[: -len(word.lstrip('-')) or None]}{masked_key(option, habits)}{equals}{shown}")
            option = "" if equals else option
        else:
            masked.append(masked_value("", word, habits) if "" in habits.pairs else masked_text(word))
            habits = HABITS.get(basename(word), habits)
            option = word if _IDENTIFIER.fullmatch(word) and likely(word) is Likely.CERTAIN else ""
    return masked


Option = tuple[str, tuple[str, ...]]


def _merged(options: Iterable[Option]) -> dict[str, tuple[str, ...]]:
    """Return the options by name; options whose names are equal after masking are merged."""
    merged: dict[str, tuple[str, ...]] = {}
    for name, values in options:
        merged[name] = (*merged[name], *values) if name in merged else values
    return merged


def _option(key: str, values: tuple[str, ...]) -> Option:
    if len(key) + sum(map(len, values)) <= REMEMBERED_LENGTH:
        return _remembered_option(key, values)
    return _masked_option(key, values, NONE)


@lru_cache(maxsize=REMEMBERED)
def _remembered_option(key: str, values: tuple[str, ...]) -> Option:
    return _masked_option(key, values, NONE)


def _masked_option(key: str, values: Sequence[str], habits: Habits, *, logs_in: bool = False) -> Option:
    if not key:
        return key, tuple(masked_words(values, habits))
    masked = tuple(masked_value(key, value, habits) for value in values)
    if logs_in:
        masked = tuple(MASK if looks_drawn(value) else value for value in masked)
    return masked_key(key, habits), masked


def _of_subcommand(habits: Habits, words: Sequence[str]) -> Habits:
    """Return the habits of the first subcommand in `words` that has its own habits, or `habits` if there is none."""
    for word in words if habits.verbs else ():
        if word in habits.verbs:
            return Habits(habits.verbs[word])
    return habits


def masked_key(key: str, habits: Habits) -> str:
    """Return an option's name with secrets masked, because the name may contain or be a secret."""
    if key.startswith(habits.attached) and key not in LONG_NAMES:
        option = max((one for one in habits.attached if key.startswith(one)), key=len)
        return key if key == option else f"{option}{MASK}"
    return masked_text(key) if len(key) >= DRAWN_LENGTH or ":" in key else key


def _after_subcommand(words: Sequence[str], habits: Habits) -> Iterable[str]:
    """Return a command's words; secrets after a subcommand or in the last word, as `habits` describes, are masked."""
    if habits.last and words[1:]:
        return [*words[:-1], MASK]
    for verb, count in habits.words.items():
        if tuple(words[: len(verb)]) == verb:
            kept = len(verb) + count
            return [*words[:kept], *(word if word.startswith("-") else MASK for word in words[kept:])]
    return words


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str) -> str:
    return _masked_text(text)


def _masked_text(text: str) -> str:
    if may_have_shape(text):
        text = without_tokens(text, MASK)
    if "=" in text or ":" in text:
        if "://" in text and "@" in text:
            text = _without_userinfo(text)
        text = _without_values(text)
        if "@" in text and ":" in text:
            text = _LOGIN.sub(rf"\g<1>{MASK}", text)
            text = _ORACLE.sub(rf"\g<1>{MASK}", text)
    if " -" in text or text.startswith("-"):
        text = _masked_line(text)
    if " " in text:
        text = _IDENTIFIED.sub(rf"\g<1>{MASK}", _SCHEME.sub(_without_credential, text))
    return without_drawn(text, MASK)


def _masked_line(text: str) -> str:
    """Return a text that contains options, such as a command line, with secrets masked."""
    parts = _BLANKS.split(text)
    if len(parts) == 1:
        return text
    parts[::2] = masked_words(parts[::2])
    return "".join(parts)


def _without_credential(found: re.Match[str]) -> str:
    """Return an authentication scheme such as `Basic` and the text after it; the text is masked if it is a credential.

    `Basic` is also an English word, so the text after it must be `user:password` in base64. After other schemes, the
    text must contain a digit.
    """
    try:
        pair = b":" in base64.b64decode(found[2] + "==", validate=False)
    except (binascii.Error, ValueError):
        pair = False
    is_secret = pair if found[1].lower() == "basic" else any(character.isdigit() for character in found[2])
    return f"{found[1]} {MASK}" if is_secret else found[0]


def _without_userinfo(text: str) -> str:
    return "".join(_word_without_userinfo(word) if "://" in word else word for word in _BLANKS.split(text))


def _word_without_userinfo(word: str) -> str:
    """Return a word with the user part of each address masked.

    The user part is the text before the last @ of the address's authority (RFC 3986, 3.2).

    A password may contain unencoded special characters. Therefore, if the text after `user:` is not a port, everything
    up to the word's last @ is masked.
    """
    ats = [found.start() for found in _AT.finditer(word)]
    parts, done, begin = [], 0, 0
    while ats and (found := word.find("://", begin, ats[-1])) >= 0:
        begin = found + len("://")
        ends = _AUTHORITY_ENDS.search(word, begin)
        end = ends.start() if ends else len(word)
        user, colon, password = word[begin:end].partition(":")
        if colon and not _PORT.fullmatch(password) and "@" not in user and not user.startswith("["):
            end = len(word)
        last = bisect_left(ats, end) - 1
        if last >= 0 and ats[last] >= begin:
            parts += [word[done:begin], MASK]
            begin = done = ats[last]
    return "".join(parts) + word[done:]


def _without_values(text: str) -> str:
    """Return a text in which the values of assignments are masked if they are secrets.

    A value extends to the next assignment, with these exceptions.

    The value is the whole rest of the text if there is no next assignment, because a value may contain anything. It is
    also the whole rest if it follows a colon, because the values of headers contain assignments; if it begins with a
    quote; or if the assignment is at the beginning of the text.
    """
    parts, kept, at = [], 0, 0
    while found := _ASSIGNMENT.search(text, at):
        at = found.end()
        how = likely(found["name"])
        if how is not Likely.NO and _holds_secret(text, found, how):
            all_of_it = found.start() == 0 or found["sign"] == ":" or text[at] in "\"'"
            following = None if all_of_it else _NEXT.search(text, at)
            parts += [text[kept:at], MASK]
            kept = at = following.start() if following else len(text)
    return "".join(parts) + text[kept:]


def _holds_secret(text: str, found: re.Match[str], how: Likely) -> bool:
    """Return whether the value of an assignment is a secret.

    If the assignment is part of a path, the value is a secret only if its name is `Likely.CERTAIN`.
    """
    begin = found.start()
    if begin and text[begin - 1] == "/" and how is not Likely.CERTAIN:
        return False
    value = _VALUE.match(text, found.end())
    return names_secret(found["name"], (value and value[1]) or text[found.end() : found.end() + NAME_LIMIT])
