# SPDX-License-Identifier: Apache-2.0
"""Create the missing root directories of Debian releases in the cache of `make test-matrix`, and report each one."""

from __future__ import annotations

import sys
import time

from tests.matrix.roots import RELEASES, RootError, fill


def main() -> int:
    try:
        for release in RELEASES:
            started, words = time.monotonic(), "is"
            if not release.root.exists():
                print(f"matrix: {release}: making its root (about a minute; {release.log})", flush=True)
                words = "made in {seconds:.0f} s, is"
            fill(release)
            print(
                f"matrix: {release}: {words.format(seconds=time.monotonic() - started)} in {release.root}", flush=True
            )
    except RootError as error:
        print(f"make test-matrix: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
