# SPDX-License-Identifier: Apache-2.0
"""Measure detectors of access patterns, and learners of windows.

    .venv/bin/python -m bench.patterns [--only bandits,detectors]

Parts:

- `bandits` (half a minute): learned windows in comparison with the best ones, in simulation.
- `detectors` (a minute): detectors that are trained with the features in the checkout.

The last line of output is a JSON object with the results of the parts that ran, and `null` for the others.

- `bandit_share`: bandwidth of decisions 101 to 200 in comparison with that of the best window, with the worst learner
  and seed. `precision`: share of decisions for the best window in the long run, with epsilon 0.15 and 7 windows.
- `accuracy`: share of rows of the test set whose class the chosen detector finds. `unseen_error`: its errors with sizes
  of requests that were not in training, and those that correspond to the thesis's tree. `detect_ms`: median time
  of an answer in milliseconds.
- `details`: everything else that the parts report. `failed`: parts that ended with an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bench.patterns import bandits, detectors
from bench.run_parts import Results, parser, run

KEYS = ("bandit_share", "precision", "accuracy", "unseen_error", "detect_ms")
PARTS: dict[str, Callable[[], Mapping[str, Any]]] = {
    "bandits": bandits.result,
    "detectors": lambda: detectors.result(detectors.FEATURES),
}


def _found(name: str) -> Results:
    """Return what a part found: the values of its keys, and the others as its details."""
    found = PARTS[name]()
    others = {key: value for key, value in found.items() if key not in KEYS}
    return {**{key: value for key, value in found.items() if key in KEYS}, "details": {name: others}}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts, print the JSON object, and return 1 if a part failed."""
    chosen = parser("patterns", __doc__ or "", list(PARTS)).parse_args(argv).only
    return run(chosen, {name: partial(_found, name) for name in PARTS}, KEYS)


if __name__ == "__main__":
    sys.exit(main())
