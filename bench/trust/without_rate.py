# SPDX-License-Identifier: Apache-2.0
"""Run `reprise` without the limit on requests per uid: `python -m bench.trust.without_rate PYTHON -m reprise ...`."""

from __future__ import annotations

import sys

from reprise.cli.main import main
from reprise.matcher.daemon import service

if __name__ == "__main__":
    service.ASKED_AT_ONCE = service.ASKED_PER_S = 10**9
    sys.argv[:] = ["reprise", *sys.argv[4:]]
    main()
