"""The questions of a run and the price of each, fixed before a private row is read.

All decisions use public facts: n, d, m, k, the budget and the regime found in the public rows. The driver executes
this object, and a run is priced from it without being run. A run that looks for k makes a second plan when it has found
k: both plans ask the same until then, and their prices have the same sum.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from pubpriv.data.balls import Cylinder
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import BoundedScore, Counts, JointCounts, LiftedGram, Moments, Question
from pubpriv.data.regions import Cells, NearestPoint
from pubpriv.data.uncovered import Uncovered
from pubpriv.estimators._far_out import far_share
from pubpriv.estimators._whole_rows import COUNT_SHARE, PURE_COUNT_SHARE, count_question
from pubpriv.estimators.asks import Ask, Blank, Plan, Worth, split_purse, worth_of
from pubpriv.estimators.mixture._far_points import blank_regions
from pubpriv.estimators.mixture._fit_regions import shells_about, shells_along, shells_inside
from pubpriv.estimators.mixture._outside import cut, hides_many, outside_end
from pubpriv.estimators.mixture._supercluster import Regime
from pubpriv.estimators.mixture.rounds import (
    CROWD,
    MOMENT_SHARES,
    UNTRUSTED,
    grain_for_rows,
    last_radius,
    louder,
    measuring_rounds,
    noise_of,
    round_question,
    settling_rounds,
    spectral_noise,
)
from pubpriv.privacy.budgets import Purse, percent

_GUARD = percent(3)
_FIT = percent(2)
"""Shares of the score that guards the public model, and of the two kinds of counts that test the fit."""

_FAR_COLUMNS = 250
"""Rows that columns take far out are counted in at most so many of all components: more would take longer than rounds.
"""

_PCA = percent(8)
"""Share for finding subspaces in which components lie apart: rounds take what it leaves."""

_SEARCH = percent(6)
"""Share for finding k, divided equally over the numbers of components that are tried: counts need little."""

SUPPORT, UNCOVERED, ABSENT = "public-support", "uncovered", "absent-component"
_COVERAGE = dict.fromkeys((SUPPORT, UNCOVERED, ABSENT), percent(2))
"""Shares of the questions about what the public rows have too much of, and what they lack; see `_coverage`."""

_VISIBLE = 0.05
"""Coverage questions are asked if this share of the private rows would exceed six sds of the noise."""

SURELY_FEW = 4.0
"""Public rows that lie apart are left out only if the count of private rows near them is this many noise sds below what
they represent; so the support question is asked only if they represent more rows than that."""

_COARSE = percent(7)
_EXPLAINED = percent(3)
"""Share of two kinds of counts about the first round, which decide whether a ladder of models is worth its price."""

TELLING = 0.5
"""Spectral noise in a component's covariance from which on its counts are no test, and of a first round from which on
they are not asked: the noise itself would be the misfit."""

_HOME = Fraction(1, 4)
"""Share of the last round for an additional round before it, if the round before still moved a component far."""

_EXPLORE, _STARTS = Fraction(1, 2), 3
"""Share of the rounds from several starts, of what the checks leave, and number of starts if components overlap."""

_QUICK, _QUICK_ROUNDS, _QUIET = (Fraction(1, 8), *map(percent, range(13, 51))), 3, 0.1
"""The first of these shares is taken in its place, and each start has so many rounds, if it leaves less spectral noise
in a round than the last number: then the starts find their components, and what is left is for the last round."""

_PICK = Fraction(15, 1000)
"""Share, of what the checks leave, of each score that compares the next start with the best one so far."""


@public_value
@dataclass(frozen=True)
class MixturePlan(Plan):
    """The questions of a run of `estimate_mixture`.

    Attributes:
        regime: see `Regime`.
        n_components: k, or the most that it may be while it is looked for.
        covariance_type: covariance type of the rounds.
        most: most components to look for; 0: k is known.
        noise: predicted spectral noise of a whitened covariance in the last round, for components of equal weight.
        count: asks for the number of whole rows, before all else.
        guard: chooses between the private and the public model.
        coverage: questions before clustering, planned or asked; see `coverage_questions`.
        fit: tests whether the released model fits.
        far: counts rows by the column that takes them far out; None: that would tell nothing.
        pca: finds private subspaces; None: not asked.
        search: asks whether there are `most` components, one fewer, and so on down to two.
        subspace, space: locate components; None: not asked.
        starts: rounds of each public start, if components overlap.
        picks: compare each start but the first with the best before it.
        rounds: the measuring rounds, with those that settle components before them.
        explained: tests whether the first round explains the rows; None: there is no ladder.
        several: number of components of the public model whose cells are counted.
        divided: two rounds to replace the last one if the round before still moved a component far; (): never.
    """

    regime: str
    n_components: int
    covariance_type: str
    most: int
    noise: float
    count: Ask
    guard: Ask
    coverage: tuple[Ask, ...]
    fit: Ask
    far: Ask | None
    pca: Ask | None
    search: tuple[Ask, ...]
    subspace: Ask | None
    space: Ask | None
    starts: tuple[tuple[Ask, ...], ...]
    picks: tuple[Ask, ...]
    rounds: tuple[Ask, ...]
    explained: Ask | None = None
    several: int = 0
    divided: tuple[Ask, ...] = ()

    @property
    def longer(self) -> "MixturePlan":
        """The same plan with one more round: the last one is divided."""
        asks, rounds = ((*some[:-1], *self.divided) for some in (self.asks, self.rounds))
        noise = self.noise * louder(self.rounds[-1], self.divided[-1])
        return replace(self, asks=asks, rounds=rounds, noise=noise, divided=())

    @property
    def loud(self) -> bool:
        """Whether the predicted noise is so large that only weights, means and scale can be trusted."""
        return self.noise > UNTRUSTED

    @property
    def dimension(self) -> int:
        """Dimension of private subspaces: k, or the most that it may be."""
        return self.most or self.n_components

    @classmethod
    def of(
        cls,
        purse: Purse,
        n: int,
        d: int,
        k: int,
        regime: str = Regime.SCARCE,
        covariance_type: str = "full",
        most: int = 0,
        groups: int = 1,
        coverage: tuple[str, ...] = (),
        several: int = 0,
    ) -> "MixturePlan":
        """Make the plan of a run on n rows of d columns with k components.

        Args:
            purse: purse of the method.
            n: number of private rows.
            d: number of columns.
            k: number of components; `most` while k is looked for.
            regime: `overlapping`, `separated-scarce` or `separated-ample`.
            covariance_type: as in `MixtureSettings`.
            most: most components to look for; 0: k is known.
            groups: number of groups of public rows, each with its own subspace.
            coverage: names of the `coverage_questions` that are asked.
            several: components of the public model whose cells are counted before a ladder; 0: no ladder.
        """
        blanks = Blanks(d, k, covariance_type, n)
        before: _Shares = {"count": (PURE_COUNT_SHARE if purse.radial else COUNT_SHARE, count_question)}
        before |= {name: (_COVERAGE[name], blanks.coverage(name)) for name in coverage}
        # of all components that there may be: the plan for those that are found must not ask more than was set aside
        largest = most or k
        by_columns = covariance_type != "spherical" and largest * d <= _FAR_COLUMNS
        far = far_share(n, d, purse) if by_columns else Fraction(0)
        if far:
            before["far"] = far, blanks.far
        if regime == Regime.OVERLAPPING:
            shares = _overlapping(worth_of(purse, blanks.round, CROWD), n / k, blanks, before)
        else:
            ample = regime == Regime.AMPLE
            worth = worth_of(purse, blanks.round, CROWD)
            shares = _separated(worth, n / k, blanks, before, most, largest, ample, groups, several)
        asks = split_purse(purse, "mixture", {"count": shares.pop("count"), **shares}, CROWD)
        starts = range(1, _STARTS + 1) if regime == Regime.OVERLAPPING else range(0)
        return cls(
            asks=tuple(asks.values()),
            regime=regime,
            n_components=k,
            covariance_type=covariance_type,
            most=most,
            noise=noise_of([*asks.values()][-1], d, n / k, covariance_type),
            count=asks["count"],
            guard=asks["guard"],
            coverage=tuple(asks[name] for name in coverage),
            fit=asks["fit"],
            far=asks.get("far"),
            pca=asks.get("pca"),
            search=tuple(asks[f"components-{tried}"] for tried in range(most, 1, -1))
            if regime != Regime.OVERLAPPING
            else (),
            subspace=asks.get("coarse/subspace"),
            space=asks.get("coarse/space"),
            starts=tuple(
                tuple(
                    asks[name]
                    for number in range(1, _QUICK_ROUNDS + 1)
                    if (name := f"start-{start}/round-{number}") in asks
                )
                for start in starts
            ),
            picks=tuple(asks[f"pick-{start}"] for start in starts[1:]),
            rounds=tuple(ask for name, ask in asks.items() if name.startswith(("settle-", "round-"))),
            explained=asks.get("explained"),
            several=several,
            divided=_divided(purse, [*asks.values()][-1], n / k, blanks),
        )


_Shares = dict[str, tuple[Fraction, Blank]]
"""Shares by name, in the order of the run."""


@dataclass(frozen=True)
class Blanks:
    """Makes placeholder questions about k components of d columns.

    Attributes:
        d: number of columns.
        k: number of components.
        covariance_type: covariance type of the rounds.
        n: number of private rows.
    """

    d: int
    k: int
    covariance_type: str
    n: int

    @property
    def frame(self) -> Frame:
        """A placeholder frame."""
        return Frame((0.0,) * self.d)

    @property
    def grain(self) -> int:
        """Into how many shares rounds divide a record among components."""
        return grain_for_rows(self.n) if self.k > 1 else 0

    def coverage(self, name: str) -> Blank:
        """The question about public rows without private rows near, or about private rows without public ones near."""
        if name == SUPPORT:
            halves = NearestPoint(self.frame, ((0.0,) * self.d, (1.0,) * self.d), (0, 1))
            return lambda ask: Counts.priced(halves, ask.price)
        kind, ball = (LiftedGram, Cylinder(self.frame, 1.0)) if name == ABSENT else (Moments, None)
        regions = Uncovered(self.frame, ((0.0,) * self.d,), (1.0,), ball)
        return lambda ask: kind.priced(regions, (self.frame,), (1.0,), ask.price, MOMENT_SHARES)

    def pca(self, groups: int) -> Blank:
        """The second moments of groups."""
        return lambda ask: LiftedGram.second_moment(*_regions(self.frame, groups), ask.price)

    def search(self, tried: int) -> Blank:
        """Counts of rows along the lines between `tried` seeds."""
        return lambda ask: Counts.priced(PairBins(self.frame, ((0.0,) * self.d,) * tried), ask.price)

    def locate(self, dimension: int) -> Blank:
        """Moments that locate components in `dimension` dimensions."""
        flat = Frame((0.0,) * self.d, ((0.0,) * self.d,) * dimension)
        return lambda ask: Moments.priced(*_regions(flat, self.k), ask.price, MOMENT_SHARES)

    def explained(self, count: int) -> Blank:
        """Counts by distance from a row's component, and in the cells of another model."""
        shells = shells_about(self._cells(self.k)), shells_inside(self._cells(count))
        return lambda ask: JointCounts.priced(shells, ask.price)

    def score(self, ask: Ask) -> Question:
        """The score that compares two models."""
        one = Cells((self.frame,), (0.0,))
        return BoundedScore.priced(one, one, 1.0, ask.price)

    def fit(self, ask: Ask) -> Question:
        """Counts by distance from a row's component, and along one axis."""
        line = Frame((0.0,) * self.d, ((0.0,) * self.d,))
        cells = self._cells(self.k)
        return JointCounts.priced((shells_about(cells), shells_along(cells, (line,) * self.k)), ask.price)

    def far(self, ask: Ask) -> Question:
        """Counts of rows by the column that takes them far out of their component."""
        return Counts.priced(blank_regions(self.frame, self.k), ask.price)

    @property
    def checks(self) -> "_Shares":
        """Questions about the finished model, whose shares are set aside first: the guard, and the test of fit."""
        return {"guard": (_GUARD, self.score), "fit": (_FIT, self.fit)}

    def round(self, ask: Ask) -> Question:
        """Counts, sums and second moments of components."""
        regions, frames, _ = _regions(self.frame, self.k)
        return round_question(self.covariance_type, regions, frames, ask, grain=self.grain)

    def last(self, ask: Ask, measured: bool = True) -> Question:
        """The same, and the number of rows in no component if noise permits; `measured`: a round came before."""
        cells, frames, _ = _regions(self.frame, self.k)
        end = outside_end(self.n, self.d, measured)
        regions = cut(cells, end, ask)
        question = round_question(self.covariance_type, regions, frames, ask, grain=self.grain)
        if regions is cells or hides_many(question, self.n):
            return self.round(ask)
        radius = last_radius(question, end, self.n / self.k)
        return round_question(self.covariance_type, regions, frames, ask, radius, self.grain)

    def _cells(self, count: int) -> Cells:
        return _regions(self.frame, count)[0]


def coverage_questions(purse: Purse, n: int, k: int, alone: float) -> tuple[str, ...]:
    """Name the questions that show what the public rows lack, or have too much of.

    There are none for a single component, which takes all rows, nor if the noise would hide a component. The support
    question is not asked if the noise would hide as many rows as the public rows that lie apart represent.

    Args:
        purse: purse of the method.
        n: number of private rows.
        k: number of components, or the most that there may be.
        alone: `Outline.crowd`.
    """
    if k < 2 or 6 * _count_sd(purse, _COVERAGE[UNCOVERED] * MOMENT_SHARES[0]) > _VISIBLE * n:
        return ()
    telling = alone * n > SURELY_FEW * _count_sd(purse, _COVERAGE[SUPPORT])
    return (SUPPORT, UNCOVERED, ABSENT) if telling else (UNCOVERED, ABSENT)


def _count_sd(purse: Purse, share: Fraction) -> float:
    """Predict the noise sd of counts over a partition that have this share of the budget; larger in a pure run."""
    return math.sqrt((2 if purse.radial else 1) / purse.worth(float(share), float(CROWD)))


def _separated(
    worth: Worth,
    count: float,
    blanks: Blanks,
    before: _Shares,
    most: int,
    ell: int,
    ample: bool,
    groups: int,
    several: int,
) -> _Shares:
    d = blanks.d
    shares: _Shares = blanks.checks | before
    rest = 1 - _taken(shares)
    if d > ell and not ample:
        shares["pca"] = _PCA * rest, blanks.pca(groups)
    for k in range(most, 1, -1):
        shares[f"components-{k}"] = _SEARCH / (most - 1) * rest, blanks.search(k)
    if not ample:
        shares["coarse/subspace"] = _COARSE / 2 * rest, blanks.locate(min(ell, d))
    shares["coarse/space"] = _COARSE / 2 * rest, blanks.locate(d)
    terms = worth, d, count, blanks.covariance_type, blanks.round
    shares |= settling_rounds(*terms)
    rounds = measuring_rounds(1 - _taken(shares), *terms)
    if several and len(rounds) > 1:
        (first, _), (second, _) = rounds.values()
        if spectral_noise(worth(float(first)), d, count, blanks.covariance_type) < TELLING:
            shares |= {
                "round-1": rounds["round-1"],
                "explained": (_EXPLAINED, blanks.explained(several)),
                "round-2": (second - _EXPLAINED, blanks.last),
            }
            return shares
    *_, (name, (share, _)) = rounds.items()
    return shares | rounds | {name: (share, partial(blanks.last, measured=len(rounds) > 1))}


def _overlapping(worth: Worth, count: float, blanks: Blanks, before: _Shares) -> _Shares:
    shares: _Shares = blanks.checks | before
    rest = 1 - _taken(shares)

    def noise(share: Fraction) -> float:
        return spectral_noise(worth(float(share)), blanks.d, count, blanks.covariance_type)

    rounds = _QUICK_ROUNDS
    quick = next((share for share in _QUICK if noise(share * rest / (rounds * _STARTS)) < _QUIET), None)
    if quick is None:
        # if the last round will be too noisy for covariances, an earlier one with a twelfth of the budget is useless
        rounds = 1 if noise(_EXPLORE * rest) > UNTRUSTED else 2
    explore = (quick or _EXPLORE) * rest
    for start in range(1, _STARTS + 1):
        for number in range(1, rounds + 1):
            shares[f"start-{start}/round-{number}"] = explore / (rounds * _STARTS), blanks.round
    for start in range(2, _STARTS + 1):
        shares[f"pick-{start}"] = _PICK * rest, blanks.score
    if quick is None:
        shares |= settling_rounds(worth, blanks.d, count, blanks.covariance_type, blanks.round)
    return shares | {"round-3": (1 - _taken(shares), blanks.last)}


def _divided(purse: Purse, last: Ask, count: float, blanks: Blanks) -> tuple[Ask, ...]:
    """Divide the last round in two, if the first part has little enough noise to bring components to their rows."""
    part = purse.part(last.price)
    # components that moved far may still be wider than estimated
    shares: _Shares = {
        "home/round-1": (_HOME, blanks.round),
        "home/round-2": (1 - _HOME, partial(blanks.last, measured=False)),
    }
    asks = tuple(split_purse(part, "mixture", shares).values())
    quiet = spectral_noise(asks[0].rho, blanks.d, count, blanks.covariance_type) < TELLING
    return asks if quiet else ()


def _taken(shares: _Shares) -> Fraction:
    return sum((share for share, _ in shares.values()), Fraction(0))


def _regions(frame: Frame, count: int) -> tuple[Cells, tuple[Frame, ...], tuple[float, ...]]:
    """Make a placeholder partition into `count` regions, with a frame and a radius for each."""
    frames = (frame,) * count
    return Cells(frames, (0.0,) * count), frames, (1.0,) * count
