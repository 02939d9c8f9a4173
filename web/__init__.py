# SPDX-License-Identifier: Apache-2.0
"""Web pages and REST interface, for staff, operators, and users who want to see their own jobs."""

# the package was found in the current directory or on PYTHONPATH, and would be loaded twice
if __name__ != "reprise.web":
    raise ImportError("this is reprise.web: import it by that name")
