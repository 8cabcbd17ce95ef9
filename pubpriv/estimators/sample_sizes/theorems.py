"""The theorems about each estimator, and the rows that they require: what `pubpriv plan` shows."""

import math
from dataclasses import dataclass

from pubpriv.estimators.sample_sizes import _gaussians, mixtures, populous
from pubpriv.estimators.sample_sizes.terms import Terms

_BOUNDS = 1e6
"""K, R, U / L and R sigma_max / sigma_min in theorems that need bounds beforehand; they enter by their logarithms."""

_GAMMA = 0.5
"""Distance of the public rows' law at which theorem B.12 is evaluated."""

_ONE = "taken as 1"
_LABELLED = "printed; blocks are taken to be labelled"


@dataclass(frozen=True)
class SampleSize:
    """What a theorem requires.

    Attributes:
        theorem: its number, with the paper: BKS, KSSU or AAL.
        way: the algorithm, and the kind of privacy of the figure.
        public_rows: least m; None: the theorem needs none, or any number.
        private_rows: least n.
        constants: whether the paper prints its constants.
    """

    theorem: str
    way: str
    public_rows: int | None
    private_rows: int
    constants: str


def for_mean(d: int, terms: Terms) -> tuple[SampleSize, ...]:
    """List theorem B.2: a mean whose covariance is known, with one public row."""
    known = d, terms.epsilon, terms.alpha, terms.beta
    if terms.rho is None:
        return (
            _size("BKS B.2 (2)", "hypothesis selection, exponential time, pure", 1, _gaussians.selected_mean(*known)),
            _size("BKS B.2 (3)", "sums of squares, pure", 1, _gaussians.squares_mean(*known)),
        )
    rows = _gaussians.clipped_mean(d, terms.rho, terms.alpha, terms.beta)
    return (_size("BKS B.2 (1)", "clip-and-noise, zCDP", 1, rows),)


def for_gaussian(d: int, terms: Terms) -> tuple[SampleSize, ...]:
    """List theorems B.5 and B.12, with d + 1 public rows; lemma A.24 (1) and theorem 6.2 of AAL, without any."""
    known = terms.alpha, terms.beta
    if terms.rho is None or terms.delta is None:
        near = _gaussians.preconditioned_pure(d, terms.epsilon, *known)
        far = _gaussians.preconditioned_pure(d, terms.epsilon, *known, _GAMMA)
        way = "hypothesis selection, exponential time, pure"
        return (
            _size("BKS B.5 (2)", way, d + 1, near),
            _size("BKS B.12 (2)", f"{way}, public rows {_GAMMA} off", d + 1, far),
        )
    near = _gaussians.preconditioned_gaussian(d, terms.rho, *known)
    far = _gaussians.far_gaussian(d, terms.rho, *known, _GAMMA)
    learnt = _gaussians.unbounded_gaussian(d, terms.epsilon, terms.delta, *known)
    return (
        _size("BKS B.5 (1)", "algorithm 2, zCDP", d + 1, near),
        _size("BKS B.12 (1)", f"algorithm 2, zCDP, public rows {_GAMMA} off", d + 1, far),
        _size("BKS A.24 (1)", "Ashtiani and Liaw, (epsilon, delta)", None, learnt),
        _populous(d, 1, 1.0, terms),
    )


def for_mixture(d: int, k: int, weight: float, terms: Terms) -> tuple[SampleSize, ...]:
    """List theorems C.23, C.24, C.28 and C.29, with public rows; those of KSSU and AAL, without any.

    There are none for a pure budget.
    """
    if terms.rho is None or terms.delta is None:
        return ()
    size, both = (d, k, weight), (terms.epsilon, terms.delta)
    accuracy = terms.alpha, terms.beta
    found = []
    for scarce, way in ((True, "algorithms 3 to 7"), (False, "algorithms 8 to 10")):
        public = math.ceil(mixtures.public_rows(scarce, *size, terms.beta))
        bounds = (_BOUNDS, _BOUNDS) if scarce else None
        rows = mixtures.zcdp_mixture(scarce, *size, terms.rho, *accuracy, bounds)
        found.append(_size(f"BKS {'C.24' if scarce else 'C.29'}", f"{way}, zCDP", public, rows))
        rows = mixtures.approx_mixture(scarce, *size, *both, *accuracy)
        found.append(_size(f"BKS {'C.23' if scarce else 'C.28'}", f"{way}, (epsilon, delta)", public, rows))
    ball = mixtures.terrific_ball(d, weight, *both, terms.beta, _BOUNDS)
    whole = mixtures.kssu_mixture(*size, *both, *accuracy, _BOUNDS)
    aggregated = mixtures.aggregated_mixture(*size, *both, terms.alpha, _BOUNDS)
    return (
        *found,
        _size("KSSU 4.2", "one split of RPGMP, (epsilon, delta)", None, ball, "printed"),
        _size("KSSU 4.3", "RPGMP and PGME, (epsilon, delta)", None, whole),
        _size("KSSU 5.2", "sample and aggregate, spherical components, (epsilon, delta)", None, aggregated),
        _populous(*size, terms),
    )


def _populous(d: int, k: int, weight: float, terms: Terms) -> SampleSize:
    assert terms.delta is not None
    rows = populous.populous_mixture(d, k, weight, terms.epsilon, terms.delta, terms.alpha, terms.beta)
    return _size("AAL 6.2", "private populous estimator, (epsilon, delta)", None, rows, _LABELLED)


def _size(theorem: str, way: str, public: int | None, rows: float, constants: str = _ONE) -> SampleSize:
    return SampleSize(theorem, way, public, math.ceil(rows), constants)
