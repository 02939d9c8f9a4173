# SPDX-License-Identifier: Apache-2.0
"""The tuner, which searches for a component's best parametrization with trials in Slurm, and stores the result."""

if __name__ != "reprise.tuner":  # under the name `tuner`, modules would be loaded twice
    raise ImportError("this is reprise.tuner: import it by that name")
