# SPDX-License-Identifier: Apache-2.0
"""Test mix files: a written file is read back, and an invalid file is refused with an error that names the line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy import mix_file
from reprise.tuner.proxy.mix_check import check
from tests.places import ROOT
from tests.unit.tuner.proxy.mixes import mix, ring


def test_a_mix_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = replace(ring(5), left_out={"put": 3})
    one = replace(one, comms=[*one.comms, (2, 0), (0, 1)])
    mix_file.write(one, tmp_path / "ring.mix")
    assert mix_file.read(tmp_path / "ring.mix") == one


def test_the_file_is_short_and_writes_repetitions_as_loops(tmp_path: Path) -> None:
    mix_file.write(mix("barrier c=0\n" * 1000), tmp_path / "a.mix")
    lines = (tmp_path / "a.mix").read_text().splitlines()
    assert lines[-4:] == ["rank 0", "loop 1000", "barrier c=0 g=10.00", "end"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("reprise-mix 1", "reprise-mix 2", "not a mix of version 1"),
        ("ranks 3", "ranks 4", "truncated: 3 of 4 ranks"),
        ("loop 5", "loop five", ":8: not a line of a mix: 'loop five'"),
        ("loop 5", "loop 5\n" * (mix_file.DEPTH_MAX + 1), ":72: not a line of a mix: 'loop 5'"),
        ("comm 0 0-2", "comm 0 0-99999999999", ":5: not a line of a mix: 'comm 0 0-99999999999'"),
        ("comm 0 0-2", "comm 0 0-2,0-2", ":5: not a line of a mix"),
        ("seconds 1.5", "seconds x", ":4: not a line of a mix"),
        ("bcast c=0", "bcast c", ":7: not a line of a mix"),
    ],
)
def test_a_file_that_is_not_a_mix_is_refused(tmp_path: Path, before: str, after: str, said: str) -> None:
    path = tmp_path / "a.mix"
    mix_file.write(ring(5), path)
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ProxyError, match=said):
        mix_file.read(path)


def test_comments_are_ignored(tmp_path: Path) -> None:
    mix_file.write(ring(5), tmp_path / "a.mix")
    text, one = (tmp_path / "a.mix").read_text(), mix_file.read(tmp_path / "a.mix")
    (tmp_path / "a.mix").write_text(text.replace("rank 1", "# the second rank\n\nrank 1"))
    assert mix_file.read(tmp_path / "a.mix") == one


@pytest.mark.parametrize("call", ["bcast p=0 n=4", "recv c=0 p=x t=1 n=4", "recv c=0 t=1 n=4", "barrier c=7"])
def test_calls_without_their_required_arguments_are_refused(call: str) -> None:
    with pytest.raises(ProxyError, match="the mix is incomplete"):
        check(mix(call))


def test_limits_are_those_of_the_replay() -> None:
    said = (ROOT / "tuner/programs/replay/mix.h").read_text()
    assert f"MIX_DEPTH_MAX = {mix_file.DEPTH_MAX}," in said and "MIX_RANKS_MAX = 1 << 20," in said
    assert mix_file.RANKS_MAX == 1 << 20


def test_a_mix_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ProxyError, match="cannot be written"):
        mix_file.write(ring(1), tmp_path / "nowhere/a.mix")
    assert not list(tmp_path.iterdir())
