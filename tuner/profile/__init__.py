# SPDX-License-Identifier: Apache-2.0
"""Profile of an application from one run under the witness, and the possible gain of each component."""
