"""The mean of private rows: the driver shared by the default method and the methods it is compared with.

Source: Bie, Kamath and Singhal 2022, Claim 2.1 (a public row is within sqrt(d) of the mean) and Theorem 2.3. The
default uses clip radii near sqrt(d) and undoes their shrinkage exactly; see `_plan`. If the covariance is unknown, the
Gaussian's driver runs instead.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.asks import gaussian_only
from pubpriv.estimators.gaussian.settings import DROP, ESTIMATE, MISSING
from pubpriv.estimators.groups.driver import estimate_groups
from pubpriv.estimators.mean._against_public import check_covariance, resolved
from pubpriv.estimators.mean._declared_bounds import METHOD as BETWEEN
from pubpriv.estimators.mean._declared_bounds import DeclaredBounds, bounded_mean, bounds_that_suit, check_noise
from pubpriv.estimators.mean._hypotheses import check_dimension, hypotheses
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._plan import check_feasible
from pubpriv.estimators.mean._reference import MeanResult, Options, clip_and_noise, coinpress
from pubpriv.estimators.mean._two_step import two_step
from pubpriv.estimators.mean.settings import MeanSettings
from pubpriv.estimators.public_rows import NO_PUBLIC, public_rows
from pubpriv.estimators.steps import Execution, Runner, plain
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import about, doubts
from pubpriv.released.histograms import public_part
from pubpriv.released.kinds import GaussianEstimate, MeanEstimate
from pubpriv.released.original_units import variances_for_squares


def estimate_mean(
    public: Any,
    curator: Curator,
    *,
    covariance: Any = "auto",
    budget: BudgetLike | None = None,
    method: str = "two-step",
    missing: str = DROP,
    rounds: int = 2,
    ball: tuple[Any, float] | None = None,
    force: bool = False,
    runner: Runner = plain,
) -> MeanEstimate:
    """Estimate the mean of private rows.

    Args:
        public: at least one public row of the same kind: path, DataFrame, (m, d) array or `PublicTable`; None, or no
            rows, with the method `no-public`.
        curator: the run; see `Curator`.
        covariance: the known (d, d) covariance in the data's own units, or `"identity"`; or `"unknown"`, which learns
            it as `estimate_gaussian` does; or `"auto"`: the identity, or `"unknown"` if the public rows contradict the
            identity. Under `auto`, if every column has declared bounds, `clip(column, low, high)`, one sum between them
            is asked instead, which clips nothing else; unless the bounds are far wider than the public rows.
        budget: what this estimate may spend, in the run's kind, or as text (`zcdp:0.1`); None: all that is left.
        method: `two-step`; `no-public`, which learns the covariance too, needs an approx budget and takes no public
            rows; or, to compare with, `clip-and-noise` (Theorem 2.3), `coinpress` or, for one or two columns,
            `hypotheses` (Theorem B.2 (2)), which is epsilon-DP under every budget.
        missing: rows that lack cells: `estimate` uses the cells that they have, and learns the covariance; `drop`
            leaves them out; `auto` estimates where the covariance is learnt anyway; see `estimate_gaussian`.
        rounds: rounds of `coinpress`.
        ball: for `coinpress`: a ball (centre (d,) in the data's units, radius in standard deviations) that is known to
            contain the mean; None: the ball around the public mean of Claim 2.1.
        force: run even if the private rows can improve little on the public ones (such a run is flagged), or if the
            public rows contradict the covariance.
        runner: runs the steps.

    Returns:
        The mean in the data's own units, with privacy statement, errors, findings and diagnostics. `converged` is False
        if some number is doubtful, as where the answers contradict the known covariance or the public rows.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read; the first also if the public rows
            contradict the covariance.
        NoAnswer: without public rows, the answers do not show where the rows lie; or the number of rows was private,
            and the released number is too small.
        PrivateStepFailed: after a charge; run the same release id again.

    If the table has groups (`PrivateTable.by`), each group gets an estimate too, from six tenths of the budget.

    Privacy: the sum of the prices in the plan, which is at most the method's share of the run.

    Records with a missing or infinite value add nothing. The default method counts the complete ones and estimates
    their mean; the reference methods are pulled towards their centres by the share that is missing.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2))
        >>> trial = pp.Curator.simulation(rows, "zcdp:0.5", seed=2)
        >>> mean = pp.estimate_mean(rows[:5], trial)
        >>> bool(abs(mean.mean).max() < 0.1)
        True
    """
    check_arguments(public, curator)
    check_rounds(method, rounds, ball)
    table = public_rows(public, curator.columns, method)
    assumed = isinstance(covariance, str) and covariance == "auto"
    between = bounds_taken(covariance, method, table, missing)
    if method == NO_PUBLIC:
        check_learnt(covariance)
    else:
        covariance = covariance_taken(covariance, table, missing)
    learnt = isinstance(covariance, str) and covariance in ("auto", "unknown")
    check_missing(missing, learnt)
    if learnt and method != NO_PUBLIC:
        check_two_step(method)

    def whole(given: BudgetLike | None) -> tuple[MeanEstimate, np.ndarray, Mapping[str, Any]]:
        if between is not None:
            return _with_declared_bounds(table, between, curator, given, force, runner)
        if learnt:
            learner = method if method == NO_PUBLIC else "learner"
            return _with_unknown_covariance(table, curator, given, force, runner, learner, missing)
        rows, known, options = checked_mean(table, curator.columns, covariance, method, rounds, ball, force)
        options = replace(options, assumed=assumed)
        made = _with_known_covariance(rows, known, options, curator, method, given, force, runner)
        return made, known.covariance, _known_exactly(known.covariance, curator.size)

    if curator.groups is None:
        return whole(budget)[0]
    return estimate_groups("mean", whole, table, curator, budget, runner, spreads=False)


def _with_known_covariance(
    rows: PublicTable,
    known: KnownCovariance,
    options: Options,
    curator: Curator,
    method: str,
    budget: BudgetLike | None,
    force: bool,
    runner: Runner,
) -> MeanEstimate:
    """Estimate the mean of all rows with a known covariance; see `estimate_mean`."""
    configuration = {
        "method": method,
        "covariance": known.fingerprint(),
        "columns": list(curator.columns),
        **options.configuration(),
    }
    check_law(method, curator.budget.kind)
    if method == "hypotheses" and not curator.asks_of_one_row:
        raise InvalidInput(
            "the method hypotheses cannot ask rows of a period where the unit of the dataset is a row: what its choice "
            "shows of a row that moves to another period is not proven. Take the method two-step"
        )
    purse = curator.begin("mean", configuration, rows, budget)
    if method == "two-step" and not force:
        with refusing_by(curator.size):
            check_feasible(curator.n_rows, len(rows.columns), len(rows.rows), purse)
    found = _METHODS[method](Execution(curator, "mean", runner), rows, known, purse, options)
    facts = {
        "covariance": "identity" if known.whitening is None else "known",
        "public_only_error": 1 / math.sqrt(len(rows.rows)),
    }
    return _estimate(found, curator, rows, method, known.deviations(), facts)


def _with_declared_bounds(
    rows: PublicTable, bounds: DeclaredBounds, curator: Curator, budget: BudgetLike | None, force: bool, runner: Runner
) -> tuple[MeanEstimate, np.ndarray, Mapping[str, Any]]:
    """Estimate the mean of all rows by one sum, and next to it the covariance (d, d) and its errors."""
    purse = curator.begin("mean", {"method": BETWEEN, "columns": list(curator.columns)}, rows, budget)
    if not force:
        with refusing_by(curator.size):
            check_noise(curator.n_rows, len(bounds.low), purse)
    found, covariance, noise = bounded_mean(Execution(curator, "mean", runner), bounds, rows, purse)
    made = _estimate(found, curator, rows, BETWEEN, bounds.half, {})
    return made, covariance, {**_known_exactly(covariance, curator.size), "privacy": noise}


def bounds_taken(covariance: Any, method: str, rows: PublicTable, missing: str = DROP) -> DeclaredBounds | None:
    """Return the declared bounds if the mean is estimated between them; None: otherwise.

    That is so where the covariance is left to the run, no method of a paper is asked, rows that lack cells need not be
    used, and the bounds suit.
    """
    left = isinstance(covariance, str) and covariance == "auto" and method in ("two-step", NO_PUBLIC)
    return bounds_that_suit(rows) if left and missing != ESTIMATE else None


def covariance_taken(covariance: Any, rows: PublicTable, missing: str) -> Any:
    """Return what stands for `auto`: missing cells are estimated by a covariance that is learnt; see `resolved`."""
    if missing == ESTIMATE and isinstance(covariance, str) and covariance == "auto":
        return "unknown"
    return resolved(covariance, rows)


def _estimate(
    found: MeanResult,
    curator: Curator,
    rows: PublicTable,
    method: str,
    deviations: np.ndarray,
    facts: Mapping[str, Any],
) -> MeanEstimate:
    """Make the estimate that a run releases; the errors of the result are in units of `deviations` (d,)."""
    statement = curator.statement()
    told = [*(finding.sentence() for finding in found.findings), *found.notes, *_notes(rows)]
    return MeanEstimate(
        center=found.center,
        columns=curator.columns,
        method=method_name(method, statement),
        converged=not doubts(found.findings),
        standard_errors=_errors(found, deviations, curator.size),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.size, rows),
        public=public_part(rows),
        diagnostics={**facts, **found.diagnostics, "warnings": told},
        findings=found.findings,
    )


def checked_mean(
    public: Any,
    columns: tuple[str, ...],
    covariance: Any = "identity",
    method: str = "two-step",
    rounds: int = 2,
    ball: tuple[Any, float] | None = None,
    force: bool = False,
) -> tuple[PublicTable, KnownCovariance, Options]:
    """Return public rows, covariance and options fit for `columns`, or a clear error before anything is opened."""
    if method not in _METHODS:
        raise InvalidInput(f"method must be one of {', '.join(_METHODS)}, not {method!r}")
    check_rounds(method, rounds, ball)
    check_dimension(method, len(columns))
    rows = public_rows(public, columns, method)
    known = KnownCovariance.of(covariance, len(rows.columns))
    if not force:
        check_covariance(rows, known)
    return rows, known, Options.of(tuple(rows.rows.mean(axis=0).tolist()), rounds, ball)


def check_rounds(method: str, rounds: int, ball: Any = None) -> None:
    """Refuse options that the method does not have."""
    if method != "coinpress" and (rounds != 2 or ball is not None):
        raise InvalidInput(f"rounds and ball are options of method coinpress, not of {method}")


def check_law(method: str, kind: str) -> None:
    """Refuse a method whose noise has no price in this kind of budget."""
    if method in ("clip-and-noise", "coinpress"):
        gaussian_only(method, kind)


def check_two_step(method: str) -> None:
    """Refuse a method that cannot learn the covariance."""
    if method != "two-step":
        raise InvalidInput(f"method {method} needs a known covariance")


def check_missing(missing: str, learnt: bool) -> None:
    """Refuse to estimate missing cells where the covariance is not `learnt`, and other words.

    Raises:
        InvalidInput: see above.
    """
    if missing not in MISSING:
        raise InvalidInput(f"missing must be one of {', '.join(MISSING)}, not {missing!r}")
    if missing == ESTIMATE and not learnt:
        raise InvalidInput(
            "missing cells are estimated together with the covariance: leave it out, or give covariance=unknown"
        )


def check_learnt(covariance: Any) -> None:
    """Refuse a known covariance if there are no public rows.

    Raises:
        InvalidInput: one is given; the words `auto` and `unknown` are permitted.
    """
    if not (isinstance(covariance, str) and covariance in ("auto", "unknown")):
        raise InvalidInput(
            "the method no-public learns the covariance of the rows: leave out the covariance, or give a public row"
        )


def _with_unknown_covariance(
    rows: PublicTable,
    curator: Curator,
    budget: BudgetLike | None,
    force: bool,
    runner: Runner,
    method: str,
    missing: str,
) -> tuple[MeanEstimate, np.ndarray, Mapping[str, Any]]:
    """Learn mean and covariance, and return the mean and, next to it, the covariance (d, d) and its errors."""
    from pubpriv.estimators.gaussian.driver import whole_gaussian

    both = whole_gaussian(
        rows, curator, budget, "auto", method, force=force, runner=runner, of_mean=True, missing=missing
    )
    findings = about(both.findings or (), MeanEstimate.quantities.values())
    mean = MeanEstimate(
        center=tuple(both.mean.tolist()),
        columns=both.columns,
        method=both.method,
        converged=not doubts(findings),
        standard_errors={"mean": both.standard_errors["mean"]},
        privacy=both.privacy,
        provenance=both.provenance,
        public=both.public,
        diagnostics={"covariance": "unknown"} | _variances(both, curator) | dict(both.diagnostics),
        target=both.target,
        findings=findings,
        noise=both.noise,
    )
    return mean, both.covariance, both.standard_errors["covariance"]


def _variances(both: GaussianEstimate, curator: Curator) -> dict[str, Any]:
    """Return the variances that means in original units follow from; none of groups, which have their own."""
    errors = {source: np.diag(np.asarray(part)) for source, part in both.standard_errors["covariance"].items()}
    found = variances_for_squares(both.columns, {"value": np.diag(both.covariance)} | errors)
    return {"variances": found} if found and curator.groups is None else {}


def _known_exactly(covariance: np.ndarray, size: Size) -> Mapping[str, Any]:
    """Give a covariance that is known the errors of Gaussian rows, without noise."""
    own = np.diag(covariance)
    sampling = np.sqrt((np.outer(own, own) + covariance**2) / size.rows) * size.widening
    return {"sampling": sampling, "privacy": np.zeros(covariance.shape)}


_METHODS = dict(zip(MeanSettings.methods, (two_step, clip_and_noise, coinpress, hypotheses), strict=True))


def _notes(rows: PublicTable) -> list[str]:
    """Notes for the reader about the public rows."""
    dropped = f"{rows.dropped} public rows with a missing or infinite value were left out"
    return [*[dropped] * bool(rows.dropped), *rows.notes]


def _errors(found: MeanResult, deviations: np.ndarray, size: Size) -> Mapping[str, Mapping[str, list[float]]]:
    """Compute the `standard_errors` in the data's units: {"mean": {"sampling": [d], "privacy": [d], ...}}."""
    parts = {"sampling": found.sampling, "privacy": found.privacy}
    if found.clipping is not None:
        parts["clipping"] = found.clipping
    errors = size.widened({"mean": {name: np.array(sd) * deviations for name, sd in parts.items()}})
    return {"mean": {name: sd.tolist() for name, sd in errors["mean"].items()}}
