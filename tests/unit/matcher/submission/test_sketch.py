# SPDX-License-Identifier: Apache-2.0
"""Test that sketches are similar for similar scripts, and have a fixed small size for any script."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.linkage.comparers import hamming as similarity
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.sketch import LETTERS, SHINGLE, SIZE, sketch

SCRIPT = """#!/bin/bash
#SBATCH --job-name=lattice
#SBATCH --nodes=4
module purge
module load gcc openmpi hdf
cd $SLURM_SUBMIT_DIR || exit
export OMP_NUM_THREADS=4
# the production run
srun --cpu-bind=cores ./lattice --input run12.toml --steps 200 | tee run12.log
gzip -f run12.log && cp run12.log.gz $ARCHIVE/results
"""


def test_a_script_with_other_parameters_and_comments_has_the_same_sketch() -> None:
    other = SCRIPT.replace("run12", "run7").replace("200", "35000").replace("nodes=4", "nodes=16")
    other = other.replace("# the production run", "# once more, with feeling")
    assert sketch(other) == sketch(SCRIPT) != ""


def test_metadata_contains_the_sketch_of_a_submitted_script() -> None:
    given = parse(Submission.for_script("/home/ada/job.sh", SCRIPT), user="ada", submit_time=0.0)
    wrapped = parse(Submission("sbatch", ("sbatch", f"--wrap={SCRIPT}")), user="ada", submit_time=0.0)
    unseen = parse(Submission("sbatch", ("sbatch",)), user="ada", submit_time=0.0)
    assert (given.script, wrapped.script, unseen.script) == (sketch(SCRIPT), sketch(SCRIPT), "")


def test_one_more_line_leaves_scripts_similar_and_other_scripts_are_not() -> None:
    more = SCRIPT + "echo done\n"
    other = "#!/bin/sh\nfor f in *.dat; do sort -u $f > sorted/$f; done\nmail -s ready me < report.txt\n"
    assert 0.7 < similarity(sketch(SCRIPT), sketch(more)) < 1
    assert similarity(sketch(SCRIPT), sketch(other)) < 0.15


def test_a_similarity_is_an_estimate_of_the_share_of_common_sequences() -> None:
    rng = random.Random(3)  # noqa: S311 - not used for security
    vocabulary = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(400)]

    def shingles(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}

    for _ in range(20):
        first = rng.choices(vocabulary, k=600)
        second = first[: rng.randrange(600)] + rng.choices(vocabulary, k=300)
        a, b = shingles(first), shingles(second)
        estimate = similarity(sketch(" ".join(first)), sketch(" ".join(second)))
        share = len(a & b) / len(a | b)
        assert estimate == pytest.approx(share + (1 - share) / len(LETTERS), abs=4 / (2 * SIZE**0.5))


@given(st.text(), st.text())
def test_any_text_has_a_small_sketch_and_similarity_is_symmetric(one: str, other: str) -> None:
    left, right = sketch(one), sketch(other)
    assert len(left) in (0, SIZE) and set(left) <= set(LETTERS)
    assert similarity(left, right) == similarity(right, left)
    assert similarity(left, left) == 1
    assert 0 <= similarity(left, right) <= 1


def test_sketches_do_not_change_between_releases() -> None:
    assert sketch("module load gcc openmpi\ncd run\nsrun ./solve --in a.dat\n") == "9dLF-OlGpJLCUxUrgk+36sRt0lfbvG16"


def test_a_script_without_commands_has_no_sketch() -> None:
    assert sketch("") == sketch("#!/bin/sh\n# nothing\n  #SBATCH -N4\n") == sketch("12 34 5.6\n") == ""


@pytest.mark.parametrize("unit", ["word ", "a/b=$c|", "#\n", "\u00e9\u00e9 ", "x" * 1000 + " ", "- "])
def test_a_long_script_is_sketched_in_bounded_time(unit: str) -> None:
    text = unit * (131_072 // len(unit))
    began = time.thread_time()
    sketch(text)
    assert time.thread_time() - began < 0.02
