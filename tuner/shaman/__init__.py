# SPDX-License-Identifier: Apache-2.0
"""Import of SHAMan's unchanged component and experiment files as component files and campaigns of Reprise."""
