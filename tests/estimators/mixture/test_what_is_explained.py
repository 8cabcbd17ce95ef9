"""Noise in measured covariances is not taken for tails, which a ladder of models would have to explain."""

from dataclasses import replace

import numpy as np

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._explained import explained
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

N, D = 20_000, 100


def found(rows, first):
    """What counts of the rows say of the estimate of a round."""
    public, scaling = PublicTable.open(np.random.default_rng(0).normal(size=(40, D))), Scaling((0.0,) * D, (1.0,) * D)
    curator = pp.Curator.simulation(rows, pp.ZeroConcentratedDP(0.5), 1)
    curator.begin("mixture", {}, public)
    several = Mixture.of([1.0], [[0.0] * D], [np.eye(D)])
    return explained(curator, scaling, public, first, several, Ask("explained", 3, 100))


def test_noise_in_a_covariance_of_many_columns_is_no_tail():
    """The distances of Gaussian rows are 35% longer by it, and a ladder was tried, which split components."""
    generator = np.random.default_rng(5)
    rows, sd = generator.normal(size=(N, D)), 0.04
    noise = np.triu(generator.normal(size=(D, D))) * sd / np.sqrt(2)
    start = Mixture.of([1.0], [[0.0] * D], [np.eye(D)])
    measured = Mixture.of([1.0], [[0.0] * D], [np.eye(D) + noise + np.triu(noise, 1).T])
    first = Round(measured, (float(N),), 1.0, 1.0, N * sd, start, float(N))
    assert found(rows, first).complete
    assert not found(rows, replace(first, moment_sd=0.0)).complete
    heavy = rows / np.sqrt(generator.chisquare(20, (N, 1)) / 18)
    assert not found(heavy, first).complete
