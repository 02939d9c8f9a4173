# SPDX-License-Identifier: Apache-2.0
"""Web pages and REST interface, for staff, operators, and users who want to see their own jobs."""

# Any other name means that Python found this folder in the current directory or on PYTHONPATH, so the package could be
# loaded twice, under two names.
if __name__ != "reprise.web":
    raise ImportError("this is reprise.web: import it by that name")
