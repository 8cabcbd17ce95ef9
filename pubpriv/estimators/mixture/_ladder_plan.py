"""Plan the questions of a ladder of models, paid from the last round's share in a plan without a ladder.

All shares are fixed beforehand by public facts. There is one plan for each number of components that may be chosen; the
released scores decide which one is followed. Up to that choice, all plans ask the same at the same price.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from pubpriv.data.codec import public_value
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse, worth_of
from pubpriv.estimators.mixture._plan import Blanks, MixturePlan
from pubpriv.estimators.mixture.rounds import noise_of, spectral_noise
from pubpriv.privacy.budgets import Purse, percent

_RUNGS = 2, 3, 4, 8, 16
"""Numbers of components that are tried: more of them would leave less of the budget to each."""

_MODELS = percent(44)
"""Share of the rounds of all rungs; each rung's part is proportional to its components, so their noise is equal."""

_SCORE = Fraction(25, 1000)
_RANK = _SCORE / 2
"""Shares of the score of each rung, and of each comparison of two models: what they take, the rounds have not."""

_STARTS, _ROUNDS = 2, 2
"""Starts and rounds of each rung: `public_model.rung_starts` makes this many starts, each with this many rounds."""

_FIRST = Fraction(1, 4)
"""First one's part of what is left for the two measuring rounds."""

_CROWD = Fraction(38, 10)
"""As `rounds.CROWD`, for the ladder's many small steps: in a pure run, the last round keeps 0.3 of it or more."""

_LOUDEST = 1.5
"""A number of components is tried only if the spectral noise of its rounds is at most this many variances, ..."""

_PUBLIC_ROWS = 4
"""... and if there are at least this many public rows per component."""

_SEVERAL, _FEWEST = 8, 6
"""Components of the public model whose cells are counted, and least public rows for each of them."""


@public_value
@dataclass(frozen=True)
class Rung:
    """The questions about one number of components.

    Attributes:
        components: number of components, k.
        starts: rounds from each public start.
        pick: compares the second start's model with the first's.
        score: scores the model with the columns' steps blurred.
        rank: compares the model with the best of fewer components; None: it is the first.
    """

    components: int
    starts: tuple[tuple[Ask, ...], ...]
    pick: Ask
    score: Ask
    rank: Ask | None


@public_value
@dataclass(frozen=True)
class LadderPlan(Plan):
    """The questions of a ladder that ends with a certain number of components.

    Attributes:
        rungs: from few components to many.
        rounds: the measuring rounds.
        noise: predicted spectral noise of a whitened covariance in the last round, for components of equal weight.
    """

    rungs: tuple[Rung, ...]
    rounds: tuple[Ask, ...]

    noise: float

    @classmethod
    def of(cls, case: "Ladder", chosen: int) -> "LadderPlan":
        """Make the plan of a ladder that ends with `chosen` components: one of the rungs, or as many as lie apart."""
        shares: dict[str, tuple[Fraction, Blank]] = {}
        for k in case.rungs:
            blanks = case.blanks(k)
            for name in chain(*_rounds(k)):
                shares[name] = case.share(k), blanks.round
            shares[f"ladder/{k}/pick"] = _RANK, blanks.score
            shares[f"ladder/{k}/score"] = _SCORE, blanks.score
            if k > case.rungs[0]:
                shares[f"ladder/{k}/rank"] = _RANK, blanks.score
        blanks = case.blanks(chosen)
        left = 1 - sum((share for share, _ in shares.values()), Fraction(0))
        last = {"ladder/round-1": (_FIRST * left, blanks.round), "ladder/round-2": ((1 - _FIRST) * left, blanks.last)}
        shares |= last if chosen > case.apart else {"ladder/round-1": (left, blanks.last)}
        asks = split_purse(case.purse, "mixture", shares, _CROWD)
        return cls(
            asks=tuple(asks.values()),
            rungs=tuple(
                Rung(
                    k,
                    tuple(tuple(asks[name] for name in names) for names in _rounds(k)),
                    asks[f"ladder/{k}/pick"],
                    asks[f"ladder/{k}/score"],
                    asks.get(f"ladder/{k}/rank"),
                )
                for k in case.rungs
            ),
            rounds=tuple(asks[name] for name in ("ladder/round-1", "ladder/round-2") if name in asks),
            noise=noise_of([*asks.values()][-1], case.d, case.n / chosen, case.covariance_type),
        )


@dataclass(frozen=True)
class Ladder:
    """What is known about a ladder before anything is asked.

    Attributes:
        purse: purse of the last round in a plan without a ladder.
        n: number of private rows.
        d: number of columns.
        apart: number of components that lie apart.
        rungs: numbers of components to try, all above `apart`.
        covariance_type: covariance type of the rounds.
    """

    purse: Purse
    n: int
    d: int
    apart: int
    rungs: tuple[int, ...]
    covariance_type: str

    @classmethod
    def of(cls, purse: Purse, n: int, m: int, d: int, apart: int, most: int, covariance_type: str) -> "Ladder":
        """Choose the numbers of components worth trying with n private rows of d columns and m public rows.

        Args:
            purse: purse of the last round in a plan without a ladder.
            n: number of private rows.
            m: number of public rows.
            d: number of columns.
            apart: number of components that lie apart.
            most: most components to look for.
            covariance_type: as in `MixtureSettings`.
        """
        known = tuple(k for k in _RUNGS if apart < k <= most and m >= _PUBLIC_ROWS * k)
        while known:
            case = cls(purse, n, d, apart, known, covariance_type)
            k = known[-1]  # all rungs have equal noise, and dropping the last one lowers it
            rho = worth_of(purse, case.blanks(k).round, _CROWD)(float(case.share(k)))
            if spectral_noise(rho, d, n / k, covariance_type) <= _LOUDEST:
                return case
            known = known[:-1]
        return cls(purse, n, d, apart, (), covariance_type)

    def plan(self, chosen: int) -> LadderPlan:
        """Make the plan of a ladder that ends with `chosen` components: one of the rungs, or as many as lie apart."""
        return LadderPlan.of(self, chosen)

    def share(self, k: int) -> Fraction:
        """Give the share of the ladder's budget for each round of k components."""
        return _MODELS * Fraction(k, sum(self.rungs)) / (_STARTS * _ROUNDS)

    def blanks(self, k: int) -> Blanks:
        """Give the makers of questions about k components."""
        return Blanks(self.d, k, self.covariance_type, self.n)


def _rounds(k: int) -> list[list[str]]:
    """Name the rounds of k components, for each start."""
    numbers = range(1, _ROUNDS + 1)
    return [[f"ladder/{k}/start-{start}/round-{number}" for number in numbers] for start in range(1, _STARTS + 1)]


def plan_with_ladder(
    purse: Purse,
    n: int,
    d: int,
    k: int,
    regime: str,
    covariance_type: str,
    most: int,
    groups: int,
    m: int,
    climbs: bool,
    coverage: tuple[str, ...] = (),
) -> tuple[MixturePlan, Ladder | None]:
    """Make the plan of a run, and the ladder that may be tried above k components; None: no ladder.

    Args:
        purse: see `MixturePlan.of`, also for arguments without a description here.
        n: number of private rows.
        d: number of columns.
        k: number of components.
        regime: see `MixturePlan.of`.
        covariance_type: see `MixturePlan.of`.
        most: see `MixturePlan.of`.
        groups: see `MixturePlan.of`.
        m: number of public rows.
        climbs: whether to look for the number of components that predicts best.
        coverage: see `MixturePlan.of`.
    """
    sizes = purse, n, d, k, regime, covariance_type, most, groups, coverage
    if climbs and most:
        plan = MixturePlan.of(*sizes, several=min(_SEVERAL, m // _FEWEST))
        if plan.explained is not None:
            part = purse.part(plan.rounds[-1].price)
            ladder = Ladder.of(part, n, m, d, k, most, covariance_type)
            if ladder.rungs:
                return plan, ladder
    return MixturePlan.of(*sizes), None
