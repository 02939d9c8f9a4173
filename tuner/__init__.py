# SPDX-License-Identifier: Apache-2.0
"""The tuner: campaigns that search for a component's best parametrization through Slurm and fill the database."""

if __name__ != "reprise.tuner":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.tuner: import it by that name")
