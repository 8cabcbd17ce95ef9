"""Laws of rows with exact moments: what real tables look like, one law for each way in which rows are not Gaussian.

| law | what it stands for |
|---|---|
| `gaussian`, `correlated` | what the estimators are made for; the second with every correlation .999 |
| `t5`, `joint-t5`, `t3` | heavy tails: column by column, or of whole rows; the last has no fourth moment |
| `lognormal-0.5`, `lognormal-0.8`, `lognormal-1`, `gamma`, `exponential` | skewed: prices, incomes, areas, times |
| `gumbel` | a little skewed, of a variance that 500 rows hardly tell from one: yearly maxima |
| `poisson-0.5`, `poisson-8`, `poisson-20`, `bernoulli-0.05`, `bernoulli-0.3` | counts, yes or no |
| `whole-numbers` | rounded numbers |
| `zero-inflated` | half of the cells are zero, the others skewed: costs |
| `odd-...` | a Gaussian bulk and a few odd rows: wider by a factor, or far away in one column |
| `two-clusters` | groups that one Gaussian does not know of |
| `mixed` | a different kind in each column |
| `one-t5`, `one-t3` | a Gaussian, but one column has the tails of `t5` or `t3` |
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import exp, pi

import numpy as np

from pubpriv.errors import InvalidInput

_APART = 8.0
"""Distance of the two clusters, in standard deviations of one of them."""

_CORRELATION = 0.999
_FIRST = 0.6
"""Share of rows in the first cluster."""


@dataclass(frozen=True)
class Sample:
    """Rows (n, d) of a law, and which of them are odd ones, (n,): not of the bulk."""

    rows: np.ndarray
    odd: np.ndarray


@dataclass(frozen=True)
class Law:
    """A law of rows in any number of columns.

    Attributes:
        name: on the command line.
        sample: (n, d, generator) to a `Sample`.
        mean: d to the mean, (d,).
        covariance: d to the covariance, (d, d).
        smooth: five hundred rows tell its variances: no rare rows, and finite fourth moments that are not huge.
        quiet: rows that are sound, so that a run must not be flagged.
        bulk: the law of rows that are not odd; None: none is odd.
        kinds: d to a number for each column; columns of one number have one law.
        least_columns: fewer make no sense.
    """

    name: str
    sample: Callable[[int, int, np.random.Generator], Sample]
    mean: Callable[[int], np.ndarray]
    covariance: Callable[[int], np.ndarray]
    smooth: bool = True
    quiet: bool = False
    bulk: "Law | None" = None
    kinds: Callable[[int], np.ndarray] = lambda d: np.zeros(d, dtype=int)
    least_columns: int = 1

    def draw(self, n: int, d: int, generator: np.random.Generator) -> np.ndarray:
        """Rows (n, d)."""
        return self.sample(n, d, generator).rows


@dataclass(frozen=True)
class _Column:
    """A law of one number: (shape, generator) to draws of that shape, and its moments."""

    draw: Callable[[tuple[int, ...], np.random.Generator], np.ndarray]
    mean: float
    variance: float


def _lognormal(s: float) -> _Column:
    return _Column(
        lambda shape, generator: np.exp(s * generator.standard_normal(shape)),
        exp(s * s / 2),
        (exp(s * s) - 1) * exp(s * s),
    )


def _t(freedom: int) -> _Column:
    return _Column(lambda shape, generator: generator.standard_t(freedom, shape), 0.0, freedom / (freedom - 2))


def _poisson(rate: float) -> _Column:
    return _Column(lambda shape, generator: generator.poisson(rate, shape).astype(float), rate, rate)


def _bernoulli(p: float) -> _Column:
    return _Column(lambda shape, generator: (generator.random(shape) < p).astype(float), p, p * (1 - p))


def _zero_inflated() -> _Column:
    """Zero or lognormal(.8), each with probability 1/2."""
    mean = exp(0.32) / 2
    return _Column(
        lambda shape, generator: np.where(
            generator.random(shape) < 0.5, 0.0, np.exp(0.8 * generator.standard_normal(shape))
        ),
        mean,
        exp(1.28) / 2 - mean**2,
    )


def _rounded(sd: float) -> _Column:
    """N(0, sd^2), rounded to whole numbers; the variance is the sum of its series."""
    from scipy.stats import norm

    k = np.arange(1, int(40 * sd))
    chances = norm.sf((k - 0.5) / sd) - norm.sf((k + 0.5) / sd)
    return _Column(
        lambda shape, generator: np.round(sd * generator.standard_normal(shape)), 0.0, float(2 * chances @ k**2)
    )


_COLUMNS = {
    "gaussian": _Column(lambda shape, generator: generator.standard_normal(shape), 0.0, 1.0),
    "t5": _t(5),
    "t3": _t(3),
    "lognormal-0.5": _lognormal(0.5),
    "lognormal-0.8": _lognormal(0.8),
    "lognormal-1": _lognormal(1.0),
    "gamma": _Column(lambda shape, generator: generator.gamma(1.5, 1.0, shape), 1.5, 1.5),
    "exponential": _Column(lambda shape, generator: generator.exponential(1.0, shape), 1.0, 1.0),
    "gumbel": _Column(lambda shape, generator: generator.gumbel(size=shape), float(np.euler_gamma), pi**2 / 6),
    "poisson-0.5": _poisson(0.5),
    "poisson-8": _poisson(8.0),
    "poisson-20": _poisson(20.0),
    "zero-inflated": _zero_inflated(),
    "whole-numbers": _rounded(2.0),
    "bernoulli-0.05": _bernoulli(0.05),
    "bernoulli-0.3": _bernoulli(0.3),
}
_ROUGH = ("t3", "lognormal-1", "zero-inflated", "bernoulli-0.05")
_QUIET = ("gaussian", "whole-numbers", "poisson-0.5", "poisson-8", "poisson-20")
_MIXED = (
    *("lognormal-0.8", "gaussian", "zero-inflated", "whole-numbers", "bernoulli-0.3", "t5", "exponential"),
    *("poisson-0.5", "gamma", "poisson-20", "lognormal-0.5"),
)
"""Kinds of the columns of `mixed`, which begin again after the last."""


def _independent(name: str, column: _Column) -> Law:
    """Every column by itself, with one law."""
    return Law(
        name,
        lambda n, d, generator: _sound(column.draw((n, d), generator)),
        lambda d: np.full(d, column.mean),
        lambda d: column.variance * np.eye(d),
        smooth=name not in _ROUGH,
        quiet=name in _QUIET,
    )


def _sound(rows: np.ndarray) -> Sample:
    """A sample without odd rows."""
    return Sample(rows, np.zeros(len(rows), dtype=bool))


def _wide(share: float, factor: float) -> Law:
    """N(0, I), but a share of the rows is wider by a factor."""

    def sample(n: int, d: int, generator: np.random.Generator) -> Sample:
        rows, odd = generator.standard_normal((n, d)), generator.random(n) < share
        rows[odd] *= factor
        return Sample(rows, odd)

    variance = 1 - share + share * factor**2
    name = f"odd-{100 * share:g}-wide-{factor:g}"
    return Law(name, sample, np.zeros, lambda d: variance * np.eye(d), smooth=False, bulk=LAWS["gaussian"])


def _far(share: float, distance: float) -> Law:
    """N(0, I), but a share of the rows is moved in the first column."""

    def sample(n: int, d: int, generator: np.random.Generator) -> Sample:
        rows, odd = generator.standard_normal((n, d)), generator.random(n) < share
        rows[odd, 0] += distance
        return Sample(rows, odd)

    first = np.eye(1)
    return Law(
        f"odd-{100 * share:g}-far-{distance:g}",
        sample,
        lambda d: np.eye(d)[0] * share * distance,
        lambda d: np.eye(d) + share * (1 - share) * distance**2 * np.pad(first, (0, d - 1)),
        smooth=False,
        bulk=LAWS["gaussian"],
        kinds=lambda d: np.minimum(np.arange(d), 1),
    )


def _joint_t(freedom: int) -> Law:
    """The multivariate t: whole rows are wide or narrow."""

    def sample(n: int, d: int, generator: np.random.Generator) -> Sample:
        widths = np.sqrt(freedom / generator.chisquare(freedom, (n, 1)))
        return _sound(widths * generator.standard_normal((n, d)))

    return Law(f"joint-t{freedom}", sample, np.zeros, lambda d: freedom / (freedom - 2) * np.eye(d))


def _two_clusters() -> Law:
    """Two unit Gaussians at a distance along the diagonal."""

    def sample(n: int, d: int, generator: np.random.Generator) -> Sample:
        second = (generator.random(n) >= _FIRST)[:, None]
        return _sound(generator.standard_normal((n, d)) + second * np.full(d, _APART / np.sqrt(d)))

    return Law(
        "two-clusters",
        sample,
        lambda d: np.full(d, (1 - _FIRST) * _APART / np.sqrt(d)),
        lambda d: np.eye(d) + _FIRST * (1 - _FIRST) * _APART**2 / d,
    )


def _correlated() -> Law:
    """A Gaussian with variances 1 and all correlations the same, which one common column brings."""

    def sample(n: int, d: int, generator: np.random.Generator) -> Sample:
        common, own = generator.standard_normal((n, 1)), generator.standard_normal((n, d))
        return _sound(np.sqrt(_CORRELATION) * common + np.sqrt(1 - _CORRELATION) * own)

    return Law(
        "correlated",
        sample,
        np.zeros,
        lambda d: (1 - _CORRELATION) * np.eye(d) + _CORRELATION,
        quiet=True,
        least_columns=2,
    )


def _by_column(name: str, kinds: Callable[[int], list[str]]) -> Law:
    """Independent columns, of kinds that the number of columns tells."""

    def of(d: int) -> list[_Column]:
        return [_COLUMNS[kind] for kind in kinds(d)]

    return Law(
        name,
        lambda n, d, generator: _sound(np.stack([column.draw((n,), generator) for column in of(d)], axis=1)),
        lambda d: np.array([column.mean for column in of(d)]),
        lambda d: np.diag([column.variance for column in of(d)]),
        smooth=False,
        kinds=lambda d: np.unique(kinds(d), return_inverse=True)[1],
        least_columns=2,
    )


LAWS = {name: _independent(name, column) for name, column in _COLUMNS.items()}
"""Every law by its name."""

for _law in (
    *(_joint_t(5), _wide(0.01, 15), _wide(0.05, 15), _wide(0.02, 8), _far(0.01, 20)),
    *(_two_clusters(), _correlated()),
    _by_column("mixed", lambda d: [_MIXED[i % len(_MIXED)] for i in range(d)]),
    _by_column("one-t5", lambda d: ["t5", *["gaussian"] * (d - 1)]),
    _by_column("one-t3", lambda d: ["t3", *["gaussian"] * (d - 1)]),
):
    LAWS[_law.name] = _law


def chosen_laws(names: str | None) -> list[Law]:
    """Laws by their names with commas between them; None: all.

    Raises:
        InvalidInput: there is no such law.
    """
    wanted = list(LAWS) if names is None else listed(names, LAWS, f"laws must be among {', '.join(LAWS)}")
    return [LAWS[name] for name in wanted]


def listed(text: str, known: Collection[str], wanted: str) -> list[str]:
    """Split known names with commas between them; `wanted` says what they are, for the message about another one.

    Raises:
        InvalidInput: there is no such name.
    """
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise InvalidInput(f"{wanted}, not {unknown!r}")
    return names
