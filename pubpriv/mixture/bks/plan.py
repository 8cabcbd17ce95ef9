"""What a run of the paper's algorithms will ask at most, and what each question may cost, from public facts."""

from dataclasses import dataclass
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram, Question
from pubpriv.data.regions import Cells
from pubpriv.mixture.bks.constants import SHARES
from pubpriv.mixture.plan import FIRST_ROUND, GRAM_SHARES, TWO_ROUNDS_BELOW, spectral_noise
from pubpriv.plans import Plan, split_purse
from pubpriv.privacy.budgets import Purse


@public_value
@dataclass(frozen=True)
class BksPlan(Plan):
    """Questions of a run.

    A level that released answers make needless is not asked, and its share is not charged.

    Attributes:
        n_components: k.
        levels: of the tree, at most k - 1: each level that splits nothing is the last, and k groups end it.
    """

    n_components: int
    levels: int


def make_plan(purse: Purse, n: int, d: int, k: int, levels: int) -> BksPlan:
    """The plan of a run on n rows of d columns, with `levels` levels of private splits.

    The share of the tree is split evenly over its levels; where d <= k there are no principal components to find.
    """
    steps = [step for step in SHARES if step == "query" or d > k]
    shares = {f"level-{i}/{step}": SHARES[step] / levels for i in range(1, levels + 1) for step in steps}
    left = 1 - sum(shares.values(), Fraction(0))
    if spectral_noise(float(FIRST_ROUND * left) * purse.rho, d, n / k) < TWO_ROUNDS_BELOW:
        shares |= {"round-1": FIRST_ROUND * left, "round-2": (1 - FIRST_ROUND) * left}
    else:
        shares |= {"round-1": left}
    return BksPlan(split_purse(purse, "mixture", shares), k, levels)


def rehearsal(plan: BksPlan, d: int) -> list[Question]:
    """Questions of the largest sizes and of the prices of `plan`, about nothing: what `Curator.rehearse` checks."""
    k = plan.n_components
    frames, radii = (Frame((0.0,) * d),) * k, (1.0,) * k
    groups = Cells(frames, (0.0,) * k)
    shells = Cells(frames * 3, (0.0,) * (3 * k))
    questions: list[Question] = []
    for ask in plan.asks:
        if ask.label.endswith("/pca"):
            questions.append(LiftedGram.second_moment(groups, frames, radii, ask.price))
        elif ask.label.endswith("/query"):
            questions.append(Counts.priced(shells, ask.price))
        else:
            questions.append(LiftedGram.priced(groups, frames, radii, ask.price, GRAM_SHARES))
    return questions


def count_sd(plan: BksPlan) -> float:
    """Noise sd of one count of Q_priv: two counts change, so (sd of one)^2 = 2 / mu^2; 0 where none is asked."""
    prices = [float(ask.price) for ask in plan.asks if ask.label.endswith("/query")]
    return (2 / min(prices)) ** 0.5 if prices else 0.0
