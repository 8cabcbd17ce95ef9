"""Releases as numbers, for tests of what is done with them afterwards: no rows, no ledger, no noise."""

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.released.described import Described, LevelShare
from pubpriv.released.distributions.cells import CellNoise, KnownRows, Missing
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.grain import Grain
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import read, share_missing, shares_of_heaps
from pubpriv.released.findings import DOUBTFUL, Finding, doubts
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.kinds import GaussianEstimate, MeanEstimate, MixtureEstimate
from pubpriv.released.law import Mixture
from pubpriv.released.numbers import MISSING
from pubpriv.released.quantiles import QuantilesEstimate

GUARANTEE = {
    "kind": "zcdp",
    "text": "0.5-zCDP, which implies (5.222, 1e-06)-DP",
    "rho": 0.5,
    "delta": 1e-06,
    "epsilon": 5.221534449751705,
    "epsilon_all_gaussian": 4.888665969954105,
}
SHARES = {"sampling": 0.8, "privacy": 0.6}
"""Parts of every standard error: 0.8^2 + 0.6^2 is one."""


CLIPPING = {"sampling": 0.48, "privacy": 0.36, "clipping": 0.8}
"""The same with a third part."""


def clipped(estimate):
    """The same release with errors of the same size, of which clipping has 0.8."""
    told = estimate.to_json()
    for parts in told["standard_errors"].values():
        whole = np.asarray(parts["sampling"]) / SHARES["sampling"]
        parts |= {name: (whole * share).tolist() for name, share in CLIPPING.items()}
    return type(estimate).from_json(told)


def errors(size, error):
    """Standard errors of which sampling has 0.8 and privacy 0.6."""
    return {name: (np.ones(size) * error * share).tolist() for name, share in SHARES.items()}


def common(columns, release_id="2026-11", dataset="visits", **changed):
    """What every release tells beside its numbers."""
    charges = [
        {"label": "step-1", "question": "Counts", "sensitivity": 0.5, "noise_scale": [12], "cost": "0.125 rho"},
        {"label": "step-2", "question": "LiftedGram", "sensitivity": 0.8, "noise_scale": [9, 9], "cost": "0.375 rho"},
    ]
    told = {
        "columns": tuple(columns),
        "method": "auto",
        "converged": True,
        "privacy": {
            "unit": "one patient",
            "neighbouring": "replace one record; the number of records is public",
            "kind": "zcdp",
            "guarantee": GUARANTEE,
            "spent": "0.5 rho",
            "charges": charges,
        },
        "provenance": {
            "dataset": dataset,
            "release_id": release_id,
            "n_private": 20000,
            "n_public": 40,
            "public_sha256": "ab" * 32,
            "chain_head": "cd" * 32,
            "version": "0.1.0",
            "created": "2026-11-21T16:26:33+00:00",
        },
        "diagnostics": {"warnings": [], "noise": 0.25},
        "findings": (),
    }
    if changed.get("findings"):
        told["converged"] = not doubts(changed["findings"])
    elif not changed.get("converged", True):
        told["findings"] = (UNSETTLED,)
    return told | changed


UNSETTLED = Finding("rounds-unsettled", (), DOUBTFUL, "the rounds did not converge", remedy="a larger budget")
"""Why all numbers of a release are doubtful."""


def of_old(estimate):
    """The same release as a file of format 1 has it: without findings, states and the law of the noise."""
    told = estimate.to_json() | {"format": 1}
    return type(estimate).from_json({name: part for name, part in told.items() if name not in ("findings", "noise")})


def mean_release(columns=("age", "cost"), center=None, error=0.1, **changed):
    """A released mean; every number has the same standard error."""
    center = np.arange(1.0, len(columns) + 1) if center is None else np.asarray(center, dtype=float)
    return MeanEstimate(
        center=tuple(center.tolist()),
        standard_errors={"mean": errors(len(columns), error)},
        **common(columns, **changed),
    )


def gaussian_release(columns=("age", "cost"), center=None, covariance=None, error=0.1, **changed):
    """A released Gaussian; every number has the same standard error."""
    d = len(columns)
    center = np.arange(1.0, d + 1) if center is None else np.asarray(center, dtype=float)
    covariance = np.eye(d) + 0.5 if covariance is None else np.asarray(covariance, dtype=float)
    told = {"mean": errors(d, error), "covariance": errors((d, d), error)}
    gaussian = Mixture.of([1.0], [center], [covariance])
    return GaussianEstimate(gaussian=gaussian, standard_errors=told, **common(columns, **changed))


def mixture_release(columns=("age", "cost"), means=None, weights=None, error=0.05, **changed):
    """A released mixture of components with unit covariances; every number has the same standard error."""
    d = len(columns)
    means = np.array([np.zeros(d), np.full(d, 6.0), np.full(d, -7.0)]) if means is None else np.asarray(means, float)
    k = len(means)
    weights = np.arange(k, 0, -1.0) / (k * (k + 1) / 2) if weights is None else np.asarray(weights, dtype=float)
    told = {
        "weights": errors(k, error / 10),
        "means": errors((k, d), error),
        "covariances": errors((k, d, d), error),
    }
    mixture = Mixture.of(weights, means, np.tile(np.eye(d), (k, 1, 1)))
    return MixtureEstimate(mixture=mixture, standard_errors=told, **common(columns, **changed))


def quantiles_release(columns=("age", "cost"), at=(0.25, 0.5, 0.75), shift=0.0, sd=10.0, zeros=0.0, **changed):
    """Quantiles of 1,000 rows of each column that lie evenly from 0 to 100, moved by `shift`, with noise of one sd."""
    edges = np.sort(np.append(np.arange(10.0, 100.0, 10.0), [*[np.nextafter(0.0, -1.0), 0.0] * bool(zeros)])) + shift
    below = (edges >= shift) * zeros * 1000 + np.clip(edges - shift, 0, None) * 10 * (1 - zeros)
    ends = tuple(edges.tolist()), tuple(below.tolist())
    noise = CellNoise((sd**2,) * len(edges), (0.0,) * len(edges), (sd**2,) * (len(edges) + 1), 0.0)
    rows = KnownRows(*ends, 1000.0, noise, Missing(20.0, sd))
    heaps = Grain(heaps=(0.0,) if zeros else ())
    public = PublicColumn(np.linspace(0.5, 99.5, 50) + shift, heaps)
    column = Distribution(public, rows, public)
    found = (read(column, at),) * len(columns)
    shares = [(MISSING, share_missing(column, 1020.0)), *((f"{v:g}", s) for v, s in shares_of_heaps(column).items())]
    levels = tuple(LevelShare(name, level, share) for name in columns for level, share in shares)
    described = Described(tuple(columns), at, found, levels, (column,) * len(columns))
    told = {source: part.tolist() for source, part in described.errors.items()}
    return QuantilesEstimate(described=described, standard_errors={"quantiles": told}, **common(columns, **changed))


def simulated(estimate):
    """The same numbers as a simulation has them."""
    told = estimate.to_json()
    told["provenance"] |= {"dataset": None, "release_id": None, "chain_head": None}
    told["privacy"]["guarantee"] = {"kind": "zcdp", "text": "none (simulation)"}
    told["method"] = "auto (simulation: not private)"
    return type(estimate).from_json(told)


def public_for(estimate, rows=40):
    """Public rows, so many or these, and the release as if it had been made with them."""
    if isinstance(rows, int):
        rows = np.random.default_rng(1).standard_normal((rows, len(estimate.columns)))
    table = PublicTable(estimate.columns, rows)
    told = estimate.to_json()
    told["provenance"]["public_sha256"] = table.sha256
    return table, type(estimate).from_json(told)


def regression_release(on=("a", "log1p(b)"), outcome="y", error=0.1, **changed):
    """A regression with slopes 1, 2, ... and an intercept of 3; its errors are not independent."""
    k = len(on) + 1
    shape = error**2 * (np.eye(k) + 0.25)
    parts = {"sampling": 0.48, "privacy": 0.36, "clipping": 0.8}
    covariances = {name: tuple(map(tuple, (share**2 * shape).tolist())) for name, share in parts.items()}
    root = float(np.sqrt(shape[0, 0]))
    of = {name: share * root for name, share in parts.items()}
    measures = {name: share * 0.02 for name, share in parts.items()}
    return RegressionEstimate(
        standard_errors={
            "intercept": of,
            "coefficients": {name: [each] * (k - 1) for name, each in of.items()},
            "r2": measures,
            "residual_sd": measures,
        },
        outcome=outcome,
        on=tuple(on),
        values=(3.0, *(float(j + 1) for j in range(k - 1))),
        covariances=covariances,
        freedom=20.0,
        rows=19_990.0,
        measures={"r2": 0.4, "residual_sd": 2.0},
        **common((*on, outcome), **changed),
    )
