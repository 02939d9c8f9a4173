# SPDX-License-Identifier: Apache-2.0
"""Profile an application in one run that loads reprise-witness.so, and estimate the possible gain of each component."""
