# SPDX-License-Identifier: Apache-2.0
"""The tuner: campaigns that search a component's best parametrization through Slurm and fill the database."""
