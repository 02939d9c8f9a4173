# SPDX-License-Identifier: Apache-2.0
"""The matcher: what a submitted job is, which tuned job it is like, and what it gets for that."""

if __name__ != "reprise.matcher":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.matcher: import it by that name")
