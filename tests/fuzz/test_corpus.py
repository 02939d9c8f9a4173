# SPDX-License-Identifier: Apache-2.0
"""Test that no input in the fuzzers' corpus crashes a harness or breaks an invariant."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.fuzz.harnesses import BUILD, CORPUS, FORWARDER, HARNESSES, HERE, SEEDS, SPANK, build
from tests.places import ROOT

ASAN = "max_allocation_size_mb=16:detect_leaks=1"


def inputs(harness: str) -> list[Path]:
    return sorted(path for top in (CORPUS, SEEDS) for path in (top / harness).glob("*"))


def replay(programs: Path, harness: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as place:  # a harness that fails leaves its files
        return subprocess.run(
            [programs / harness, *inputs(harness)],
            env={"PATH": os.defpath, "ASAN_OPTIONS": ASAN, "TMPDIR": place},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="session")
def programs() -> Path:
    build("replay")
    return BUILD / "replay"


@pytest.mark.slow  # because it compiles the plugin; in the quick tier, tests/spank uses these sanitizers
@pytest.mark.parametrize("harness", HARNESSES)
def test_the_corpus_breaks_nothing(programs: Path, harness: str) -> None:
    done = replay(programs, harness)
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]}\n{done.stderr}"
    assert int(done.stdout.splitlines()[-1]) == len(inputs(harness)) > 5


# Defects of the plugin and of the forwarder, each with a source file, a piece of its text, the replacement, and the
# harness whose corpus detects the defect.
MUTANTS = {
    "any name is allowed": ("decision.c", "!allowlist_has(name, length)", "!*name", "reply"),
    "any length of a value": ("decision.c", "text_of(value, VARIABLE_VALUE_MAX)", "text_of(value, REPLY_MAX)", "reply"),
    "any number of variables": ("decision.c", "count > VARIABLES_MAX", "count > REPLY_MAX", "reply"),
    "a value of two lines": ("decision.c", "strchr(text, '\\n')", "!*name", "carried"),
    "what only looks like UTF-8": ("message.c", "!json_is_utf8(text, size)", "text[size]", "reply"),
    "half of a decision without memory": (
        "decision.c",
        "return variable->name && variable->value ? 0 : -1",
        "return 0 * !variable->name",
        "reply",
    ),
    "control characters": ("printable.c", "*byte < ' ' || *byte == 0x7F", "*byte < ' '", "reply"),
    "a frame beyond the limit": ("stream.c", "length > limit", "length > 2 * limit", "frame"),
    "any envelope": ("envelope.c", "memcmp(envelope, nonce, NONCE_SIZE) != 0", "!nonce", "frame"),
    "a path without its end": ("endpoint.c", "length >= size", "length > size", "endpoint"),
    "any deadline": ("settings.c", "1, DEADLINE_MS_MAX", "1, INT_MAX", "plugstack"),
    "a value that is refused in a job": ("options.c", "if (remote)", "if (remote && !argument)", "option"),
    "an optional value is the next word": ("sbatch_options.c", "known[2] != ':'", "known[2]", "words"),
    "a text beyond its limit": ("json.c", "length + given > limit", "length > limit", "text"),
    "a path that is none": ("message.c", "path && *path == '/'", "path", "reply"),
    "names beyond their table": ("names.c", "size < room && ", "size < room + 64 && ", "identity"),
    "symbols beyond their table": ("executable.c", "table.size - at >= size; at", "table.size > at; at", "identity"),
    "a build-id beyond its note": ("executable.c", "i < size && NOTE_HEADER + i < notes->size", "i < size", "identity"),
    "a variable of the user's": ("jobstep.c", "variable->value, 0)", "variable->value, 1)", "jobstep"),
    "a job that is a path": ("burst.c", "!is_number(job)", "!*job", "burst_request"),
    "a user that is none": ("burst.c", "number >= UINT32_MAX", "number > UINT32_MAX", "burst_request"),
    "a proof by anybody": ("burst.c", "user == burst->user ||", "user ||", "burst_request"),
    "a cache of any size": ("burst.c", "10) <= settings->burst_ram_bytes", "10) > 0", "burst_request"),
    "a record that is torn": ("journal_scan.c", "record_intact(whole, bytes, segment->nonce)", "true", "flash_journal"),
    "a record beyond its buffer": ("record.c", "record->length <= MSIZE_MAX", "true", "flash_journal"),
    "a record that is done": ("journal_scan.c", "done_decode(entry,", "0 * done_decode(entry,", "flash_journal"),
    "a record after a torn one": ("journal_scan.c", "position + RECORD_ALIGN;", "size;", "flash_journal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_the_corpus_tells_when_the_code_is_broken(tmp_path: Path, name: str) -> None:
    file, before, after, harness = MUTANTS[name]
    for folder in (SPANK, FORWARDER):
        ignored = shutil.ignore_patterns("build", "fallbacks", "*.so")
        shutil.copytree(folder, tmp_path / folder.relative_to(ROOT), ignore=ignored)
    shutil.copy(FORWARDER.parent / "nine.h", tmp_path / FORWARDER.parent.relative_to(ROOT))
    fuzz = tmp_path / "tests" / "fuzz"
    shutil.copytree(HERE, fuzz, ignore=shutil.ignore_patterns("build", "corpus", "seeds", "*.py", "__pycache__"))
    sources = [tmp_path / folder.relative_to(ROOT) / file for folder in (SPANK, FORWARDER)]
    (source,) = (path for path in sources if path.exists() and before in path.read_text())
    text = source.read_text()
    assert text.count(before) == 1
    source.write_text(text.replace(before, after))
    build(f"build/replay/{harness}", fuzz)
    done = replay(fuzz / "build" / "replay", harness)
    assert done.returncode != 0
    assert any(words in done.stderr for words in ("does not hold", "AddressSanitizer", "runtime error")), done.stderr
