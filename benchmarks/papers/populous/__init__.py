"""The Private Populous Estimator of Arbas, Ashtiani and Liaw 2023 (AAL), in simulation only.

Rows are cut into blocks, and a non-private learner learns each. If most blocks agree, one of their answers, or the
average of all, is released with noise of its own shape. `driver` has the order, and the reason why no real table is
accepted; `_blocks` what is learnt, `_closeness` which blocks agree, `_agreement` the test and the weights, `_masks` the
noise and its price, `plan` what is fixed before a row is seen, `_as_printed` the paper's own algorithm.
"""
