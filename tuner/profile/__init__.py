# SPDX-License-Identifier: Apache-2.0
"""Profile an application in one run under the witness, and estimate the possible gain of each component."""
