"""Estimate a mixture by agreement of blocks, without public rows and without bounds, in simulation only.

Source: Arbas, Ashtiani and Liaw 2023 (AAL), algorithm 1 and theorem 6.2, with three changes that make it run at sizes
that exist: an h-index is tested (`_agreement`), all blocks that agree are averaged although the order of their
components differs (`_closeness`), and masks are priced by Renyi divergences at finite orders (`_masks`). k = 1 replaces
Ashtiani and Liaw 2022 (lemma A.24 (1) of BKS); releasing only means is sample and aggregate as in section 5 of KSSU
(theorems 5.1 and 5.2). `as_printed=True` is the paper's own algorithm.

Why no real table is accepted:

- masks are drawn in floating point, in a shape that depends on rows, so their low bits reveal something about rows;
- agreement, and the supremum in a mask's price, are computed in floating point as well, but proven for real numbers;
- the guarantee is one (epsilon, delta): at epsilon 1 a ledger of Gaussian DP would charge mu = 1.23 for it, while a
  Gaussian mechanism with the same guarantee, at delta 1e-6, costs mu = 0.237.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from benchmarks.papers.populous._agreement import h_index
from benchmarks.papers.populous._as_printed import populous
from benchmarks.papers.populous._blocks import Blocks, Learner, Learnt, expectation_maximisation, learn
from benchmarks.papers.populous._closeness import agreeing, aligned
from benchmarks.papers.populous._masks import masked
from benchmarks.papers.populous._simulated import simulated_rows
from benchmarks.papers.populous.plan import PopulousPlan, make_plan, typical_closeness
from pubpriv.curator import Curator
from pubpriv.errors import InvalidInput
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA
from pubpriv.privacy.budgets import ApproximateDP

_WHY = (
    "its noise has the shape of what it hides and is drawn in floating point, whose low bits reveal rows, and whether "
    "blocks agree is decided there too"
)


@dataclass(frozen=True)
class _PopulousResult:
    """What a run of the Private Populous Estimator would release, and what only the simulation knows.

    Attributes:
        weights, means, covariances: (k,), (k, d), (k, d, d), components in random order; None: no answer (which is a
            result, too), or covariances that were not asked for.
        converged: whether there is an answer.
        guarantee: states that this was a simulation, and what a real run would guarantee.
        simulated: what a real run would not show: the h-index, degrees, noise.
    """

    weights: np.ndarray | None
    means: np.ndarray | None
    covariances: np.ndarray | None
    converged: bool
    guarantee: str
    simulated: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Learnt | None, guarantee: str, simulated: dict[str, Any], only_means: bool = False) -> Self:
        """Make the result from an answer, or from no answer."""
        weights, means, covariances = (None, None, None) if answer is None else answer
        return cls(weights, means, None if only_means else covariances, answer is not None, guarantee, simulated)


def estimate_mixture_ppe(
    simulation: Curator,
    k: int,
    *,
    blocks: int = 400,
    learner: Learner = expectation_maximisation,
    only_means: bool = False,
    as_printed: bool = False,
    seed: int = 0,
) -> _PopulousResult:
    """Learn a mixture in each of `blocks` blocks of rows, and release one if enough of them agree.

    Args:
        simulation: `Curator.simulation(rows, ApproximateDP(...), seed)`; a real one is refused. The estimate takes the
            whole allotment.
        k: number of components; 1: a Gaussian.
        blocks: t; more blocks need less noise, but are smaller.
        learner: makes a mixture from a block; see `_blocks.Learner`.
        only_means: release weights and means only.
        as_printed: take one block, with TLap and the masks of the paper. An answer needs some 10^18 rows in
            `sample_sizes.populous.populous_blocks` blocks.
        seed: for learners, thresholds and noise.

    Raises:
        InvalidInput: a real curator, a budget of another kind, or too few rows for this number of blocks.
        BudgetExceeded: the simulation was asked something before.

    Privacy: none, this is a simulation. In real arithmetic, the answer has the law of an (epsilon, delta)-DP mechanism
    (`plan`), for replacement of one row.
    """
    rows = simulated_rows(simulation, _WHY)
    _check(simulation, rows, k, blocks)
    budget = simulation.budget
    assert isinstance(budget, ApproximateDP)
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    settings = {"components": k, "blocks": blocks, "only_means": only_means, "as_printed": as_printed, "seed": seed}
    share = simulation.begin("populous", settings, hashlib.sha256(b"no public rows").hexdigest())
    if share.units < budget.cap.main:
        raise InvalidInput("this estimator takes the whole allotment of a simulation: make another simulation for it")
    generator = np.random.default_rng([seed, blocks, k])
    d, guarantee = rows.shape[1], f"none (simulation); of the law of a mechanism that is {budget.describe()}"
    if as_printed:
        found = populous(learn(rows, blocks, k, learner, seed), epsilon, delta, ALPHA, BETA, generator)
        diagnostics = {"agreement": found.agreement, "bar": found.bar}
        return _PopulousResult.of(found.answer, guarantee, diagnostics)
    closeness = typical_closeness(d, k, len(rows) // blocks, generator)
    plan = make_plan(d, k, epsilon, delta, blocks, closeness, only_means)
    if plan is None:
        raise InvalidInput(
            f"blocks of {len(rows) // blocks} rows differ too much for this promise: give more rows, or fewer blocks"
        )
    return _average(learn(rows, blocks, k, learner, seed), plan, guarantee, only_means, generator)


def _average(
    blocks: Blocks, plan: PopulousPlan, guarantee: str, only_means: bool, generator: np.random.Generator
) -> _PopulousResult:
    degrees = agreeing(blocks, plan.closeness).sum(axis=1)
    found = h_index(degrees)
    diagnostics = {"h_index": found, "bar": plan.bar, "learnt": int(blocks.learnt.sum()), "predicted": plan.predicted}
    counted = plan.weighting.weights(degrees)
    # noise alone reaches the bar with probability delta at most, and then there may be nothing to average
    if found + plan.sd * generator.standard_normal() < plan.bar or not counted.any():
        return _PopulousResult.of(None, guarantee, diagnostics)
    members = np.flatnonzero(counted)
    order, shares = aligned(blocks, members), counted[members] / counted.sum()
    weights, means, covariances = (
        np.einsum("t,t...->...", shares, part[members[:, None], order])
        for part in (blocks.weights, blocks.means, blocks.covariances)
    )
    answer = masked((weights, means, covariances), plan.masks, generator)
    return _PopulousResult.of(answer, guarantee, diagnostics, only_means)


def _check(simulation: Curator, rows: np.ndarray, k: int, blocks: int) -> None:
    """Refuse impossible arguments before anything is learnt."""
    if not isinstance(simulation.budget, ApproximateDP):
        raise InvalidInput(
            "this estimator promises (epsilon, delta)-DP: simulate with the budget ApproximateDP(epsilon, delta), "
            f"not {simulation.budget.describe()}"
        )
    for name, value in (("k", k), ("blocks", blocks)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidInput(f"{name} must be a positive integer, not {value!r}")
    least = k * (rows.shape[1] + 3)
    if len(rows) // blocks < least:
        raise InvalidInput(
            f"{len(rows):,} rows are too few for {blocks} blocks: each needs {least} to learn {k} components of "
            f"{rows.shape[1]} columns"
        )
