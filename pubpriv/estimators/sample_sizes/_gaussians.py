"""Rows required by theorems on one Gaussian: Bie, Kamath and Singhal 2022 (BKS), lemma A.24, B.2, B.5 and B.12.

None of these theorems prints a constant: all are taken as 1. alpha is the total variation error and beta the
probability of missing it. The first term of every sum is what learning without privacy requires.
"""

import math

from pubpriv.estimators.sample_sizes.terms import logarithm


def clipped_mean(d: int, rho: float, alpha: float, beta: float) -> float:
    """Evaluate theorem B.2 (1), in the main text 2.3: rho-zCDP by clip-and-noise around one public row.

    (d + log(1 / beta)) / alpha^2 + d log^1.5(1 / beta) / (alpha sqrt(rho)).
    """
    lost = math.log(1 / beta)
    return (d + lost) / alpha**2 + d * math.pow(lost, 1.5) / (alpha * math.sqrt(rho))


def selected_mean(d: int, epsilon: float, alpha: float, beta: float) -> float:
    """Evaluate theorem B.2 (2): epsilon-DP by hypothesis selection (BKSW19) around one public row, in exponential time.

    (d + log(1 / beta)) / alpha^2 + (d log(d log(1 / beta) / alpha) + log(1 / beta)) / (alpha epsilon).
    """
    lost = math.log(1 / beta)
    return (d + lost) / alpha**2 + (d * logarithm(d * lost / alpha) + lost) / (alpha * epsilon)


def squares_mean(d: int, epsilon: float, alpha: float, beta: float) -> float:
    """Evaluate theorem B.2 (3): epsilon-DP by sums of squares (HKM22) around one public row.

    (d + log(1 / beta)) (1 / alpha^2 + 1 / (alpha^2 epsilon)).
    """
    return (d + math.log(1 / beta)) / alpha**2 * (1 + 1 / epsilon)


def unbounded_gaussian(d: int, epsilon: float, delta: float, alpha: float, beta: float) -> float:
    """Evaluate lemma A.24 (1): the (epsilon, delta) learner of Ashtiani and Liaw (AL21), which needs no public rows.

    (d^2 + log(1 / beta)) / alpha^2 + (d^2 sqrt(log(1 / delta)) + d log(1 / delta)) L / (alpha epsilon), with L =
    polylog(d, 1 / alpha, 1 / beta, 1 / epsilon, log(1 / delta)).
    """
    lost = math.log(1 / delta)
    slow = logarithm(d * lost / (alpha * beta * epsilon))
    return _non_private(d, alpha, beta) + (d**2 * math.sqrt(lost) + d * lost) * slow / (alpha * epsilon)


def preconditioned_gaussian(d: int, rho: float, alpha: float, beta: float) -> float:
    """Evaluate theorem B.5 (1): algorithm 2 under rho-zCDP, with d + 1 public rows.

    (d^2 + log(1 / beta)) / alpha^2 + d^2 polylog(d / (alpha beta rho)) / (alpha sqrt(rho)).
    """
    slow = logarithm(d / (alpha * beta * rho))
    return _non_private(d, alpha, beta) + d**2 * slow / (alpha * math.sqrt(rho))


def preconditioned_pure(d: int, epsilon: float, alpha: float, beta: float, gamma: float = 0.0) -> float:
    """Evaluate theorem B.5 (2), and B.12 (2) where gamma > 0: epsilon-DP by hypothesis selection, in exponential time.

    (d^2 + log(1 / beta)) / alpha^2 + d^2 log(d / (alpha beta (1 - gamma))) / (alpha epsilon).
    """
    slow = logarithm(d / (alpha * beta * (1 - gamma)))
    return _non_private(d, alpha, beta) + d**2 * slow / (alpha * epsilon)


def far_gaussian(d: int, rho: float, alpha: float, beta: float, gamma: float) -> float:
    """Evaluate theorem B.12 (1): as B.5 (1), if the public rows' law is at total variation distance gamma.

    Adds d log(d / (alpha beta rho (1 - gamma))) / (alpha sqrt(rho)) and
    d^1.5 polylog(d / (beta rho (1 - gamma))) / sqrt(rho).
    """
    near = 1 - gamma
    more = d * logarithm(d / (alpha * beta * rho * near)) / alpha + math.pow(d, 1.5) * logarithm(
        d / (beta * rho * near)
    )
    return preconditioned_gaussian(d, rho, alpha, beta) + more / math.sqrt(rho)


def _non_private(d: int, alpha: float, beta: float) -> float:
    return (d**2 + math.log(1 / beta)) / alpha**2
