"""One draw of a cell of `pubpriv bench honest`: an estimate beside the truth and beside that of the rows themselves."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

import numpy as np

import pubpriv as pp
from benchmarks.grid import covers, total_error
from benchmarks.laws import LAWS, Law
from benchmarks.synthetic import Truth, error, matched, oracle
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput, PubPrivError
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.released.law import Mixture

SEPARATION, COMPONENTS = 8.0, 3
"""Distance of two means of a mixture in the largest standard deviation of a component, and how many there are."""

_SOME, _HELD_OUT = 20, 2_000
"""Rows that show whether a column has whole numbers only; new rows of a mixture, by which models are compared."""

_Judged = dict[str, list[float]]


@dataclass(frozen=True)
class Task:
    """One run: an estimator, a law by its name, n private and m public rows of d columns, a budget and a seed.

    Rows and noise depend on law, n, d and seed alone, so that a cell has the same rows in every grid.
    """

    estimator: str
    law: str
    n: int
    d: int
    m: int
    budget: str
    seed: int

    def generator(self) -> np.random.Generator:
        """Make what draws rows."""
        return np.random.default_rng([self.seed, crc32(self.law.encode()), self.n, self.d])

    def noise_seed(self) -> int:
        """Make the seed of the noise."""
        return crc32(f"{self.law} {self.n} {self.d} {self.seed}".encode())


@dataclass(frozen=True)
class World:
    """What is drawn and what is true.

    Attributes:
        public, private: rows.
        mean, covariance: the truth.
        clean: private rows that are drawn from it.
    """

    public: np.ndarray
    private: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    clean: np.ndarray


def measured(task: Task) -> dict[str, Any]:
    """Run one task.

    Returns:
        The task; `refused` or `failed` with the message, if it was; else `flagged`, of means and Gaussians `states` of
        the columns, of mixtures `gain`, errors and those of the non-private estimate of the same rows (`best_...`), and
        for `means` and `variances` lists: whether the 95% interval holds the truth, how far the number is off in
        standard deviations or variances, its standard error in the same units, the interval's width over what these
        rows need and over what Gaussian rows would need, and whether the non-private interval of the same rows holds
        the truth.
    """
    try:
        found = (_mixture if task.estimator == "mixture" else _single)(task, LAWS[task.law])
    except InvalidInput as problem:
        found = {"refused": str(problem)}
    except PubPrivError as problem:
        found = {"failed": f"{type(problem).__name__}: {problem}"}
    return asdict(task) | {"refused": None, "failed": None} | found


def _known(world: World, curator: pp.Curator) -> Any:
    return pp.estimate_mean(world.public, curator, covariance=world.covariance)


_SINGLE: Mapping[str, Callable[[World, pp.Curator], Any]] = {
    "mean": lambda world, curator: pp.estimate_mean(world.public, curator),
    "mean-known": _known,
    "mean-unknown": lambda world, curator: pp.estimate_mean(world.public, curator, covariance="unknown"),
    "gaussian": lambda world, curator: pp.estimate_gaussian(world.public, curator),
    "gaussian-target": lambda world, curator: pp.estimate_gaussian(world.public, curator, target="gaussian"),
}
ESTIMATORS = (*_SINGLE, "mixture")
"""Means (by default, with the true covariance, with an unknown one), Gaussians (by default, of the bulk), mixtures."""


def _single(task: Task, law: Law) -> dict[str, Any]:
    """A mean or a Gaussian; the target `gaussian` is judged by the bulk of the rows, where there is one."""
    generator = task.generator()
    sample = law.sample(task.n, task.d, generator)
    public = law.draw(task.m, task.d, generator)
    true, clean = law, sample.rows
    if task.estimator == "gaussian-target" and law.bulk is not None:
        true, clean = law.bulk, sample.rows[~sample.odd]
    world = World(public, sample.rows, true.mean(task.d), true.covariance(task.d), clean)
    return judged(task.estimator, world, task.budget, task.noise_seed()) | {"kinds": law.kinds(task.d).tolist()}


def judged(estimator: str, world: World, budget: str, noise_seed: int) -> dict[str, Any]:
    """Release a mean or a Gaussian, and judge it as `measured` says."""
    clean = world.clean
    curator = pp.Curator.simulation(world.private, pp.parse_budget(budget), noise_seed)
    estimate = _SINGLE[estimator](world, curator)
    variances, errors = np.diag(world.covariance), estimate.standard_errors
    found = {
        "flagged": not estimate.converged,
        "states": [str(state) for state in estimate.states.values()],
        "mean_error": _mahalanobis(world, estimate.mean),
        "best_mean_error": _mahalanobis(world, clean.mean(axis=0)),
        "means": judged_means(estimate.mean, world.mean, variances, errors["mean"], clean),
    }
    if "covariance" not in errors:
        return found
    parts = {name: np.diag(np.asarray(values)) for name, values in errors["covariance"].items()}
    return found | {
        "covariance_error": _relative(world, estimate.covariance),
        "best_covariance_error": _relative(world, np.cov(clean.T).reshape(len(variances), len(variances))),
        "variances": judged_variances(np.diag(estimate.covariance), variances, parts, clean),
    }


def _mixture(task: Task, law: Law) -> dict[str, Any]:
    """Three components of a law; errors are the largest over components, `best_...` those of true labels.

    Where the rows of a component have a bulk, it is the truth: odd rows belong to no component. `gain` is by how many
    nats a row the estimate predicts new rows of it better than the model of the public rows alone, beside the same
    background; `whole_gain` is that of all rows, odd ones too.
    """
    generator = task.generator()
    places = _components(law, task.d, generator)
    private, labels, odd = _rows(law, places, task.n, generator)
    public = _rows(law, places, task.m, generator)[0]
    fresh, _, out = _rows(law, places, _HELD_OUT, generator)
    truth = _of_bulk(law, places)
    curator = pp.Curator.simulation(private, pp.parse_budget(task.budget), task.noise_seed())
    estimate = pp.estimate_mixture(public, curator, n_components=COMPONENTS)
    numbers = Truth(estimate.weights, estimate.means, estimate.covariances)
    order = matched(truth, numbers)
    ours, best = error(truth, numbers), error(truth, oracle(private[~odd], labels[~odd], COMPONENTS))
    alone = _of_public_rows(public).beside_background(estimate.background)
    better = estimate.log_density(fresh) - alone.log_density(fresh)
    found: dict[str, Any] = {
        "flagged": not estimate.converged,
        "found": bool(ours.mean < max(0.5, 4 * best.mean)),
        "mean_error": ours.mean,
        "best_mean_error": best.mean,
        "covariance_error": ours.covariance,
        "best_covariance_error": best.covariance,
        "gain": float(better[~out].mean()),
        "whole_gain": float(better.mean()),
        "means": {},
        "variances": {},
        "kinds": np.tile(law.kinds(task.d), COMPONENTS).tolist(),
    }
    errors = estimate.standard_errors
    for j, other in enumerate(order):
        own, variances = private[(labels == j) & ~odd], np.diag(truth.covariances[j])
        parts = {name: np.asarray(values)[other] for name, values in errors["means"].items()}
        spreads = {name: np.diag(np.asarray(values)[other]) for name, values in errors["covariances"].items()}
        place = judged_means(numbers.means[other], truth.means[j], variances, parts, own)
        spread = judged_variances(np.diag(numbers.covariances[other]), variances, spreads, own)
        for name, judged in (("means", place), ("variances", spread)):
            found[name] = {key: [*found[name].get(key, []), *values] for key, values in judged.items()}
    return found


def _components(law: Law, d: int, generator: np.random.Generator) -> Truth:
    """Equal weights; orthogonal means, on a line where there are too few columns; columns of variance 1.

    Columns of whole numbers keep to one lattice, as those of a table do: means are moved to the nearest point of it.
    """
    sd = np.sqrt(np.diag(law.covariance(d)))
    covariance = law.covariance(d) / np.outer(sd, sd)
    apart = SEPARATION * float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    axes = np.linalg.qr(generator.standard_normal((d, d)))[0].T
    if d < COMPONENTS:
        means = apart * np.arange(COMPONENTS)[:, None] * axes[0]
    else:
        means = apart / np.sqrt(2) * axes[:COMPONENTS]
    some = law.draw(_SOME, d, np.random.default_rng(0))
    means = np.where((some == np.rint(some)).all(axis=0), np.rint(means * sd) / sd, means)
    return Truth(np.full(COMPONENTS, 1 / COMPONENTS), means, np.stack([covariance] * COMPONENTS))


def _rows(law: Law, truth: Truth, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows (n, d), components (n,), odd (n,)): a component's rows are of the law, moved and in its units."""
    d = truth.means.shape[1]
    labels, sample = generator.integers(COMPONENTS, size=n), law.sample(n, d, generator)
    standard = (sample.rows - law.mean(d)) / np.sqrt(np.diag(law.covariance(d)))
    return truth.means[labels] + standard, labels, sample.odd


def _of_bulk(law: Law, places: Truth) -> Truth:
    """The components without their odd rows, of components of the whole law."""
    if law.bulk is None:
        return places
    d = places.means.shape[1]
    sd = np.sqrt(np.diag(law.covariance(d)))
    covariance = law.bulk.covariance(d) / np.outer(sd, sd)
    return Truth(
        places.weights, places.means + (law.bulk.mean(d) - law.mean(d)) / sd, np.stack([covariance] * COMPONENTS)
    )


def _of_public_rows(public: np.ndarray) -> Mixture:
    """The model that a run falls back to: of the public rows alone."""
    table = PublicTable.open(public)
    scaling = precondition(table)
    return scaling.undo(public_model(table, scaling, COMPONENTS))


def judged_means(mean: np.ndarray, truth: np.ndarray, variances: np.ndarray, errors: Any, rows: np.ndarray) -> _Judged:
    """Judge a mean (d,) by the true one; variances (d,) are true, `rows` what a non-private estimate would have."""
    own = rows.var(axis=0) / len(rows)
    return _judged(mean, truth, np.sqrt(variances), errors, (own, variances / len(rows)), rows.mean(axis=0))


def judged_variances(found: np.ndarray, truth: np.ndarray, errors: Any, rows: np.ndarray) -> _Judged:
    """Judge variances (d,) of columns in the same way; what rows need comes from their own fourth moments."""
    squares = (rows - rows.mean(axis=0)) ** 2
    return _judged(
        found, truth, truth, errors, (squares.var(axis=0) / len(rows), 2 * truth**2 / len(rows)), squares.mean(axis=0)
    )


def _judged(
    numbers: np.ndarray,
    truth: np.ndarray,
    units: np.ndarray,
    errors: Any,
    sampling: tuple[np.ndarray, np.ndarray],
    best: np.ndarray,
) -> _Judged:
    """Judge numbers; sampling: variances that the rows' own moments, and those of Gaussian rows, call for.

    The noise that the run states is taken to be needed: what it costs shows in the errors.
    """
    own, gaussian = (np.maximum(part, np.finfo(float).tiny) for part in sampling)
    noise = np.asarray(errors["privacy"]) ** 2
    total = total_error(errors)
    return {
        "covered": covers(numbers, truth, errors).astype(float).tolist(),
        "off": ((numbers - truth) / units).tolist(),
        "error": (total / units).tolist(),
        "width": (total / np.sqrt(own + noise)).tolist(),
        "width_over_gaussian": (total / np.sqrt(gaussian + noise)).tolist(),
        "best_covered": covers(best, truth, {"sampling": np.sqrt(own)}).astype(float).tolist(),
    }


def _mahalanobis(world: World, mean: np.ndarray) -> float:
    difference = mean - world.mean
    return float(np.sqrt(difference @ np.linalg.solve(world.covariance, difference)))


def _relative(world: World, covariance: np.ndarray) -> float:
    inverse = np.linalg.inv(np.linalg.cholesky(world.covariance))
    return float(np.linalg.norm(inverse @ covariance @ inverse.T - np.eye(len(covariance))))
