"""Tables that the paper's algorithms are tried on."""

import numpy as np

import pubpriv as pp
from helpers.runners import instead
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.mixture.scaling import FLOOR


def blobs(gap, k=2, d=10, n=4000, m=40, seed=0):
    """Public rows, private rows and labels of k unit Gaussians in R^d, means `gap` apart; rows take turns."""
    generator = np.random.default_rng(seed)
    means = gap / 2**0.5 * np.eye(k, d)

    def drawn(count):
        labels = np.arange(count) % k
        return means[labels] + generator.normal(size=(count, d)), labels

    return drawn(m)[0], *drawn(n)


def one_spherical(public, scaling, k):
    """A public model without the cross-validation that takes most of a small run's time."""
    return _fit(scaling.apply(public.rows), k, ("spherical", FLOOR), n_init=1)


QUICK = instead(public_model, one_spherical)


def run(public, private, method="bks-scarce", k=2, budget="zcdp:0.5", runner=QUICK, seed=1, **options):
    """A simulated run."""
    curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
    return pp.estimate_mixture(public, curator, n_components=k, method=method, runner=runner, **options)


def watched(runner=QUICK):
    """A runner that notes what steps were called with and gave: (runner, {name: [(arguments, value), ...]})."""
    seen = {}

    def noting(step, place, /, *args):
        value = runner(step, place, *args)
        seen.setdefault(step.name, []).append((args, value))
        return value

    return noting, seen
