"""The Private Populous Estimator of Arbas, Ashtiani and Liaw 2023 (AAL), in simulation only.

Rows are cut into blocks, a learner without privacy learns each, and where most blocks agree one answer, or the average
of all, leaves under noise of its own shape. `driver` has the order and says why no real table is let in; `blocks` has
what is learnt, `closeness` who agrees with whom, `agreement` the test and the weights, `masks` the noise and its price,
`plan` what is fixed before a row is seen, `as_printed` the paper's own algorithm.
"""
