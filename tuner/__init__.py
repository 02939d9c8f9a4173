# SPDX-License-Identifier: Apache-2.0
"""The tuner: campaigns that search for a component's best parametrization through Slurm and fill the database."""

if __name__ != "reprise.tuner":  # the root is on the module search path; modules would be loaded twice
    raise ImportError("this is reprise.tuner: import it by that name")
