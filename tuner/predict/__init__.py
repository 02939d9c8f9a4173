# SPDX-License-Identifier: Apache-2.0
"""Prediction of a setting's run time from trials of other configurations (Agarwal et al. 2019: Predict and PrAct).

`training_rows` collects trials as training data, `boosted_model` learns from them and measures its accuracy,
`accuracy_gate` decides whether the accuracy suffices, and `predicted_search` searches for the best setting of a
configuration that was never run.
"""
