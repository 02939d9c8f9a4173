# SPDX-License-Identifier: Apache-2.0
"""Test that the arbiter and the library in jobs accept the same addresses: the library's own reader is compiled."""

from __future__ import annotations

import ipaddress
import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from reprise.config import forwarder_address
from tests.places import ROOT

CLIENT = ROOT / "accelerators/forward/client"
LETTERS = "0123456789abcdef:.[]%/ x\t-\x7f\u00e9"
ODD = (
    *("", "[::ffff:1.2.3.4]:5", "[1::2::3]:5", "[::]:1", "0.0.0.0:1", "01.2.3.4:5", "[::1%1]:5", "[fe80::1]:65535"),
    *("[1:2:3:4:5:6:7:8:9]:1", "[::1.2.3.04]:5", "[12345::]:5", "/" + "x" * 106, "/" + "x" * 107, "host:564"),
)
PROGRAM = """
#include <stdio.h>
#include <string.h>

#include "map.h"

int main(void)
{
    static char text[4096] = MAP_FIRST_LINE "\\n", line[2048], address[ADDRESS_BYTES];
    const size_t first = strlen(text);
    while (fgets(line, sizeof line, stdin)) {
        memcpy(text + first, line, strlen(line));
        puts(map_choose(text, first + strlen(line), 0, address) == 1 ? "yes" : "no");
    }
}
"""


def changed(random: Random, text: str) -> str:
    at = random.randrange(len(text))
    return text[:at] + random.choice(LETTERS) + text[at + 1 :]


def address(random: Random) -> str:
    six = ipaddress.IPv6Address(random.getrandbits(random.choice((128, 40, 16))))
    four = ".".join(str(random.randrange(260)) for _ in range(4))
    port = random.choice(("0", "1", "564", "65535", "65536", "05", "99999", ""))
    length = random.choice((0, 3, 30, 105, 106, 107, 108))
    made = (f"{four}:{port}", f"[{six}]:{port}", "/" + "".join(random.choice(LETTERS[:16]) for _ in range(length)))
    text = random.choice(made)
    return changed(random, text) if random.randrange(2) else text


def accepts(text: str) -> bool:
    try:
        return forwarder_address(text) == text
    except ValueError:
        return False


@pytest.mark.slow
def test_the_library_accepts_the_addresses_that_the_arbiter_accepts_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(PROGRAM)
    include = [f"-I{CLIENT}", f"-I{CLIENT.parents[1]}"]
    command = ["cc", "-std=gnu11", *include, f"{tmp_path}/main.c", f"{CLIENT}/map.c", "-o", f"{tmp_path}/main"]
    subprocess.run(command, check=True)
    random = Random(7)  # noqa: S311 (no cryptography)
    texts = [*ODD, *(address(random) for _ in range(20_000))]
    lines = b"".join(os.fsencode(text) + b"\n" for text in texts)
    said = subprocess.run([tmp_path / "main"], input=lines, capture_output=True, check=True).stdout.decode().split()
    differing = [(text, word) for text, word in zip(texts, said, strict=True) if accepts(text) is not (word == "yes")]
    assert differing == [] and 2000 < said.count("yes") < 18_000
