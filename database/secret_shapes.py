# SPDX-License-Identifier: Apache-2.0
"""Recognition of secrets by their appearance alone: tokens with an issuer's prefix, private keys, and random text."""

from __future__ import annotations

import re
from functools import lru_cache

REMEMBERED = 8_192
"""Maximum number of texts whose result is cached, because jobs name the same files and options again and again."""
REMEMBERED_LENGTH = 256
"""Maximum number of characters in a cached text, so that all cached texts take at most 8 MiB."""
SHORTEST = 15
"""Number of characters in the shortest token that `_TOKENS` describes, a token of Slack."""
DRAWN_LENGTH = 20
"""Minimum number of characters in a word that is examined although no option's name suggests a secret. In shorter
words, parts of file names look just as random as secrets."""
PART_LENGTH = 16
"""Minimum number of characters in a part of a word that is examined. Words are divided into parts at `/`, `_` and
`-`."""
NAMED_DRAWN_LENGTH = 12
"""Minimum number of characters in a value that is examined because its name suggests a secret."""
CHANGES = 0.4
"""Minimum share of characters whose class (capital letter, small letter, digit) differs from the previous character's.

A word with a smaller share does not count as random. The share is 0.62 for random letters and digits (less than 0.4 for
1 of 100 words of 32 characters), and a third for file names.
"""
CHANGES_IN_PATH = 0.52
"""The limit that replaces CHANGES for words in a path, which are more likely to be file names than secrets."""

# Prefixes of tokens, with the pattern of the rest of the token. Texts are searched for prefixes first, because few
# texts contain one.
_TOKENS = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\w{16,}"),  # GitHub
    **dict.fromkeys(
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glcbt-", "glimt-", "glptt-", "glagent-", "gloas-"),
        r"[\w.-]{16,}",  # GitLab
    ),
    **dict.fromkeys(("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}\b"),  # Amazon
    **dict.fromkeys(("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxo-", "xoxr-", "xoxs-", "xapp-"), r"[\w.-]{10,}"),  # Slack
    "hooks.slack.com/": r"[\w./-]+",
    "discord.com/api/webhooks/": r"[\w./-]+",
    "discordapp.com/api/webhooks/": r"[\w./-]+",
    "webhook.office.com/": r"[\w./@-]+",
    "sk-": r"[\w-]{20,}",  # OpenAI, Anthropic, ...
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"\w{10,}"),  # Stripe
    **dict.fromkeys(("hf_", "api_org_"), r"[A-Za-z0-9]{30,}"),  # Hugging Face
    "AIza": r"[\w-]{30,}",  # Google
    "ya29.": r"[\w.-]{20,}",
    "GOCSPX-": r"[\w-]{20,}",
    "npm_": r"[A-Za-z0-9]{30,}",
    "pypi-": r"[\w-]{40,}",
    "rubygems_": r"[0-9a-f]{32,}",
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{32,}"),  # DigitalOcean
    "SG.": r"[\w-]{16,64}\.[\w-]{16,}",  # SendGrid
    "eyJ": r"[\w-]{8,1024}={0,2}\.[\w-]{8,}={0,2}(?:\.[\w-]*)?(?:\.[\w-]+){0,2}",  # JSON Web Tokens
    "dckr_pat_": r"[\w-]{20,}",  # Docker
    **dict.fromkeys(("hvs.", "hvb.", "hvr."), r"[\w-]{20,}"),  # Vault
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-f]{32}"),  # Shopify
    **dict.fromkeys(("sq0csp-", "sq0atp-"), r"[\w-]{20,}"),  # Square
    "nvapi-": r"[\w-]{40,}",  # NVIDIA
    "gsk_": r"[A-Za-z0-9]{40,}",  # Groq
    "r8_": r"[A-Za-z0-9]{30,}",  # Replicate
    "glsa_": r"\w{30,}",  # Grafana
    **dict.fromkeys(("ATATT3", "ATCTT3"), r"[\w=-]{30,}"),  # Atlassian
    "dapi": r"[0-9a-f]{32}\b",  # Databricks
    "tskey-": r"[\w-]{16,}",  # Tailscale
    "PMAK-": r"[0-9a-f-]{40,}",  # Postman
    "lsv2_": r"\w{30,}",  # LangSmith
    "AGE-SECRET-KEY-1": r"[0-9A-Z]{50,}",  # age
    **dict.fromkeys(("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$argon2"), r"[\w./$=,+-]{20,}"),  # crypt(3)
}
_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?!(?<=[_-])eyJ)(?:{'|'.join(re.escape(prefix) + rest for prefix, rest in _TOKENS.items())})"
)
_BEGINS = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, _TOKENS))})")
"""Pattern for all 80 prefixes together, which takes half the time of a separate search for each prefix."""
_PRIVATE_KEY = re.compile(
    r"(?:-----)?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z -]*|.*)",
    re.DOTALL,
)

_LONG = re.compile(rf"(?<![\w+/$-])[A-Za-z0-9+/_-]{{{DRAWN_LENGTH},}}={{0,2}}(?![\w+/-])")
_BREAKS = re.compile(r"[/_-]")
_CLASSES = (re.compile(r"[A-Z]"), re.compile(r"[a-z]"), re.compile(r"[0-9]"))
_CHANGE = re.compile(r"(?<=[A-Z])[a-z0-9+]|(?<=[a-z])[A-Z0-9+]|(?<=[0-9])[A-Za-z+]|(?<=\+)[A-Za-z0-9]")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,7}\b")
_SYLLABLES = re.compile(r"[a-z]{5}")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?[0-9]*)+")  # chemical: Ga2O3Al2O3Si4O8C12
_HEX = re.compile(r"[0-9a-fA-F-]+")


def may_have_shape(text: str) -> bool:
    """Return whether the text may contain a token or key for `without_tokens`; a fast test, False for most texts."""
    return len(text) >= SHORTEST and (_BEGINS.search(text) is not None or "PRIVATE KEY" in text)


def without_tokens(text: str, mask: str) -> str:
    """Replace tokens that have a known prefix, and private keys, by `mask`."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(mask, text)
    return _TOKEN.sub(mask, text)


def holds_drawn(text: str) -> bool:
    """Return whether the text contains a random word that `without_drawn` would replace.

    This function is fast for most texts, which are short, or are paths whose result is cached.
    """
    if len(text) < DRAWN_LENGTH:
        return False
    return _remembered_drawn(text) if len(text) <= REMEMBERED_LENGTH else _has_drawn(text)


def _has_drawn(text: str) -> bool:
    return any(is_drawn(found.group(), in_path=_in_path(found)) for found in _LONG.finditer(text))


_remembered_drawn = lru_cache(maxsize=REMEMBERED)(_has_drawn)


def without_drawn(text: str, mask: str) -> str:
    """Replace each long word that looks random by `mask`."""

    def masked(found: re.Match[str]) -> str:
        return mask if is_drawn(found.group(), in_path=_in_path(found)) else found.group()

    return _LONG.sub(masked, text) if holds_drawn(text) else text


def _in_path(found: re.Match[str]) -> bool:
    """Return whether a word is more likely a file name than a secret, because it is part of a path or has a suffix."""
    text, start, end = found.string, found.start(), found.end()
    if text[start] == "/" or _ENDING.match(text, end):
        return True
    return text[start - 1 : start] in (".", "~", "}") and "/" in found.group()


def is_drawn(word: str, *, in_path: bool = False) -> bool:
    """Return whether a word is probably a key, that is, a random mixture of capital letters, small letters and digits.

    Hexadecimal numbers do not count, because they name commits, images and files. A word's parts between separators are
    examined one by one, because file names often contain all three classes in different parts.
    """
    parts = _BREAKS.split(word.rstrip("="))
    if in_path:
        return any(_is_mixture(part, PART_LENGTH, CHANGES_IN_PATH) and not _SYLLABLES.search(part) for part in parts)
    return any(_is_mixture(part, PART_LENGTH) for part in parts)


def _is_mixture(part: str, least: int, changes: float = CHANGES) -> bool:
    return (
        len(part) >= least
        and all(found.search(part) for found in _CLASSES)
        and len(_CHANGE.findall(part)) >= changes * (len(part) - 1)
        and not _FORMULA.fullmatch(part)
    )


def looks_drawn(value: str) -> bool:
    """Return whether a value whose name suggests a secret looks random.

    Unlike in `is_drawn`, hexadecimal values and shorter values count too.
    """
    return len(value) >= NAMED_DRAWN_LENGTH and _looks_drawn(value[:REMEMBERED_LENGTH])


@lru_cache(maxsize=REMEMBERED)
def _looks_drawn(value: str) -> bool:
    value = value.strip("\"'")
    if len(value) < NAMED_DRAWN_LENGTH or " " in value or "://" in value or "=" in value.rstrip("="):
        return False
    if _HEX.fullmatch(value):
        return any(character in "abcdefABCDEF" for character in value) and any(map(str.isdigit, value))
    if is_drawn(value):
        return True
    plain = value.rstrip("=").replace("%2B", "+").replace("%2F", "/").removesuffix("%3D")
    return any(_is_mixture(part, NAMED_DRAWN_LENGTH) for part in _BREAKS.split(plain))
