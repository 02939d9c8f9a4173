# SPDX-License-Identifier: Apache-2.0
"""Test how the library reads its map and its variables."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from tests.examples import examples

FIRST = "reprise-forwarders 1\n"
ADDRESSES = ["192.0.2.17:5640", "[2001:db8::17]:5640", "/run/reprise/forwarder.sock", "10.0.0.1:1"]
MAP_BYTES = 65536


@pytest.fixture(scope="session")
def pure(programs: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(programs / "pure.so"))
    library.pure_settings.restype = ctypes.c_void_p
    library.pure_complaint.restype = ctypes.c_char_p
    library.pure_least.restype = ctypes.c_longlong
    library.pure_node.restype = ctypes.c_uint
    library.pure_map.restype = ctypes.c_char_p
    return library


def choose(pure: ctypes.CDLL, text: str | bytes, node: int = 0) -> tuple[int, str]:
    """Return the number of forwarders in a map, -1 if it is bad, and the address that the map gives to a node."""
    data = text.encode() if isinstance(text, str) else text
    address = ctypes.create_string_buffer(256)
    count = pure.map_choose(data, ctypes.c_size_t(len(data)), ctypes.c_uint32(node), address)
    return count, address.value.decode()


def test_each_node_gets_one_of_the_forwarders_in_turn(pure: ctypes.CDLL) -> None:
    text = FIRST + "".join(f"{address}\n" for address in ADDRESSES)
    for node in range(12):
        assert choose(pure, text, node) == (4, ADDRESSES[node % 4])
    assert choose(pure, text, 2**32 - 1) == (4, ADDRESSES[3])


def test_a_map_without_forwarders_is_valid(pure: ctypes.CDLL) -> None:
    assert choose(pure, FIRST) == (0, "")


BAD = {
    "empty": "",
    "no newline after the version": FIRST[:-1],
    "another version": "reprise-forwarders 2\n10.0.0.1:1\n",
    "another format": "10.0.0.1:1\n",
    "a truncated line": f"{FIRST}10.0.0.1:56",
    "an empty line": f"{FIRST}10.0.0.1:1\n\n",
    "a blank": f"{FIRST}10.0.0.1:1 \n",
    "a carriage return": f"{FIRST}10.0.0.1:1\r\n",
    "a comment": f"{FIRST}# none\n",
    "a name": f"{FIRST}node17:5640\n",
    "no port": f"{FIRST}10.0.0.1\n",
    "an empty port": f"{FIRST}10.0.0.1:\n",
    "port 0": f"{FIRST}10.0.0.1:0\n",
    "a port too large": f"{FIRST}10.0.0.1:65536\n",
    "a port of many digits": f"{FIRST}10.0.0.1:000001\n",
    "a negative port": f"{FIRST}10.0.0.1:-1\n",
    "an IPv4 address in brackets": f"{FIRST}[10.0.0.1]:1\n",
    "an IPv6 address without brackets": f"{FIRST}2001:db8::17:5640\n",
    "half a bracket": f"{FIRST}[2001:db8::17:5640\n",
    "an octal address": f"{FIRST}10.0.0.01:5640\n",
    "a relative path": f"{FIRST}run/forwarder\n",
    "a path too long": f"{FIRST}/{'x' * 107}\n",
    "a path with a blank": f"{FIRST}/run/a b\n",
    "an address too long": f"{FIRST}{'1' * 300}:1\n",
    "a zero byte": f"{FIRST}10.0.0.1:1\0\n",
    "a map too large": FIRST + "10.0.0.1:1\n" * (MAP_BYTES // 11 + 1),
}


def test_a_map_with_a_mistake_gives_no_forwarder(pure: ctypes.CDLL) -> None:
    found = {name: choose(pure, text) for name, text in BAD.items()}
    assert {name: result for name, result in found.items() if result != (-1, "")} == {}


def test_a_mistake_anywhere_makes_the_whole_map_bad(pure: ctypes.CDLL) -> None:
    assert choose(pure, FIRST + "10.0.0.1:1\n" * 50 + "oops\n", 3) == (-1, "")


@settings_of(max_examples=examples(300))
@given(text=st.binary(max_size=80) | st.text(alphabet="0123456789.:[]/a\n ", max_size=60).map(str.encode),
       node=st.integers(0, 2**32 - 1))  # fmt: skip
def test_any_bytes_are_a_map_of_valid_lines_or_bad(pure: ctypes.CDLL, text: bytes, node: int) -> None:
    for whole in (text, FIRST.encode() + text):
        count, address = choose(pure, whole, node)
        lines = whole.split(b"\n")[1:-1]
        assert count == -1 or (count == len(lines) and address == (lines[node % count].decode() if count else ""))


MAP = {"REPRISE_FORWARD_MAP": "/run/map", "REPRISE_FORWARD_PREFIXES": "/scratch"}


def read(pure: ctypes.CDLL, **variables: str) -> tuple[ctypes.c_void_p, str]:
    given = {"REPRISE_FORWARD_REPORT": "/dev/null", **variables}
    names = (ctypes.c_char_p * (len(given) + 1))(*[name.encode() for name in given])
    values = (ctypes.c_char_p * (len(given) + 1))(*[value.encode() for value in given.values()])
    settings = ctypes.c_void_p(pure.pure_settings(names, values, b"node7"))
    return settings, pure.pure_complaint().decode()


def test_the_library_is_on_with_a_map_and_a_prefix_only(pure: ctypes.CDLL) -> None:
    cases = {
        "on": MAP,
        "no map": {"REPRISE_FORWARD_PREFIXES": "/scratch"},
        "no prefix": {"REPRISE_FORWARD_MAP": "/run/map"},
        "disabled": {**MAP, "REPRISE_FORWARD_DISABLE": "1"},
    }
    assert {name for name, case in cases.items() if pure.pure_enabled(read(pure, **case)[0])} == {"on"}


@pytest.mark.parametrize(
    "prefixes", ["scratch", "/a/../b", "/a/./b", "/a//b", "/a/", "/", ":", "/a::/b", ":".join(["/a"] * 9)]
)
def test_a_prefix_that_the_kernel_would_write_otherwise_is_refused(pure: ctypes.CDLL, prefixes: str) -> None:
    settings, said = read(pure, **MAP | {"REPRISE_FORWARD_PREFIXES": prefixes})
    assert not pure.pure_enabled(settings)
    assert said.startswith(f'libreprise_forward: REPRISE_FORWARD_PREFIXES="{prefixes[:100]}" is ignored: use at most 8')


def test_the_number_of_the_job_replaces_its_place_in_the_path_of_the_map(pure: ctypes.CDLL) -> None:
    given = MAP | {"REPRISE_FORWARD_MAP": "/run/%j.map", "SLURM_JOB_ID": "4294967295"}
    settings, said = read(pure, **given)
    assert (pure.pure_enabled(settings), pure.pure_map(settings), said) == (1, b"/run/4294967295.map", "")
    longest = "/" + 4084 * "a" + "%j"
    assert pure.pure_enabled(read(pure, **given | {"REPRISE_FORWARD_MAP": longest})[0])
    bad_maps = ("run/%j", "%j", "/run/%j/%j", "/a" + longest[1:])
    bad_jobs = ("", "0", "-1", "../7", "7/../8", "%j", "7 ", 30 * "9")
    for bad in (*({"REPRISE_FORWARD_MAP": one} for one in bad_maps), *({"SLURM_JOB_ID": one} for one in bad_jobs)):
        settings, said = read(pure, **given | bad)
        assert not pure.pure_enabled(settings) and "with %j at most once and only in jobs" in said, bad
    outside = {name: value for name, value in given.items() if name != "SLURM_JOB_ID"}
    assert not pure.pure_enabled(read(pure, **outside)[0])


def test_several_prefixes_are_read(pure: ctypes.CDLL) -> None:
    settings, said = read(pure, **MAP | {"REPRISE_FORWARD_PREFIXES": "/scratch:/work/shared"})
    assert (pure.pure_enabled(settings), pure.pure_prefixes(settings), said) == (1, 2, "")


def test_an_invalid_number_is_replaced_by_the_default(pure: ctypes.CDLL) -> None:
    for text in ("0", "64K", "-1", "9" * 30, " 1"):
        settings, said = read(pure, **MAP, REPRISE_FORWARD_MIN_BYTES=text)
        assert pure.pure_least(settings) == 65536 and "use a number from 1 to" in said
    assert pure.pure_least(read(pure, **MAP, REPRISE_FORWARD_MIN_BYTES="4096")[0]) == 4096


def test_a_node_without_a_number_gets_one_from_its_name(pure: ctypes.CDLL) -> None:
    assert pure.pure_node(read(pure, **MAP, SLURM_NODEID="12")[0]) == 12
    named = {pure.pure_node(read(pure, **MAP, **more)[0]) for more in ({}, {"SLURM_NODEID": "x"}, {"SLURM_NODEID": ""})}
    assert len(named) == 1 and named != {0}
