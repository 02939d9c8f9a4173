# SPDX-License-Identifier: Apache-2.0
"""Likelihood that the value of an option, variable, header or key is a secret, judged by its name."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from reprise.database.secret_shapes import looks_drawn

NAME_LIMIT = 256
"""Maximum number of characters that are examined, counted from the end of a name. The limit bounds the cache of names;
the names of real options are shorter."""
REMEMBERED = 8_192
"""Maximum number of names whose likelihood is cached, because sites use the same few options again and again."""


class Likely(IntEnum):
    """Likelihood that the value of an option or variable with some name is a secret.

    CERTAIN: the value is a secret, whatever it looks like. RATHER: the value is a secret, unless it is a number, a path
    or another value that such options usually take. PERHAPS: the value is a secret only if it looks random. NO: the
    value is not a secret.
    """

    NO = 0
    PERHAPS = 1
    RATHER = 2
    CERTAIN = 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Parts of names whose values are certainly secrets. They also count within a word, because names are often written
# without separators: PGPASSWORD, dbpassword, clientsecret. Exceptions are words with another meaning: `secretary`,
# `secretion`, `secretome`.
_CERTAIN_PART = re.compile(
    r"passw(?:or[dt]|d)|passphrase|passcode|kennwort|motdepasse|contrasen|wachtwoord|secret(?!ar|ion|om|or|ed)"
)
_CERTAIN = _words("jwt bearer authorization psswd pswd psw pwrd pword authtok")
_RATHER = _words("pass pwd pw token tokens auth cred creds credential credentials cookie cookies otp sas oauth passwds")
_RATHER_END = re.compile(r".(?:pass|pwd|token|cookie)\Z|(?:root|admin|user|my|db|sql|ldap|bind|ftp|http|smtp|mail)pw\Z")
# Words for the purposes or owners of secret keys. A `key` without such a word is a key of a dictionary or table
# (`--label-key`).
_OPENING = (
    "access account admin api app application auth azure client consumer crypt db deploy enc encrypt encryption "
    "functions gpg hmac host integration license master openai pgp priv private product rsa secret secure service "
    "session shared sign signing ssh storage stream subscription ssl tls user vault wandb webhook"
)
_KEY_END = re.compile(rf"(?:{'|'.join(_OPENING.split())})keys?\Z")
_OPENING_WORDS = _words(_OPENING)
_PERHAPS = _words(
    "key keys sig signature code session sessionid sid nonce salt hash digest hmac pin license licence access"
)
# In names with one of these words, `pass` and `token` are terms of filters, compilers and language models.
_OTHER_SENSE = _words(
    "low high band all two one first second third multi single by through over filter filters num n max min per "
    "special eos bos pad mask sep cls unk class new dim len length size count limit type types level drop batch "
    "embedding embed vocab image patch prompt time text query position pos merge weight loss rate step steps budget "
    "input output forward backward total context window tokenizer train training eval lr warmup decay seq sequence"
)
_OTHER_END = re.compile(
    r"(?:by|com|sur|over|tres|encom|low|high|band|all|two|one|first|second|multi|single|de|sub)pass\Z"
)
# Last words of names whose values describe a secret or its location, but are not the secret.
_ABOUT = _words(
    "file files filename path paths dir directory env stdin prompt policy expiry expires ttl timeout command cmd "
    "helper manager store location url uri method mode scheme provider server realm enabled disable required"
)
_ABOUT_END = re.compile(r".(?:file|path|dir|stdin)\Z")

# Values that are not secrets: numbers, keywords, placeholders, and paths of files that may contain a secret.
_HARMLESS = re.compile(
    r"""
    [-+]?[0-9]{1,6} | [-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)? | [0-9]+[kKmMgG]?            # a number
    | (?i:true|false|yes|no|on|off|none|null|auto|default|basic|digest|ntlm|ldap|krb5|kerberos|gssapi|negotiate|munge
        |sys|trust|peer|ident|reject|md5|scram-sha-256|any|all|cls|mean|first|last|pass|fail|required|optional|enabled|disabled|netrc|anonymous|env|prompt|ask)
    | \$\(\([^()]*\)\)
    | [<\[|][^\s<>]{0,30}[>\]|]                                                            # <pad>, [MASK]
    | (?:~|\.{1,2}|\$\w+|\$\{\w+\}|file:/|)/[\w.~+@%$\{\}/-]*                               # a path
    | [\w./-]+\.(?:txt|pem|json|ya?ml|key|crt|cert?|env|ini|cfg|conf|toml|gpg|asc|dat|csv|jar|p12|pfx|jks|netrc|sh|py)
    """,
    re.VERBOSE,
)
# the shell inserts the value later, so the text itself is not a secret
_VARIABLE = re.compile(r"\"?(?:\$\w+|\$\{\w+\})\"?")


def likely(name: str) -> Likely:
    """Return how likely it is that the value of the option or variable `name` is a secret."""
    return _likely(name if len(name) <= NAME_LIMIT else name[-NAME_LIMIT:])


@lru_cache(maxsize=REMEMBERED)
def _likely(name: str) -> Likely:
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT or _ABOUT_END.search(words[-1]):
        return Likely.NO
    if any(word in _CERTAIN or _CERTAIN_PART.search(word) for word in words):
        return Likely.CERTAIN
    opens = "key" in words and (words == ["key"] or not _OPENING_WORDS.isdisjoint(words))
    if opens or any(_KEY_END.search(word) for word in words):
        return Likely.RATHER
    if any(word in _RATHER or (_RATHER_END.search(word) and not _OTHER_END.search(word)) for word in words):
        return Likely.PERHAPS if not _OTHER_SENSE.isdisjoint(words) else Likely.RATHER
    return Likely.NO if _PERHAPS.isdisjoint(words) else Likely.PERHAPS


def names_secret(name: str, value: str) -> bool:
    """Return whether `value`, the value of the option or variable `name`, is a secret."""
    how = likely(name)
    if how is Likely.NO or not value or _VARIABLE.fullmatch(value):
        return False
    if how is Likely.PERHAPS:
        return looks_drawn(value)
    return how is Likely.CERTAIN or not _HARMLESS.fullmatch(value) or looks_drawn(value.rpartition("/")[2])
