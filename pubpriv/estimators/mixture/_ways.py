"""The plans that a run of the default method may follow: public facts leave several, released answers decide."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from pubpriv.data.questions import Question
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._ladder_plan import Ladder, plan_with_ladder
from pubpriv.estimators.mixture._plan import ABSENT, SUPPORT, MixturePlan, coverage_questions
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Groups, Regime
from pubpriv.privacy.budgets import Purse


@dataclass(frozen=True)
class Ways:
    """The facts about a run that are known before anything is asked.

    Attributes:
        settings: settings of the run.
        purse: purse of the method.
        n: number of private rows.
        m: number of public rows.
        groups: groups of public rows.
        crowd: see `Outline`.
    """

    settings: MixtureSettings
    purse: Purse
    n: int
    m: int
    groups: Groups
    crowd: float

    @property
    def most(self) -> int:
        """Number of components, or the most that there may be."""
        return min(self.settings.most, self.m)

    @property
    def looked_for(self) -> int:
        """Most components to look for; 0: k is known."""
        return self.most if self.settings.known is None and self.most > 1 else 0

    @cached_property
    def coverage(self) -> dict[str, Ask]:
        """Asks that may come before clustering, by name and in order; they are the same in all plans."""
        names = coverage_questions(self.purse, self.n, self.most, self.crowd)
        return dict(zip(names, self.plan(self.most, Regime.SCARCE, names)[0].coverage, strict=True))

    @cached_property
    def count(self) -> Ask:
        """Ask for the number of whole rows; it is the same in all plans."""
        return self.plan(self.most, Regime.SCARCE, ())[0].count

    @property
    def likely_coverage(self) -> tuple[str, ...]:
        """Names of the questions asked before clustering if the public rows lack nothing."""
        return tuple(name for name in self.coverage if name != ABSENT)

    def regime(self, public: PublicTable) -> Regime:
        """Choose the regime for these public rows."""
        if self.looked_for:
            return Regime.searching(self.most)
        m, d = public.rows.shape
        groups = self.groups
        weight, counted = self.settings.smallest_weight, bool(groups.counted)
        return Regime.of(m, d, self.most, weight, groups.separation, groups.overlapping, counted)

    def plan(self, k: int, regime: str, coverage: tuple[str, ...]) -> tuple[MixturePlan, Ladder | None]:
        """Make the plan for k components, given which questions were asked before clustering."""
        if (k, regime, coverage) not in self._plans:
            groups, kind = self.groups, self.settings.covariance_type
            sizes = self.purse, self.n, len(groups.points[0]), k, regime, kind, self.looked_for, groups.count
            made = plan_with_ladder(*sizes, self.m, self.settings.climbs, coverage)
            self._plans[k, regime, coverage] = made
        return self._plans[k, regime, coverage]

    @cached_property
    def _plans(self) -> dict[tuple[int, str, tuple[str, ...]], tuple[MixturePlan, Ladder | None]]:
        """Plans made so far."""
        return {}

    def questions(self) -> Iterator[tuple[Question, ...]]:
        """List every plan that answers may lead to, for the least and the largest number of components.

        Plans share the question objects that they have in common.
        """
        shared: dict[Question, Question] = {}
        names = tuple(self.coverage)
        # answers may end this part early, but support is asked in any case
        asked = [names[:count] for count in range(len(names) + 1) if count or SUPPORT not in names]
        regimes = (Regime.SCARCE,) if self.looked_for else (Regime.SCARCE, Regime.AMPLE, Regime.OVERLAPPING)
        numbers = {1, self.most} if self.looked_for else {self.most}
        for k, regime, some in product(numbers, regimes, asked):
            plan, ladder = self.plan(k, regime, some)
            for each in (plan, plan.longer) if plan.divided else (plan,):
                yield tuple(shared.setdefault(question, question) for question in each.questions)
            if ladder is not None:
                for chosen in (ladder.apart, *ladder.rungs):
                    climbed = (*plan.questions[:-1], *ladder.plan(chosen).questions)
                    yield tuple(shared.setdefault(question, question) for question in climbed)
