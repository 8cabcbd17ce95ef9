"""Compute what theorems C.23, C.24, C.28 and C.29 require of the data before they promise anything.

Rows come from `sample_sizes.mixtures`. Printed constants are used for separation (proof of theorem C.20), condition 2,
lemma C.7, and the noise of a private count (n w / 1280, proof of theorem C.20), the latter for the noise that the run
adds. C.24 is evaluated without its bounds K and R, which the learner of this package does not need.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from pubpriv.estimators.sample_sizes import mixtures
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA
from pubpriv.privacy.budgets import ApproximateDP, Budget

_SEPARATION = 103.0
"""Distance of projected means in the proof of theorem C.20, divided by sigma sqrt(ell ln(N ell / beta))."""


@dataclass(frozen=True)
class _Requirement:
    """Least values that the theorem requires.

    Attributes:
        theorem: C.23, C.24 (scarce) or C.28, C.29 (ample).
        separation: distance of means, divided by the larger top standard deviation.
        columns: d, from condition 2, for round components.
        public_rows: number of public rows, m.
        private_rows: number of private rows, n.
    """

    theorem: str
    separation: float
    columns: int
    public_rows: int
    private_rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the values for diagnostics, with the assumptions."""
        return asdict(self) | {"alpha": ALPHA, "beta": BETA, "unknown_constants": 1}

    def text(self) -> str:
        """Return one sentence, for a plan."""
        return (
            f"theorem {self.theorem} asks for means {self.separation:,.0f} standard deviations apart, {self.columns:,} "
            f"columns, {self.public_rows:,} public and {self.private_rows:,} private rows (its unknown constants taken "
            "as 1); it promises nothing below that"
        )

    def unmet(self, n: int, m: int, d: int, k: int, separation: float | None) -> str | None:
        """Return one sentence on what is missing, or None if nothing is.

        Args:
            n: number of private rows.
            m: number of public rows.
            d: number of columns.
            k: number of components; with one there is no separation.
            separation: separation of the released means; None: unknown.
        """
        known: list[tuple[str, float | None, float]] = [
            ("columns", d, self.columns),
            ("public rows", m, self.public_rows),
            ("private rows", n, self.private_rows),
        ]
        if k > 1:
            known.append(("standard deviations between means", separation, self.separation))
        missing = [
            f"{asked:,.0f} {name}" + ("" if have is None else f" (there are {have:,.0f})")
            for name, have, asked in known
            if have is None or have < asked
        ]
        if not missing:
            return None
        return f"theorem {self.theorem} promises nothing here: it asks for at least {', '.join(missing)}"


def requirement(
    scarce: bool, n: int, m: int, d: int, k: int, weight: float, budget: Budget, rho: float, count_sd: float
) -> _Requirement:
    """Compute what the theorem for this method and this kind of budget requires.

    Args:
        scarce: whether algorithms 3 to 7 run; otherwise 8 to 10.
        n: number of private rows of the run; required separation and columns grow with its logarithm.
        m: number of public rows.
        d: number of columns.
        k: number of components.
        weight: smallest weight, w.
        budget: gives kind, epsilon and delta.
        rho: mu^2 / 2 of the method's share.
        count_sd: noise sd of one count of Q_priv; 0 if it is not asked.
    """
    total, size, accuracy = n + m, (d, k, weight), (ALPHA, BETA)
    least = mixtures.frequencies(k, weight, *accuracy)
    least = max(least, 1280 / weight * count_sd * math.sqrt(2 * math.log(6 * k / BETA)))
    if isinstance(budget, ApproximateDP):
        theorem = "C.23" if scarce else "C.28"
        rows = mixtures.approx_mixture(scarce, *size, float(budget.epsilon), float(budget.delta), *accuracy)
    else:
        theorem = "C.24" if scarce else "C.29"
        rows = mixtures.zcdp_mixture(scarce, *size, rho, *accuracy)
    return _Requirement(
        theorem,
        _SEPARATION * math.sqrt(k * math.log(total * k / BETA)),
        math.ceil(8 * math.log(total * k / BETA) ** 2),
        math.ceil(mixtures.public_rows(scarce, *size, BETA)),
        math.ceil(max(least, rows)),
    )
