# SPDX-License-Identifier: Apache-2.0
"""Profile an application in one run with the witness loaded, and estimate the possible gain of each component."""
