"""What theorems C.23, C.24, C.28 and C.29 ask of data before they promise anything.

Rows are those of `sample_sizes.mixtures`. Printed constants: separation (proof of theorem C.20), condition 2, lemma
C.7, and the noise of a private count (n w / 1280, proof of theorem C.20), here with the noise that the run adds. C.24
is evaluated without its bounds K and R, which the learner of this package does not need.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from pubpriv.estimators.sample_sizes import mixtures
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA
from pubpriv.privacy.budgets import ApproximateDP, Budget

_SEPARATION = 103.0
"""Distance of projected means in the proof of theorem C.20, over sigma sqrt(ell ln(N ell / beta))."""


@dataclass(frozen=True)
class _Requirement:
    """Least values that the theorem asks for.

    Attributes:
        theorem: C.23, C.24 (scarce) or C.28, C.29 (ample).
        separation: of means, over the larger top standard deviation.
        columns: d, from condition 2, for round components.
        public_rows: m.
        private_rows: n.
    """

    theorem: str
    separation: float
    columns: int
    public_rows: int
    private_rows: int

    def to_json(self) -> dict[str, Any]:
        """Return it for diagnostics, with what was assumed."""
        return asdict(self) | {"alpha": ALPHA, "beta": BETA, "unknown_constants": 1}

    def text(self) -> str:
        """Return one sentence, for a plan."""
        return (
            f"theorem {self.theorem} asks for means {self.separation:,.0f} standard deviations apart, {self.columns:,} "
            f"columns, {self.public_rows:,} public and {self.private_rows:,} private rows (its unknown constants taken "
            "as 1); it promises nothing below that"
        )

    def unmet(self, n: int, m: int, d: int, k: int, separation: float | None) -> str | None:
        """Return one sentence on what is missing, or None.

        Args:
            n: private rows.
            m: public rows.
            d: columns.
            k: components; one alone has no separation.
            separation: as released; None: unknown.
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
    """Say what the theorem asks for that covers this method and this kind of budget.

    Args:
        scarce: algorithms 3 to 7, else 8 to 10.
        n: private rows, of the run: separation and columns grow with their logarithm.
        m: public rows.
        d: columns.
        k: components.
        weight: smallest weight, w.
        budget: its kind, epsilon and delta.
        rho: mu^2 / 2 of the method's share.
        count_sd: noise sd of one count of Q_priv; 0 where none is asked.
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
