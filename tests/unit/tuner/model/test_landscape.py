# SPDX-License-Identifier: Apache-2.0
"""Test landscapes: their contents, and that a saved landscape is restored exactly."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from reprise.tuner.model.landscape import Landscape, LandscapeError, load
from reprise.tuner.model.space import Parameter, Parametrization, Space


def dead(point: Parametrization) -> Parametrization:
    """Return the point, with a segment of 0 if its algorithm is 0, which ignores the segment."""
    return {**point, "segment": 0} if point["algorithm"] == 0 else point


SPACE = Space((Parameter("algorithm", (0, 1), "category"), Parameter("segment", (0, 1024, 8192), "log")), dead)
LANDSCAPE = Landscape(
    "test", SPACE, {"algorithm": 0, "segment": 0}, ((3.0, 5.0), (2.0, 2.5), (1.0, 9.0), (2.0, 3.0)), source="a test"
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "test.json.gz"
    LANDSCAPE.save(path)
    return path


def test_the_optimum_is_the_best_on_average_not_the_luckiest() -> None:
    assert LANDSCAPE.optimum == ({"algorithm": 1, "segment": 0}, 2.25)


def test_equivalent_points_have_the_same_samples_even_after_loading(saved: Path) -> None:
    for landscape in (LANDSCAPE, load(saved)):
        assert landscape.of({"algorithm": 0, "segment": 8192}) == (3.0, 5.0)
        assert len(landscape.space.points) == 4


def test_a_saved_landscape_is_read_back_and_saved_again_byte_for_byte(saved: Path, tmp_path: Path) -> None:
    again = load(saved)
    assert (again.name, again.default, again.samples, again.source) == (
        "test",
        LANDSCAPE.default,
        LANDSCAPE.samples,
        "a test",
    )
    again.save(tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == saved.read_bytes()


def test_a_draw_is_one_of_the_samples_and_the_seed_decides() -> None:
    point = {"algorithm": 1, "segment": 1024}
    drawn = [LANDSCAPE.draw(point, np.random.default_rng(seed)) for seed in range(20)]
    assert set(drawn) == {1.0, 9.0}
    assert drawn == [LANDSCAPE.draw(point, np.random.default_rng(seed)) for seed in range(20)]


def test_a_default_outside_the_grid_has_separate_samples(tmp_path: Path) -> None:
    off = {"algorithm": 7, "segment": 4}
    landscape = Landscape("off", SPACE, off, LANDSCAPE.samples, default_samples=(4.0,))
    landscape.save(tmp_path / "off")
    assert load(tmp_path / "off").mean(off) == 4.0


@pytest.mark.parametrize("point", [{"algorithm": 5, "segment": 0}, {"algorithm": 1}])
def test_a_point_that_was_not_measured_is_refused(point: Parametrization) -> None:
    with pytest.raises(LandscapeError, match="does not contain the point"):
        LANDSCAPE.mean(point)


@pytest.mark.parametrize("samples", [((1.0,),) * 3, ((1.0,), (1.0,), (), (1.0,)), ((1.0,), (0.0,), (1.0,), (1.0,))])
def test_a_landscape_with_missing_or_invalid_samples_is_refused(samples: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(LandscapeError, match="measure"):
        Landscape("holes", SPACE, LANDSCAPE.default, samples)


def broken(**changes: object) -> bytes:
    text = {"format": 1, "name": "x", "parameters": [], "default": {}, "default_samples": [], "samples": []}
    return gzip.compress(json.dumps({**text, "source": "", "unit": "s", **changes}).encode())


BROKEN = {
    "no gzip": b"no gzip",
    "cut short": broken()[:-9],
    "garbled": broken()[:10] + b"\xff" * 20,
    "no JSON": gzip.compress(b"no JSON"),
    "no UTF-8": gzip.compress(b"\xff"),
    "a list": gzip.compress(b"[]"),
    "another format": broken(format=2),
    "samples in words": broken(samples=[["fast"]]),
    "a parameter without values": broken(parameters=[{"name": "x"}]),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_a_landscape_is_named_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.json.gz"
    path.write_bytes(content)
    with pytest.raises(LandscapeError) as caught:
        load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LandscapeError, match=r"absent.*No such file"):
        load(tmp_path / "absent")
