# SPDX-License-Identifier: Apache-2.0
"""What an application spends its time on, from one run under the witness, and what each component could gain."""
