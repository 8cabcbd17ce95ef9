"""What a run for the targets `moments` and `auto` will ask, and what each question may cost; see `table_driver`."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask, Blank, split_purse
from pubpriv.estimators.gaussian.degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian.plan import LearnerPlan, round_shares, rounds_of, with_final
from pubpriv.estimators.gaussian.quantiles import Whole, count_question, quantile_question
from pubpriv.privacy.budgets import Purse

_QUANTILES = {"median": 0.5, "upper": 0.9, "reach": None}
"""Shares of the records that the quantiles of |w| are asked for; None: as many as noise allows."""

_PRICES = {"median": Fraction(1, 100), "upper": Fraction(1, 100), "reach": Fraction(4, 100)}
"""What each quantile takes of the budget."""

_COUNT_SHARE = Fraction(1, 100)
"""What the count of whole rows takes of the budget."""

_SCALE_SHARE, _SCALES_SHARE = Fraction(2, 100), Fraction(10, 100)
"""What the scale of a degenerate column takes of the budget; all of them together at most."""


@public_value
@dataclass(frozen=True)
class TablePlan(LearnerPlan):
    """Questions of `moments` or `auto`.

    Attributes:
        count: of whole rows.
        scales: of the degenerate columns, in their order; None where the user gave it.
        quantiles: name, share of the records and ask of each; see `_QUANTILES`.
    """

    count: Ask
    scales: tuple[Ask | None, ...]
    quantiles: tuple[tuple[str, float | None, Ask], ...]

    @property
    def decides(self) -> bool:
        """Whether the quantiles decide for a target: all of them are asked then."""
        return len(self.quantiles) == len(_QUANTILES)

    @property
    def reach(self) -> Ask:
        """The quantile of which as many records as noise allows are asked for."""
        return next(ask for _, share, ask in self.quantiles if share is None)


def table_plan(purse: Purse, n: int, layout: Layout, target: str) -> TablePlan:
    """The plan of `moments` or `auto`; `moments` asks for two quantiles, and so does `auto` where nothing is decided.

    Args:
        purse: of the run.
        n: private rows.
        layout: of the columns.
        target: as it was asked for.
    """
    d, regular, learnt = layout.dimension, len(layout.regular), layout.learnt
    shares: dict[str, tuple[Fraction, Blank]] = {}
    if regular:
        shares = round_shares(n, regular, purse.rho, Frame((0.0,) * d, ((0.0,) * d,) * regular))
    shares["count"] = _COUNT_SHARE, count_question
    for column in learnt:
        share = min(_SCALE_SHARE, _SCALES_SHARE / len(learnt))
        shares[_scale_name(column.index)] = share, partial(scale_question, layout, column, Whole(1.0, 0.0))
    decides = target == "auto" and not layout.degenerate  # degenerate columns are no Gaussian's
    names = list(_QUANTILES) if decides else ["upper", "reach"]
    blank = partial(quantile_question, Frame((0.0,) * d), 0.5, Whole(1.0, 0.0), 1.0)
    shares |= {f"quantile-{name}": (_PRICES[name], blank) for name in names}
    asks = split_purse(purse, "gaussian", with_final(shares, d))
    return TablePlan(
        asks=tuple(asks.values()),
        rounds=rounds_of(asks),
        final=asks["final"],
        count=asks["count"],
        scales=tuple(asks.get(_scale_name(column.index)) for column in layout.degenerate),
        quantiles=tuple((name, _QUANTILES[name], asks[f"quantile-{name}"]) for name in names),
    )


def _scale_name(index: int) -> str:
    return f"scale-{index + 1}"
