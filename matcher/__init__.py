# SPDX-License-Identifier: Apache-2.0
"""The matcher: identify a submitted job, find the tuned jobs that it is similar to, and decide on its settings."""

if __name__ != "reprise.matcher":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.matcher: import it by that name")
