# SPDX-License-Identifier: Apache-2.0
"""Test that no input in the fuzzers' corpus crashes a harness or breaks an invariant."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fuzz.harnesses import BUILD, CORPUS, HARNESSES, HERE, SEEDS, SPANK, build

ASAN = "max_allocation_size_mb=16:detect_leaks=1"


def inputs(harness: str) -> list[Path]:
    return sorted(path for top in (CORPUS, SEEDS) for path in (top / harness).glob("*"))


def replay(programs: Path, harness: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / harness, *inputs(harness)],
        env={"PATH": os.defpath, "ASAN_OPTIONS": ASAN},
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


# Defects, each with a source file, a piece of its text, the replacement, and the harness whose corpus detects the
# defect.
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
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_the_corpus_tells_when_the_plugin_is_broken(tmp_path: Path, name: str) -> None:
    file, before, after, harness = MUTANTS[name]
    shutil.copytree(SPANK, tmp_path / "spank", ignore=shutil.ignore_patterns("build", "fallbacks", "*.so"))
    fuzz = tmp_path / "tests" / "fuzz"
    shutil.copytree(HERE, fuzz, ignore=shutil.ignore_patterns("build", "corpus", "seeds", "*.py", "__pycache__"))
    source = tmp_path / "spank" / file
    text = source.read_text()
    assert text.count(before) == 1
    source.write_text(text.replace(before, after))
    build(f"build/replay/{harness}", fuzz)
    done = replay(fuzz / "build" / "replay", harness)
    assert done.returncode != 0
    assert any(words in done.stderr for words in ("does not hold", "AddressSanitizer", "runtime error")), done.stderr
