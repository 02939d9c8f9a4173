# SPDX-License-Identifier: Apache-2.0
"""Test how the explorer reads its steps, as compiled from C."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.tuner.forge import forge_file
from reprise.tuner.forge.forge_command import arguments
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Operation, Phase, Step
from tests.examples import examples
from tests.places import ROOT

SOURCE = ROOT / "tuner/programs/forge/forge_plan.c"
OPERATIONS = list(Operation)


class CStep(ctypes.Structure):
    _fields_ = (
        ("operation", ctypes.c_int),
        ("layout", ctypes.c_int),
        ("total", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("path", ctypes.c_char_p),
    )


class CPhase(ctypes.Structure):
    _fields_ = (("repetitions", ctypes.c_uint64), ("first", ctypes.c_size_t), ("end", ctypes.c_size_t))


class CPlan(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.POINTER(CStep)),
        ("phases", ctypes.POINTER(CPhase)),
        ("step_count", ctypes.c_size_t),
        ("phase_count", ctypes.c_size_t),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("plan") / "plan.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, "-o", path, SOURCE], check=True)
    return ctypes.CDLL(str(path))


def read(library: ctypes.CDLL, words: list[str]) -> list[Phase] | str:
    """Return the phases that the program reads from its arguments, or its error."""
    encoded = [word.encode() for word in words]
    plan, error = CPlan(), ctypes.create_string_buffer(4400)
    status = library.forge_plan_read(
        ctypes.byref(plan),
        ctypes.c_size_t(len(encoded)),
        (ctypes.c_char_p * len(encoded))(*encoded),
        error,
        ctypes.c_size_t(4400),
    )
    if status:
        assert not plan.steps and not plan.phases
        return error.value.decode(errors="replace")
    phases = [plan.phases[index] for index in range(plan.phase_count)]
    found = [Phase(one.repetitions, [_step(plan.steps[at]) for at in range(one.first, one.end)]) for one in phases]
    library.forge_plan_free(ctypes.byref(plan))
    return found


def _step(step: CStep) -> Step:
    return Step(OPERATIONS[step.operation], step.path.decode(), Layout(step.layout), step.total, step.size)


PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), min_size=1, max_size=20)
SIZES = st.tuples(st.integers(1, forge_file.MOST_BYTES), st.integers(1, forge_file.LARGEST_REQUEST))
LAYOUTS = st.sampled_from(Layout)
MOVES = st.builds(
    lambda operation, path, layout, sizes: Step(operation, path, layout, *sizes),
    st.sampled_from([Operation.WRITE, Operation.READ]),
    PATHS,
    LAYOUTS,
    SIZES,
)
OTHERS = st.builds(Step, st.sampled_from([Operation.OPEN, Operation.CLOSE]), PATHS, LAYOUTS)
PHASES = st.builds(Phase, st.integers(1, forge_file.MOST_REPETITIONS), st.lists(MOVES | OTHERS, min_size=1, max_size=4))


@given(st.lists(PHASES, min_size=1, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_the_program_reads_the_phases_that_it_was_given(library: ctypes.CDLL, phases: list[Phase]) -> None:
    words = arguments(Exploration(1, phases))
    assert read(library, words[words.index("--") + 1 :]) == phases


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ([], "no steps"),
        (["phase:2"], "no steps"),
        (["phase:0", "open:strided:/x"], "number of repetitions"),
        (["phase:1000001", "open:strided:/x"], "number of repetitions"),
        (["phase:+1"], "number of repetitions"),
        (["open"], "not a step"),
        (["open:strided"], "not a step"),
        (["open:diagonal:/x"], "not a step"),
        (["OPEN:strided:/x"], "not a step"),
        (["open:strided:"], "no valid path"),
        (["open:strided:/" + "n" * 4000], "no valid path"),
        (["read:strided:/x"], "no valid sizes"),
        (["read:strided:10:/x"], "no valid sizes"),
        (["read:strided:0:1:/x"], "no valid sizes"),
        (["read:strided:-1:1:/x"], "no valid sizes"),
        (["read:strided: 1:1:/x"], "no valid sizes"),
        (["read:strided:1x:1:/x"], "no valid sizes"),
        ([f"read:strided:{2**63}:1:/x"], "no valid sizes"),
        ([f"read:strided:{2**64 + 1}:1:/x"], "no valid sizes"),
        ([f"read:strided:{2**40}:{2**30 + 1}:/x"], "no valid sizes"),
        (["open:strided:/x", "read:individual:10:0:/x"], "no valid sizes"),
    ],
)
def test_invalid_steps_are_refused_in_one_line(library: ctypes.CDLL, words: list[str], cause: str) -> None:
    said = read(library, words)
    assert isinstance(said, str) and cause in said and "\n" not in said
