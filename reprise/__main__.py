# SPDX-License-Identifier: Apache-2.0
"""Run the command `reprise` with `python -m reprise`."""

from reprise.cli.main import main

main()
