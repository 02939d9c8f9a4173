# SPDX-License-Identifier: Apache-2.0
"""Determine a trial's objective: its run time, numbers in its output, or the result of a site's own function."""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import re
import shutil
import stat
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reprise.tuner.components.described_component import Objective
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Sample, TrialOutput

READ_LIMIT = 16 * 1024 * 1024  # maximum number of characters of a file to search
CLOCKS_S = 2.0  # maximum difference in seconds between the clocks of two file systems
JOB_ID = "trial"  # job id to pass to functions that were written for SHAMan, another tuner

TAKES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda found: found[0],
    "last": lambda found: found[-1],
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "sum": math.fsum,
}

Function = Callable[..., object]


def read(objective: Objective, output: TrialOutput, work_directory: str, function: Function | None) -> Sample:
    """Return a trial's sample, which is to be minimized; a value to be maximized becomes 1/value, in 1/unit.

    The application runs in `work_directory`. A relative path in `objective.file` refers to this directory; the path may
    begin with {directory}/ for the trial's directory. Raise ObjectiveError if there is no valid number.
    """
    if function is not None:
        value = _of_function(function, objective.function, _directory(output))
    elif objective.parts:
        return _of_parts(objective, _text(objective.file, output, work_directory))
    elif objective.pattern:
        text = _text(objective.file, output, work_directory)
        value = _found(objective.pattern, objective.take, text, objective.file)
    else:
        return Sample(output.elapsed_s)
    if not objective.maximize:
        return Sample(value, unit=objective.unit)
    if value <= 0:
        raise ObjectiveError(f"the objective is {value:g} {objective.unit}, but must be over 0 to be maximized")
    return Sample(1 / value, unit=f"1/({objective.unit})")


def load(name: str, directory: Path) -> Function:
    """Return the function that `name` (MODULE.FUNCTION) refers to, from a module in the site's directory of functions.

    The function runs with the coordinator's rights. Raise TunerError if anyone other than root and the current user can
    write to the file or its directory, or if the function cannot be loaded.
    """
    module_name, _, function_name = name.partition(".")
    path = directory / f"{module_name}.py"
    for place in (directory, path):
        try:
            facts = place.stat()
        except OSError as error:
            raise TunerError(
                f"objective.function: {place}: cannot be read ({error.strerror}): put the module there, or set "
                "tuner.functions"
            ) from error
        if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or facts.st_uid not in (0, os.geteuid()):
            raise TunerError(
                f"objective.function: {place}: other users can write to it, and it would run as you: make root or "
                "yourself its owner and run `chmod go-w` on it"
            )
    spec = importlib.util.spec_from_file_location(f"reprise_function_{module_name}", path)
    if spec is None or spec.loader is None:
        raise TunerError(f"objective.function: {path}: not a Python module: correct the name")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TunerError(f"objective.function: {path}: cannot be imported ({_in_words(error)}): correct it") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise TunerError(f"objective.function: {path}: has no function {function_name!r}: correct the name")
    found: Function = function
    return found


def _of_parts(objective: Objective, text: str) -> Sample:
    """Return the weighted sum of an objective's parts as a sample, with the parts as its metrics."""
    metrics = {}
    for part in objective.parts:
        value = _found(part.pattern, part.take, text, objective.file)
        if part.amount:
            if value <= 0:
                raise ObjectiveError(f"{part.name} is {value:g}, but a rate must be over 0")
            value = part.amount / value
        metrics[part.name] = value
    total = math.fsum(part.weight * metrics[part.name] for part in objective.parts)
    return Sample(total, unit=objective.unit, metrics=metrics)


def _found(pattern: str, take: str, text: str, file: str) -> float:
    """Return the number that a pattern finds in a text; if it finds several, `take` selects one or combines them."""
    found = []
    for match in re.finditer(pattern, text, re.MULTILINE):
        try:
            found.append(float(match[1]))
        except (TypeError, ValueError):
            raise ObjectiveError(f"the pattern found {match[1]!r}, which is not a number: correct it") from None
    if not found:
        where = file or "standard output"
        raise ObjectiveError(f"the pattern {pattern!r} found nothing in {where}: run the trial's script by hand")
    return TAKES[take](found)


def _text(file: str, output: TrialOutput, work_directory: str) -> str:
    """Return the text to search. Raise ObjectiveError if it is in a file that is older than the trial."""
    if not file:
        return output.stdout
    directory = _directory(output)
    path = Path(work_directory or directory) / file.replace("{directory}", str(directory))
    try:
        begun = min(entry.stat().st_mtime for entry in directory.iterdir())
        if path.stat().st_mtime < begun - CLOCKS_S:
            raise ObjectiveError(f"{path}: older than the trial, so the trial did not write it: check the name")
        with path.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(READ_LIMIT)
    except (OSError, ValueError) as error:
        raise ObjectiveError(f"{path}: cannot be read ({error}): check where the application writes it") from error


def _of_function(function: Function, name: str, directory: Path) -> float:
    """Call the site's function with a trial's directory, and return the result.

    A function with a parameter `job_id` was written for SHAMan. It expects the trial's output in `slurm-trial.out`, so
    this file is first written to `directory`.
    """
    try:
        if "job_id" in inspect.signature(function).parameters:
            with (directory / f"slurm-{JOB_ID}.out").open("wb") as both:
                for part in ("stdout", "stderr"):
                    if (directory / part).exists():
                        with (directory / part).open("rb") as opened:
                            shutil.copyfileobj(opened, both)
            value = function(JOB_ID, path=directory)
        else:
            value = function(directory)
    except Exception as error:
        raise ObjectiveError(f"{name}: {_in_words(error)}: correct the function, or see {directory}") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ObjectiveError(f"{name}: returned {value!r}, which is not a number: correct the function")
    return float(value)


def _directory(output: TrialOutput) -> Path:
    if output.directory is None:
        raise ObjectiveError("the objective is in a file, but this executor keeps no files: use another executor")
    return output.directory


def _in_words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
