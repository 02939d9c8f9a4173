# SPDX-License-Identifier: Apache-2.0
"""How well jobs are recognised whose batch scripts other people wrote."""
