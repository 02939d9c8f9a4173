# SPDX-License-Identifier: Apache-2.0
"""Several components tuned together, on one application."""
