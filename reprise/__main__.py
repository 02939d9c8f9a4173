# SPDX-License-Identifier: Apache-2.0
"""`python -m reprise` is the command `reprise`."""

from reprise.cli.main import main

main()
