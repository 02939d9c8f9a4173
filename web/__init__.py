# SPDX-License-Identifier: Apache-2.0
"""Pages and REST over the database: for staff, for those who tune, and for users who look up their own jobs."""

if __name__ != "reprise.web":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.web: import it by that name")
