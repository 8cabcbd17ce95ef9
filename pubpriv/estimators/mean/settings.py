"""Settings of `estimate_mean`: what a user may choose."""

from dataclasses import dataclass
from typing import ClassVar

from pubpriv.estimators.gaussian.settings import DROP, MISSING
from pubpriv.estimators.public_rows import NO_PUBLIC
from pubpriv.estimators.settings import Grouped, setting


@dataclass(frozen=True)
class MeanSettings(Grouped):
    """Settings of `estimate_mean`, described there, as names and numbers.

    Attributes:
        words: values of `covariance` that are not file names.
        methods: methods that use public rows: the default first, then those to compare with.
        most_rounds: upper limit of `rounds`.
    """

    words: ClassVar[tuple[str, ...]] = ("auto", "identity", "unknown")
    methods: ClassVar[tuple[str, ...]] = ("two-step", "clip-and-noise", "coinpress", "hypotheses")
    most_rounds: ClassVar[int] = 50

    covariance: str = setting(
        "auto",
        file_or=words,
        planned=True,
        help="Covariance of a row: identity, a CSV file with the known matrix, unknown, or auto: identity unless the "
        "public rows contradict it, and then unknown",
    )
    method: str = setting(
        "two-step",
        choices=(*methods, NO_PUBLIC),
        planned=True,
        help="two-step; no-public, for where there are no public rows (approx budgets only); or, to compare with, "
        "clip-and-noise, coinpress or, in one or two columns, hypotheses",
    )
    missing: str = setting(
        DROP,
        choices=MISSING,
        planned=True,
        help="Rows that lack cells: estimate uses the cells that they have, and learns the covariance; drop leaves "
        "them out; auto: estimate where the covariance is learnt",
    )
    rounds: int = setting(2, least=1, most=most_rounds, planned=True, help="Rounds of coinpress")
    force: bool = setting(
        False,
        planned=True,
        help="Run even if the private rows can add little, or if the public rows contradict the covariance",
    )
