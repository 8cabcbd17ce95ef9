"""Declaration of `estimate_mixture` for commands, flows, plans and audits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.mixture._settings import KSSU, MixtureSettings
from pubpriv.estimators.public_rows import check_public
from pubpriv.estimators.settings import ungrouped

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.kinds import MixtureEstimate


def _driver(settings: MixtureSettings, public: PublicTable, curator: Curator, runner: Runner) -> MixtureEstimate:
    from pubpriv.estimators.mixture.driver import estimate_mixture

    return estimate_mixture(public, curator, **ungrouped(settings), runner=runner)


def _case(settings: MixtureSettings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.groups.forecast import case_by_group

    return case_by_group(settings, public, _whole_case(settings, public), "mixture")


def _whole_case(settings: MixtureSettings, public: PublicTable | Size) -> Case:
    """Make the case of all rows together."""
    from pubpriv.estimators.mixture._forecast import KssuCase, MixtureCase
    from pubpriv.estimators.planning import Size

    if settings.method == KSSU:
        check_public(not isinstance(public, Size), KSSU, (KSSU,))
        return KssuCase.without_public(public.d if isinstance(public, Size) else len(public.columns), settings)
    if isinstance(public, Size):
        return MixtureCase.sized(public.d, public.m, settings)
    return MixtureCase.of(public, settings)


def _checked(settings: MixtureSettings, public: PublicTable) -> PublicTable:
    """Return public rows that can seed the components."""
    from pubpriv.estimators.mixture.driver import checked_public

    return checked_public(public, public.columns, settings)


def _check_law(settings: MixtureSettings, public: PublicTable, n_private: int, budget: Budget) -> None:  # noqa: ARG001
    """Refuse reference methods if the noise would not be Gaussian; no run is refused for being too small."""
    from pubpriv.estimators.asks import gaussian_only

    if settings.method != "auto":
        gaussian_only(settings.method, budget.kind)


def _advice(settings: MixtureSettings, public: PublicTable) -> tuple[str, ...]:
    """Warn if public rows may have missed a component; not possible if the number of components is looked for."""
    from pubpriv.estimators.mixture._supercluster import advice

    if settings.method == KSSU or (settings.known is None and settings.min_weight is None):
        return ()
    return advice(len(public.rows), settings.most, settings.smallest_weight)


_ROWS: dict[str, Any] = {"components": 3, "columns": 4, "apart": 12.0, "public_rows": 40}

MIXTURE = Estimator(
    name="mixture",
    title="A Gaussian mixture of a private table",
    help="A Gaussian mixture, under differential privacy.\n\nReleased are weights, means and covariances.\n\n"
    "Say how many components there are (--components), or how many the run may find at most (--max-components):\n"
    "the number that predicts best (--components auto), or as many as lie apart (--components apart).",
    walk="Estimate a Gaussian mixture of a private table with the help of a public one.\n\n"
    "Ingest and validate both tables, precondition, look for superclusters, find private principal components, "
    "partition, estimate each component with its weight, and choose between the private and the public model. Each "
    "step that looks at private rows charges the ledger first; public steps are cached across runs.",
    plan_help="Plan `fit mixture`.\n\nThe error is of a component's mean, in standard deviations of a column in it.",
    settings=MixtureSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_law, _advice),
    without_public=(KSSU,),
    one_law=False,
    trials=(
        Trial("separated-scarce", MixtureSettings(n_components=3), **_ROWS | {"public_rows": 20}),
        Trial("overlapping", MixtureSettings(n_components=2), "approx:4,1e-6", components=2, apart=2.0, public_rows=40),
        Trial("separated, pure", MixtureSettings(n_components=2), "pure:8", components=2, apart=8.0, public_rows=24),
        Trial("bks-scarce", MixtureSettings(n_components=3, method="bks-scarce"), **_ROWS),
        Trial("bks-ample", MixtureSettings(n_components=3, method="bks-ample"), **_ROWS),
        Trial(
            "by group",
            MixtureSettings(n_components=2, by="half"),
            **_ROWS | {"components": 2, "apart": 8.0, "public_rows": 20},
        ),
        Trial("kssu", MixtureSettings(n_components=3, method=KSSU, bound=1000.0), **_ROWS | {"public_rows": 0}),
        Trial("separated-ample", MixtureSettings(n_components=3, covariance_type="spherical"), **_ROWS),
        Trial(
            "more than lie apart",
            MixtureSettings(max_components=4),
            "zcdp:2",
            **_ROWS | {"apart": 3.0, "columns": 3},
        ),
        # released answers decide what is asked next, and which covariance type is taken
        Trial("k looked for", MixtureSettings(max_components=3, covariance_type="auto"), **_ROWS | {"components": 2}),
    ),
)
