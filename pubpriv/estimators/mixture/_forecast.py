"""Forecast of a mixture: the questions, and the predicted errors, before a private row is read; see `planning`."""

import math
from dataclasses import dataclass, replace

from pubpriv.data.questions import InShares, LiftedGram, Moments, Radial
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Plan, gaussian_only
from pubpriv.estimators.mixture import _plan as default_plan
from pubpriv.estimators.mixture._choice import Preference
from pubpriv.estimators.mixture._outline import outline
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Regime, advice, supercluster
from pubpriv.estimators.mixture.bks import plan as paper_plan
from pubpriv.estimators.mixture.bks.requirement import requirement
from pubpriv.estimators.mixture.bks.tree import Tree, open_level
from pubpriv.estimators.mixture.driver import checked_public
from pubpriv.estimators.mixture.kssu.plan import KssuPlan, kssu_plan
from pubpriv.estimators.mixture.rounds import UNTRUSTED, spectral_factor
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mixture
from pubpriv.privacy.budgets import Budget, Purse


@dataclass(frozen=True)
class MixtureCase:
    """Case of `estimate_mixture` for components of equal weight.

    Attributes:
        d, m: number of columns, number of public rows.
        settings: settings of a run.
        groups: number of superclusters of the public rows.
        regime: regime that the public rows suggest; without them, components are assumed to lie apart.
        seen: whether the public rows are there.
        alone: share of public rows in the largest group that lies apart, near which private rows are counted.
    """

    d: int
    m: int
    settings: MixtureSettings
    groups: int
    regime: Regime
    seen: bool = True
    alone: float = 0.0

    most_rows = MOST_ROWS

    @classmethod
    def of(cls, public: PublicTable, settings: MixtureSettings) -> "MixtureCase":
        """Make the case from public rows, which are checked as by the driver."""
        public = checked_public(public, public.columns, settings)
        (m, d), k = public.rows.shape, _most(settings, len(public.rows))
        scaling = precondition(public, settings.clusters(m) if settings.method == "auto" else 0)
        if settings.method == "bks-ample":
            return cls(d, m, settings, 1, _paper(settings))
        if settings.method == "bks-scarce":
            level = open_level(
                public, scaling.with_one_scale(), Tree(), k, settings.smallest_weight, settings.constants
            )
            return cls(d, m, settings, len(level.tree.groups), _paper(settings))
        found, alone = supercluster(public, scaling, k), outline(public, scaling, k).crowd
        if settings.known is None and k > 1:
            return cls(d, m, settings, found.count, Regime.searching(k), alone=alone)
        regime = Regime.of(m, d, k, settings.smallest_weight, found.separation, found.overlapping, bool(found.counted))
        return cls(d, m, settings, found.count, regime, alone=alone)

    @classmethod
    def sized(cls, d: int, m: int, settings: MixtureSettings) -> "MixtureCase":
        """Make the case of m planned public rows of d columns."""
        least = max(2, settings.known or 2)
        if m < least:
            raise InvalidInput(
                f"{m} public rows cannot seed {settings.known or 1} components: at least {least} are needed"
            )
        k = _most(settings, m)
        if settings.method != "auto":
            regime = _paper(settings)
        elif settings.known is None and k > 1:
            regime = Regime.searching(k)
        else:
            regime = Regime.of(m, d, k, settings.smallest_weight, None, k == 1)
        return cls(d, m, settings, 1, regime, seen=False)

    @property
    def k(self) -> int:
        """Number of components, or the most that there may be."""
        return _most(self.settings, self.m)

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict all questions, and the errors of the last round, which the model is made of."""
        d, k, plan = self.d, self.k, self._plan(n, purse)
        count, total, moment = self._noise(plan)
        own, each, weight = n / k, max(self.m / k, 2.0), (1 - 1 / k) / k
        numbers = {"diag": 2 * d, "spherical": 2}.get(self.settings.covariance_type, d * (d + 1))
        noisy = {"diag": d, "spherical": d}.get(self.settings.covariance_type, d * (d + 1) / 2)
        rows = (
            ("mean of a component", f"{Predicted.own_sd} in it", 1 / own, total / own, 1 / each),
            (
                "covariance of a component",
                Predicted.relative,
                numbers / own,
                moment * math.sqrt(noisy) / own,
                numbers / (each - 1),
            ),
            ("weight", "", weight / n, count / n, weight / max(self.m, 1)),
        )
        errors = tuple(
            Predicted(of, unit, math.sqrt(best), noise, math.sqrt(best), math.sqrt(public))
            for of, unit, best, noise, public in rows
        )
        return Forecast(plan, errors, variation(errors[0].error * math.sqrt(d), errors[1].error))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the noise in a component's covariance is small enough for the run to be trusted."""
        kind = self.settings.covariance_type
        loud = self._noise(self._plan(n, purse))[2] * spectral_factor(kind, self.d)
        return loud / (n / self.k) <= UNTRUSTED

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what the errors assume and, for the paper's algorithms, what their theorem requires."""
        purse, k = Purse.of(budget), self.k
        plan = self._plan(n, purse)
        way = f"{self.regime.name}: {self.regime.reason}"
        notes = ["components are Gaussian, of equal weight, and separated without error", way]
        if self.settings.known is None:
            notes.append(f"errors are those of {k} components: fewer have smaller ones, and fewer questions are asked")
        if self.settings.climbs and k > 1:
            notes.append(
                "if those that lie apart do not explain the rows, models of more components are scored on the share of "
                "the last round"
            )
        if isinstance(plan, default_plan.MixturePlan):
            noise = Preference.expected_noise(n, self.d, plan.guard)
            notes.append(
                "the private model is taken unless the private rows find the public rows' model better, which is known "
                f"with a noise of {noise:.2g} nats per row; then theirs is kept, with their errors, and flagged"
            )
        elif isinstance(plan, paper_plan.BksPlan):
            scarce, least = self.settings.method == "bks-scarce", self.settings.smallest_weight
            sd = plan.count_sd
            notes.append(requirement(scarce, n, self.m, self.d, k, least, budget, purse.rho, sd).text())
        if not self.seen and k > 1:
            notes.append("components are taken to lie apart; with --public the public rows show whether they do")
        if self.regime.name == Regime.OVERLAPPING and k > 1:
            notes.append("components overlap in the public rows: errors are larger than predicted")
        if not self.feasible(n, purse):
            notes.append("only means, weights and scales could be trusted: noise would be larger than the covariances")
        if self.settings.known is not None or self.settings.min_weight is not None:
            notes += advice(self.m, k, self.settings.smallest_weight)
        return tuple(notes)

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorems C.23 to C.29, and of methods without public rows."""
        return for_mixture(self.d, self.k, min(self.settings.smallest_weight, 1 / self.k), terms)

    def _plan(self, n: int, purse: Purse) -> Plan:
        settings, k = self.settings, self.k
        if settings.method != "auto":
            gaussian_only(settings.method, purse.kind)
            levels = k - self.groups if settings.method == "bks-scarce" else 0
            return paper_plan.BksPlan.of(purse, n, self.d, k, levels)
        most = k if settings.known is None and k > 1 else 0
        asked = default_plan.coverage_questions(purse, n, k, self.alone)
        return default_plan.MixturePlan.of(
            purse, n, self.d, k, self.regime.name, settings.covariance_type, most, self.groups, asked
        )

    def _noise(self, plan: Plan) -> tuple[float, float, float]:
        """Give a component's noise of count, sum and second moment (spherical: of the variance) in the last round."""
        asked = plan.asks[-1].question
        assert isinstance(asked, InShares | LiftedGram | Moments | Radial)
        noise = {part: float(sd.max()) for part, sd in asked.noise().items()}
        moment = noise["square"] / self.d if "square" in noise else noise["moment"]
        return noise["count"], noise["sum"], moment


@dataclass(frozen=True)
class KssuCase(MixtureCase):
    """Case of `estimate_mixture` without public rows, for components of equal weight that the method finds."""

    @classmethod
    def without_public(cls, d: int, settings: MixtureSettings) -> "KssuCase":
        """Make the case of d columns."""
        return cls(d, 0, settings, 1, _paper(settings), seen=False)

    @property
    def k(self) -> int:
        """Number of components."""
        return self.settings.most

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict all questions and errors; there are no public rows to compare with."""
        found = super().forecast(n, purse)
        return replace(found, errors=tuple(replace(each, public_only=None) for each in found.errors))

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what the errors assume, and what public rows would improve."""
        few = self.k * (self.d + 1)
        share = sum(ask.rho for ask in self._plan(n, Purse.of(budget)).rounds) / Purse.of(budget).rho
        search = f"the search for them takes {1 - share:.0%} of the budget"
        return (
            "components are Gaussian, of equal weight, round to within a factor of a few, and separated without error",
            f"{search}; those closer than about six standard deviations may be missed, and the model is then flagged",
            f"{few} public rows, or fewer, would take its place with the method auto, and no bound would be needed",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of methods without public rows."""
        return tuple(each for each in super().theorems(terms) if each.public_rows is None)

    def _plan(self, n: int, purse: Purse) -> KssuPlan:
        return kssu_plan(purse, n, self.d, self.k, self.settings.covariance_type)


def _most(settings: MixtureSettings, m: int) -> int:
    return min(settings.most, m)


def _paper(settings: MixtureSettings) -> Regime:
    return Regime(settings.method, "as asked for")
