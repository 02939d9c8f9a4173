# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/reference/forwarder.md lists all options and metrics."""

from __future__ import annotations

import re
import subprocess

from tests.forward.forwarder.conftest import Place
from tests.places import ROOT
from tests.waiting import wait_for

PAGE = (ROOT / "docs/reference/forwarder.md").read_text()


def test_the_page_lists_the_options_of_the_help(place: Place) -> None:
    done = subprocess.run([place.program, "--help"], capture_output=True, text=True, check=True)
    printed = re.findall(r"^  --([\w-]+) +(.*?)(?: \((?:default (\d+)|([\w|]+))\))?$", done.stdout, re.MULTILINE)
    options = {(name, text, default or choices.partition("|")[0]) for name, text, default, choices in printed}
    listed = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| `?(\w*)`? ?\| (.*) \|$", PAGE, re.MULTILINE)
    assert {(name, text, default) for name, default, text in listed} == options
    assert len(options) > 15


def test_the_page_lists_the_metrics(place: Place) -> None:
    (place.directory / "bursts").mkdir()
    place.start("--write-back=ram", f"--bursts={place.directory}/bursts", "--scheduler=twins", "--council=/none")
    nine = place.client()
    fid = nine.create("file")

    def values() -> dict[str, float] | None:
        for offset in range(2):
            nine.write(fid, offset, b"x")
        return page if "pattern_distance" in str(page := place.metrics()) else None

    page = wait_for("the patterns", values)  # in the second after the first requests
    status = place.control("status")
    names = {name.partition("{")[0].removeprefix("reprise_forwarder_") for name in page}
    names = {re.sub("^(request_seconds)_(bucket|sum|count)$", r"\1", name) for name in names}
    table = re.findall(r"^\| `(\w+)(?:\{.*\})?`( \*)? \| (?:counter|gauge|histogram) \|", PAGE, re.MULTILINE)
    assert {name for name, _ in table} == names
    assert {name for name, star in table if star} | {"write_errors", "lost_bytes"} == set(status)
