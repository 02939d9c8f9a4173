# SPDX-License-Identifier: Apache-2.0
"""Whether a rules file helps applications, which no benchmark of single collectives tells."""
