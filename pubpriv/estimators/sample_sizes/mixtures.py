"""Rows required by theorems on separated mixtures.

Bie, Kamath and Singhal 2022 (BKS), theorems C.23, C.24, C.28 and C.29 with lemma C.7; and Kamath, Sheffet, Singhal and
Ullman 2019 (KSSU), lemma 4.2 and theorems 4.3 and 5.2, without public rows. Lemmas C.7 and 4.2 print constants; the
others are taken as 1.
"""

import math

from pubpriv.estimators.sample_sizes.terms import logarithm

_EXPONENT = 0.1
"""a of KSSU's 1-cluster algorithm (theorem 3.2), any small constant; 0.1 is the paper's choice."""

_FACTOR = 5
"""c: RPGMP looks for 5-terrific balls."""


def frequencies(k: int, weight: float, alpha: float, beta: float) -> float:
    """Evaluate lemma C.7: max(12 / w, 405 k^2 / (2 alpha^2)) ln(2 k / beta) rows determine every weight well enough."""
    return max(12 / weight, 405 * k**2 / (2 * alpha**2)) * math.log(2 * k / beta)


def approx_mixture(
    scarce: bool, d: int, k: int, weight: float, epsilon: float, delta: float, alpha: float, beta: float
) -> float:
    """Evaluate theorem C.23 (few public rows: algorithms 3 to 7) or C.28 (ample: 8 to 10), under (epsilon, delta)-DP.

    d^2 ln(k / beta) / (w alpha^2) + (d^2 log(k / delta) + d log^1.5(k / delta)) L / (w alpha epsilon), with L =
    polylog(d, k / beta, 1 / alpha, sqrt(k) / epsilon, ln(k / delta)); C.23 adds
    d^1.5 k^2.5 log(k / delta) / epsilon.
    """
    lost = math.log(k / delta)
    slow = logarithm(d * k / (alpha * beta * epsilon))
    learnt = (d**2 * lost + d * math.pow(lost, 1.5)) * slow / (weight * alpha * epsilon)
    return _sampled(d, k, weight, alpha, beta) + learnt + scarce * _split(d, k) * lost / epsilon


def zcdp_mixture(
    scarce: bool,
    d: int,
    k: int,
    weight: float,
    rho: float,
    alpha: float,
    beta: float,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Evaluate theorem C.24 (scarce public rows: algorithms 3 to 7) or C.29 (ample: 8 to 10), under rho-zCDP.

    d^2 ln(k / beta) / (w alpha^2) + d^2 polylog(d k / (alpha beta rho)) / (w alpha sqrt(rho)). C.24 adds
    d log(d k log(R) / (alpha beta rho)) / (w alpha sqrt(rho)), d^1.5 k^2.5 / sqrt(rho), and the cost of bounds K and R.

    Args:
        scarce: whether to use C.24; otherwise C.29.
        d: number of columns.
        k: number of components.
        weight: smallest weight, w.
        rho: rho of zCDP.
        alpha: total variation error.
        beta: probability of failure.
        bounds: (K, R) of C.24, with I <= Sigma_j <= K I and |mu_j| <= R; None: they cost nothing, as with a learner
            that needs none.
    """
    slow = logarithm(d * k / (alpha * beta * rho))
    learnt = d**2 * slow / (weight * alpha * math.sqrt(rho))
    if not scarce:
        return _sampled(d, k, weight, alpha, beta) + learnt
    distance = bounds[1] if bounds else math.e
    learnt += d * logarithm(d * k * logarithm(distance) / (alpha * beta * rho)) / (weight * alpha * math.sqrt(rho))
    found = _split(d, k) / math.sqrt(rho) + (_range_rows(d, k, rho, beta, *bounds) if bounds else 0.0)
    return _sampled(d, k, weight, alpha, beta) + learnt + found


def _range_rows(d: int, k: int, rho: float, beta: float, spread: float, distance: float) -> float:
    """Evaluate the cost of bounds K and R in theorem C.24, and with k = 1 in lemma A.24 (2), the learner of KLSU19."""
    wide = math.pow(d, 1.5) * math.sqrt(k * math.log(spread)) * logarithm(d * k * math.log(spread) / (rho * beta))
    return (wide + math.sqrt(d * k * math.log(distance * d * k / beta))) / math.sqrt(rho)


def public_rows(scarce: bool, d: int, k: int, weight: float, beta: float) -> float:
    """Evaluate m of the same theorems: ln(k / beta) / w if public rows are scarce, d ln(k / beta) / w if ample.

    Lemma C.7 is required of public rows too, with its printed constant.
    """
    frequent = 12 / weight * math.log(2 * k / beta)
    return frequent if scarce else max(frequent, d * math.log(k / beta) / weight)


def terrific_ball(d: int, weight: float, epsilon: float, delta: float, beta: float, scales: float) -> float:
    """Evaluate KSSU lemma 4.2, with its printed constant: private rows below which no ball is found to split a mixture.

    t >= (1000 c^2 / epsilon) n^a sqrt(d) log(n d / beta) log(1 / delta) log log(U / L) with t = n w / 2, c = 5 and
    a = 0.1, solved for n. Every call of the recursion is given epsilon and delta anew, so the mixture costs more.

    Args:
        d: number of columns.
        weight: smallest weight, w.
        epsilon: epsilon of one call of the 1-cluster algorithm.
        delta: delta of one such call.
        beta: probability of failure.
        scales: U / L, the largest over the smallest radius of the search.
    """
    fixed = 1000 * _FACTOR**2 / epsilon * math.sqrt(d) * math.log(1 / delta) * math.log(math.log(scales)) * 2 / weight
    n = fixed
    while True:  # the right side grows as n^0.1: this converges in a few dozen steps
        more = fixed * math.pow(n, _EXPONENT) * math.log(n * d / beta)
        if abs(more - n) <= 1e-9 * n:
            return more
        n = more


def kssu_mixture(
    d: int, k: int, weight: float, epsilon: float, delta: float, alpha: float, beta: float, bounds: float
) -> float:
    """Evaluate KSSU theorem 1.1 with poly(k) = k^9.06 as in theorem 4.3: RPGMP and PGME, without public rows.

    (d^2 / (alpha^2 w) + d^2 / (alpha w epsilon) + k^9.06 d^1.5 / (w epsilon)) L, with L = polylog(d k R (sigma_max /
    sigma_min) / (alpha beta epsilon delta)); the terms of theorem 4.3 of lower order in d are left out.

    Args:
        d: number of columns.
        k: number of components.
        weight: smallest weight, w.
        epsilon: epsilon of the guarantee.
        delta: delta of the guarantee.
        alpha: error of each component.
        beta: probability of failure.
        bounds: R sigma_max / sigma_min.
    """
    slow = logarithm(d * k * bounds / (alpha * beta * epsilon * delta))
    return (d**2 / alpha**2 + d**2 / (alpha * epsilon) + math.pow(k, 9.06) * math.pow(d, 1.5) / epsilon) / weight * slow


def aggregated_mixture(
    d: int, k: int, weight: float, epsilon: float, delta: float, alpha: float, bounds: float
) -> float:
    """Evaluate KSSU theorem 5.2: sample and aggregate, for spherical components.

    (sqrt(k d) + k^1.5) / epsilon log^2(1 / delta) 2^(log* (sqrt(d) R sigma_max / (alpha sigma_min)))
    (d^3 / w^2 + d / (w alpha^2) + k^2 / alpha^2); `bounds` is R sigma_max / sigma_min.
    """
    blocks = (math.sqrt(k * d) + math.pow(k, 1.5)) / epsilon * math.log(1 / delta) ** 2
    blocks *= 2.0 ** _iterated_logarithm(math.sqrt(d) * bounds / alpha)
    return blocks * (d**3 / weight**2 + d / (weight * alpha**2) + k**2 / alpha**2)


def _split(d: int, k: int) -> float:
    """Evaluate d^1.5 k^2.5: the cost of private principal components of all groups."""
    return math.pow(d, 1.5) * math.pow(k, 2.5)


def _sampled(d: int, k: int, weight: float, alpha: float, beta: float) -> float:
    return d**2 * math.log(k / beta) / (weight * alpha**2)


def _iterated_logarithm(value: float) -> int:
    """Compute log*: how many times the binary logarithm is taken until 1 is reached."""
    return 0 if value <= 1 else 1 + _iterated_logarithm(math.log2(value))
