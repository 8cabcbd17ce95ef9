"""The most that a run of the paper's algorithms may ask, and the price of each question, from public facts."""

from dataclasses import dataclass
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram, Question
from pubpriv.data.regions import Cells
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse, worth_of
from pubpriv.estimators.mixture.rounds import measuring_rounds, round_question
from pubpriv.privacy.budgets import Purse, percent

_SHARES = {"pca": percent(12), "query": percent(13)}
"""Shares of the budget for all levels of the tree together; component estimation has the rest."""


@public_value
@dataclass(frozen=True)
class _LevelAsks:
    """Questions of one level of the tree: principal components of its groups (None: all of R^d), and one Q_priv."""

    pca: Ask | None
    query: Ask


@public_value
@dataclass(frozen=True)
class BksPlan(Plan):
    """The questions of a run.

    A level that released answers make unnecessary is not asked, and its share is not charged.

    Attributes:
        n_components: k.
        levels: levels of the tree, at most k - 1: a level that splits nothing is the last one, and so is reaching k
            groups.
        rounds: the measuring rounds.
    """

    n_components: int
    levels: tuple[_LevelAsks, ...]
    rounds: tuple[Ask, ...]

    @property
    def count_sd(self) -> float:
        """Noise sd of one count of Q_priv: two counts change, so (sd of one)^2 = 2 / mu^2; 0 if it is not asked."""
        rhos = [level.query.rho for level in self.levels]
        return min(rhos) ** -0.5 if rhos else 0.0

    @classmethod
    def of(cls, purse: Purse, n: int, d: int, k: int, levels: int) -> "BksPlan":
        """Make the plan of a run on n rows of d columns, with `levels` levels of private splits.

        The share of the tree is divided equally over its levels; if d <= k, principal components are not asked for.
        """
        frames, radii = (Frame((0.0,) * d),) * k, (1.0,) * k
        groups = Cells(frames, (0.0,) * k)
        shells = Cells(frames * 3, (0.0,) * (3 * k))

        def pca(ask: Ask) -> Question:
            return LiftedGram.second_moment(groups, frames, radii, ask.price)

        def query(ask: Ask) -> Question:
            return Counts.priced(shells, ask.price)

        def measure(ask: Ask) -> Question:
            return round_question("full", groups, frames, ask)

        blanks = {"pca": pca, "query": query}
        steps = [step for step in _SHARES if step == "query" or d > k]
        shares: dict[str, tuple[Fraction, Blank]] = {
            f"level-{i}/{step}": (_SHARES[step] / levels, blanks[step]) for i in range(1, levels + 1) for step in steps
        }
        left = 1 - sum((share for share, _ in shares.values()), Fraction(0))
        shares |= measuring_rounds(left, worth_of(purse, measure, Fraction(1)), d, n / k, "full", measure)
        asks = split_purse(purse, "mixture", shares)
        return cls(
            asks=tuple(asks.values()),
            n_components=k,
            levels=tuple(
                _LevelAsks(asks.get(f"level-{i}/pca"), asks[f"level-{i}/query"]) for i in range(1, levels + 1)
            ),
            rounds=tuple(asks[name] for name in ("round-1", "round-2") if name in asks),
        )
