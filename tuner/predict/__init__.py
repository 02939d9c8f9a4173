# SPDX-License-Identifier: Apache-2.0
"""Prediction of a setting's run time from trials of other configurations (Agarwal et al. 2019: Predict and PrAct).

`rows` collects trials, `model` learns from them and measures its accuracy, `gate` decides whether that is enough,
`search` looks for the best setting of a configuration that was never run.
"""
