# SPDX-License-Identifier: Apache-2.0
"""The matcher, which identifies a submitted job, finds similar tuned jobs, and decides on the job's settings."""

if __name__ != "reprise.matcher":  # imported from the current directory or PYTHONPATH under another name
    raise ImportError("this is reprise.matcher: import it by that name")
