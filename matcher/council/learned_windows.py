# SPDX-License-Identifier: Apache-2.0
"""Form in which the council's knowledge is stored: a JSON object with a version."""

from __future__ import annotations

import json
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, StrictInt, StringConstraints, ValidationError

from reprise.config import Section, first_problem
from reprise.matcher.council.access_pattern import Pattern, pattern_of
from reprise.matcher.council.bandit import LEAST_REWARD, Bandit
from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.harm_budget import Harm
from reprise.matcher.council.learned_context import Context
from reprise.matcher.council.window_arm import Arm
from reprise.matcher.council.window_council import Learned
from reprise.matcher.errors import CouncilError

VERSION = 1
"""Version of the form; another version is refused."""

MOST_REWARDS = 10_000
"""Maximum number of remembered rewards of a window; more are a mistake, and slow to read."""

REMEDY = "restore a copy, or remove it to learn again"

Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Reward = Annotated[float, Field(strict=True, ge=LEAST_REWARD, allow_inf_nan=False)]
Window = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,8})$")]


class _Arm(Section):
    tries: StrictInt = Field(ge=1, le=2**53)
    mean: Reward
    peak: Reward
    recent: list[Reward] = Field(max_length=MOST_REWARDS)


class _Context(Section):
    rounds: Amount
    moved: Amount
    lost: Amount
    windows: dict[Window, _Arm]


class _File(Section):
    version: StrictInt
    window: StrictInt
    contexts: dict[str, _Context]


def document(learned: Learned) -> dict[str, Any]:
    """Return the knowledge as a JSON object.

    Its keys are `version`, `window` (microseconds) and `contexts`, by text of the pattern. A context has `rounds`,
    `moved` and `lost` (bytes) of its harm, and `windows`: by window in microseconds, the number of `tries`, and in MB/s
    the `mean`, the largest reward `peak` and the rewards that count, `recent`. Windows without tries are left out.
    """
    return {
        "version": VERSION,
        "window": learned.window,
        "contexts": {
            str(pattern): {
                "rounds": context.harm.rounds,
                "moved": context.harm.moved,
                "lost": context.harm.lost,
                "windows": {
                    str(window): {"tries": arm.tries, "mean": arm.mean, "peak": arm.peak, "recent": list(arm.recent)}
                    for window, arm in context.bandit.arms.items()
                    if arm.tries
                },
            }
            for pattern, context in learned.contexts.items()
        },
    }


def read(text: str | bytes, name: str, settings: CouncilSettings) -> Learned:
    """Return the knowledge in the text of a file called `name`.

    Windows that are no longer in the settings are forgotten, and so are rewards beyond the settings' memory. Raise
    CouncilError with one line if the file is damaged or has another version.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CouncilError(f"{name}: learned windows: is not valid JSON ({error}): {REMEDY}") from error
    version = content.get("version") if isinstance(content, dict) else None
    if version != VERSION:
        raise CouncilError(f"{name}: learned windows have version {version!r:.40}, and {VERSION} is read: {REMEDY}")
    try:
        file = _File.model_validate(content)
        contexts = {_pattern(text): _context(stored, settings) for text, stored in file.contexts.items()}
    except ValidationError as error:
        raise CouncilError(f"{name}: learned windows: {first_problem(error, _File)}: {REMEDY}") from error
    except CouncilError as error:
        raise CouncilError(f"{name}: learned windows: {error}; {REMEDY}") from error
    return Learned(file.window if file.window in settings.windows else settings.default_window, contexts)


def _pattern(text: str) -> Pattern:
    found = pattern_of(text)
    if found is None:
        raise CouncilError(f"{text!r} is not a context")
    return found


def _context(stored: _Context, settings: CouncilSettings) -> Context:
    arms = {int(window): _arm(arm, settings.memory) for window, arm in stored.windows.items()}
    return Context(settings, Bandit(settings, arms), Harm(stored.rounds, stored.moved, stored.lost))


def _arm(stored: _Arm, memory: int) -> Arm:
    """Return an arm with the rewards that the memory holds; their mean and peak follow from them."""
    if not memory or not stored.recent:
        return Arm(stored.tries, stored.mean, stored.peak)
    recent = tuple(stored.recent[-memory:])
    return Arm(stored.tries, fmean(recent), max(recent), recent)
