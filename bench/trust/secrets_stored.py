# SPDX-License-Identifier: Apache-2.0
"""Measure how many secrets reach the daemon's files, and how many options without secrets are masked.

    python -m bench.trust.secrets_stored [FOLDER]

Each form in `bench.trust.secret_forms` is sent to a real daemon over its socket; then the daemon's files are searched
for the secrets. FOLDER contains batch scripts of a site, or archives (.tar.*) of such scripts; without FOLDER, false
masks are not measured. The benchmark prints a JSON object.

Scripts in a folder have no labels. Therefore, a masked value counts as a false mask unless a second rule identifies it
as a secret. This rule, `_is_secret`, is stricter and shares nothing with the product's rules. The names of the other
masked options, without values, are printed for review.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.trust.secret_forms import Form, forms
from reprise.database import Database
from reprise.database.secret_masking import MASK
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

NO_SCRIPTS = (".md", ".txt", ".j2", ".tpl", ".rst", ".html", ".py")
TEMPLATE = re.compile(r"\{\{|<%")
FILE_LIMIT = 1_000_000
"""Largest size, in bytes, of a file that is read. Larger files are data, not scripts."""

_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|secret|(?:api|access|private|auth|account)[_.-]?key|_pat\b|jwt|bearer|credential"
    r"|(?:^|[_.-])(?:token|pwd|auth)$)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?:[0-9.]+|true|false|none|yes|no|on|off|[~/.][\w/.-]*|<.*>|\[.*\]|\$\w+|\$\{\w+\})", re.IGNORECASE
)
_PREFIX = re.compile(r"(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|AKIA|xox[abp]-|AIza|npm_|pypi-|eyJ|-----BEGIN)")
_ADDRESS = re.compile(r"\w+://[^/@\s]+@")
_ASSIGNED = re.compile(r"\b(\w+)=(\S+)")
_KEY = re.compile(r"(?=.*[0-9])(?=.*[a-z])[0-9a-f]{32,64}|(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[0-9A-Za-z+/]{24,}={0,2}")


def measure(scripts: Path | None) -> dict[str, float]:
    """Return `secrets_stored` and `secret_forms`, and `false_masks` if there is a folder.

    `secrets_stored` is the number of forms whose secrets appear at least in part in the daemon's files; `secret_forms`
    is the number of all forms. `false_masks` is the share of options in the folder's scripts that are masked but
    contain no secret.
    """
    tried = list(forms())
    result = {"secrets_stored": float(len(stored(tried))), "secret_forms": float(len(tried))}
    return result if scripts is None else result | {"false_masks": false_masks(scripts)}


def stored(tried: list[Form]) -> list[str]:
    """Send the forms to a daemon; return the names of forms whose secret is at least partly in the daemon's files."""
    with tempfile.TemporaryDirectory() as name:
        daemon = Daemon(Path(name)).start()
        try:
            told = [json.dumps(daemon.ask(_message(form))) for form in tried]
            wait_for("all decisions", lambda: _decisions(daemon) == len(tried))
            written = _written(Path(name))
        finally:
            daemon.stop()
        written += _written(Path(name))
    found = [form.name for form, reply in zip(tried, told, strict=True) if _holds(written, form) or _holds(reply, form)]
    for one in found:
        sys.stdout.write(f"stored: {one}\n")
    return found


def _message(form: Form) -> Mapping[str, object]:
    client = {"plugin": "0", "slurm": "22.05"}
    head = {"v": 1, "kind": "decide", "point": "submit", "mode": "explain", "client": client}
    return {**head, "submission": form.request}


def _decisions(daemon: Daemon) -> int:
    with Database.open(daemon.database, read_only=True) as database:
        return database.counts()["decision"]


def _written(directory: Path) -> str:
    """Return the contents of all files below a directory, including the database files and the daemon's log."""
    files = (file for file in directory.rglob("*") if file.is_file())
    return "".join(file.read_bytes().decode("utf-8", errors="replace") for file in files)


def _holds(text: str, form: Form) -> bool:
    return any(part in text for part in form.parts)


def false_masks(folder: Path) -> float:
    """Return the share of options that are masked but contain no secret, and print their names."""
    options, names = 0, Counter[str]()
    for name, text in _scripts(folder):
        job = parse(Submission.for_script(f"/{name}", text), user="u", submit_time=1.7e9)
        for option, value, is_masked in _options(job):
            options += 1
            if is_masked and not _is_secret(option, value, text):
                names[option or "(a word without an option)"] += 1
    for option, count in names.most_common():
        sys.stdout.write(f"masked, but possibly not a secret: {count} of {options} options: {option[:60]}\n")
    return names.total() / max(options, 1)


def _scripts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that may be a batch script, including files in archives."""
    for path in sorted(folder.rglob("*")):
        if ".tar" in path.suffixes:
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isfile() and member.size <= FILE_LIMIT and (file := archive.extractfile(member)):
                        yield from _script(member.name, file.read())
        elif path.is_file() and path.stat().st_size <= FILE_LIMIT:
            yield from _script(str(path.relative_to(folder)), path.read_bytes())


def _script(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    text = data.decode("utf-8", errors="replace")
    if not name.endswith(NO_SCRIPTS) and text.startswith("#!") and not TEMPLATE.search(text):
        yield name, text


def _options(job: JobMetadata) -> Iterator[tuple[str, str, bool]]:
    """Yield each option, or word of the program's command, as (name, unmasked value, whether the value gets masked).

    A value that comes from a masked variable is already masked in `job`.
    """
    after = masked(job).options
    for name, values in job.options.items():
        if name not in after:
            yield name, "", True
        for value, shown in zip(values or ("",), after.get(name) or ("",) * max(1, len(values)), strict=False):
            yield name, value, value != shown or MASK in value


def _is_secret(option: str, value: str, script: str) -> bool:
    """Return whether a masked value is a secret according to the second rule.

    A `value` that contains MASK came from a masked variable. It is a secret if the script assigns a value to a variable
    whose name suggests a secret.
    """
    if MASK in value:
        return any(_NAME.search(name) and not _PLAIN.fullmatch(held) for name, held in _ASSIGNED.findall(script))
    if _NAME.search(option) and not _PLAIN.fullmatch(value):
        return True
    if _PREFIX.match(value) or _ADDRESS.search(value) or _KEY.fullmatch(value):
        return True
    return any(_NAME.search(name) and not _PLAIN.fullmatch(held) for name, held in _ASSIGNED.findall(value))


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(measure(Path(sys.argv[1]) if sys.argv[1:] else None))}\n")
