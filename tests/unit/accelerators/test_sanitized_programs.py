# SPDX-License-Identifier: Apache-2.0
"""Test that programs built with a sanitizer run with preloaded libraries if ASAN_OPTIONS is as the plugin sets it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.unit.accelerators.test_old_libc import BUILT

pytestmark = pytest.mark.slow

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *size) { free(malloc((size_t)size)); return NULL; }
int main(void) {
  pthread_t thread;
  FILE *file = fopen("/etc/passwd", "r");
  int first = file ? fgetc(file) : 0;
  if (pthread_create(&thread, NULL, work, (void *)1000) || pthread_join(thread, NULL)) return 1;
  return puts("done") < 0 || !first || fclose(file);
}
"""
ANY_ORDER = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


@pytest.fixture(scope="module", params=["address", "thread", "undefined"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sanitized") / str(request.param)
    words = ["gcc", f"-fsanitize={request.param}", "-pthread", "-x", "c", "-o", str(path), "-"]
    subprocess.run(words, input=SOURCE, text=True, check=True)
    return path


def start(program: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program], env={**os.environ, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", BUILT)
def test_a_program_with_a_sanitizer_starts_with_preloaded_libraries(program: Path, name: str, tmp_path: Path) -> None:
    library = str(ROOT / name)
    done = start(program, LD_PRELOAD=library, SRO_DISABLE="0", REPRISE_PROFILE=str(tmp_path), **ANY_ORDER)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    refused = start(program, LD_PRELOAD=library)
    assert (refused.returncode == 0) == (program.name != "address"), "only AddressSanitizer needs the option"
