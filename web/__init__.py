# SPDX-License-Identifier: Apache-2.0
"""Web pages and REST interface for staff, for operators, and for users who look up their own jobs."""

if __name__ != "reprise.web":  # found in the current directory or on PYTHONPATH, and would be loaded twice
    raise ImportError("this is reprise.web: import it by that name")
